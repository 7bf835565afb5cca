package runs

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// RestCount counts the parts of the rest of a call that were read.
type RestCount struct {
	bytes int // of texts
	words int // of deferred commands
	// Guessed is set while what is read was deferred as Guessed.
	Guessed bool
}

// unread is a text or a command that is deferred to the rest.
type unread struct {
	Text  string
	Words []effects.Word // instead of a text
	At    Setting
	// Guessed is set for what may not run at all: see aside.go.
	Guessed bool
}

// Bounds of the rest of a call.
const (
	MaxRest         = 12 << 10  // distinct effects
	MaxRestText     = 256 << 10 // bytes of all texts, and of one that is parsed
	MaxRestQueue    = 64        // texts and commands that are deferred
	maxRestWrappers = 16        // wrappers that are skipped to find the innermost command
	maxRestWords    = 32 << 10  // of commands with too many wrappers
)

// DeferText defers a text that exceeds a bound.
func (b *Builder) DeferText(text, cwd, from string) {
	b.deferUnread(unread{Text: text, At: Setting{Cwd: cwd, From: from}})
}

// deferWords defers a command with too many words.
func (b *Builder) deferWords(words []effects.Word, at Setting) {
	at.via, at.wrappers = nil, 0
	b.deferUnread(unread{Words: words, At: at})
}

// Sourced defers the run of a file that the shell itself runs, with its words: a deny or
// reject of the script means that as well.
func (b *Builder) Sourced(words []effects.Word, cwd, from string) {
	words = slices.Clone(words)
	if !strings.Contains(words[0].Text, "/") {
		words[0] = effects.LiteralWord("./" + words[0].Text)
	}
	b.possibly("", words, cwd, Setting{From: from, Stdin: effects.StdinNone})
}

// possibly defers text, or words, that the run may run.
func (b *Builder) possibly(text string, words []effects.Word, cwd string, at Setting) {
	if b.Rest != nil && !b.Rest.Guessed {
		return
	}
	if b.possible >= maxPossible {
		b.TooManyAsides = true
		return
	}
	b.possible++
	at.via, at.wrappers, at.Cwd = nil, 0, cwd
	b.deferUnread(unread{Text: text, Words: words, At: at, Guessed: true})
}

// deferWrapped defers a command with too many wrappers. The command follows the last of
// the wrappers, so that part is read first.
func (b *Builder) deferWrapped(words []effects.Word, at Setting) {
	for i, n := len(words)-1, 0; b.Rest == nil && i > 0 && n < maxRestWrappers; i-- {
		if words[i].Dynamic() || words[i].Glob {
			continue
		}
		if p := b.Table.Program(b.ProgramName(words[i].Text)); p != nil && p.Wrapper != nil {
			b.deferWords(words[i:], at)
			n++
		}
	}
	b.deferWords(words, at)
}

func (b *Builder) deferUnread(w unread) {
	w.Guessed = w.Guessed || b.Rest != nil && b.Rest.Guessed
	switch {
	case b.Rest != nil && w.Words != nil:
		if b.Rest.words += len(w.Words); b.Rest.words <= maxRestWords {
			b.Unread = append(b.Unread, w)
		}
	case len(b.Unread) >= MaxRestQueue:
	case b.Rest == nil: // it is not yet known what remains
		b.Unread = append(b.Unread, w)
	case w.Words == nil && b.Rest.bytes+len(w.Text) <= 2*MaxRestText:
		b.Rest.bytes += len(w.Text)
		b.Unread = append(b.Unread, w)
	}
}
