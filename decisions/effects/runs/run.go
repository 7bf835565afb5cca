package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/lexpath"
)

const (
	// maxScript is the size up to which a script is hashed, in bytes.
	maxScript = 1 << 20
	// maxRunEffects is how many effects the words of one command may have, and
	// maxRunWords how many words may then be visible to rules: all words of a
	// run are seen with each of its effects.
	maxRunEffects = 256
	maxRunWords   = 256 << 10
	// maxGuardedWord is how long a word may be that is looked up as a path, in
	// bytes.
	maxGuardedWord = 512
	// maxWrappers is how many commands may be wrapped in each other.
	maxWrappers = 32
)

// Setting is where and with what input a command runs.
type Setting struct {
	Cwd   string // "" when not known
	From  string
	Stdin effects.Stdin
	Text  string // literal standard input
	// Printed is what comes out of a pipe, when that is known: rules may look at
	// what it would do, but nothing is allowed by it.
	Printed string
	// via is the run that this one comes out of, nil if none.
	via *effects.Via
	// wrapped is how many commands this one is wrapped in, appended is set when
	// one of them adds words that are read while it runs.
	wrapped  int
	appended bool
}

// Command adds the effects of running the words as a command. The first word
// is literal.
func (b *Builder) Command(words []effects.Word, at Setting) {
	first := len(b.Effects)
	if why := foreignCommand(words); why != "" {
		b.Unknown(at.From, why)
	}
	p := b.Table.Program(b.programName(words[0].Text))
	if p != nil && p.Wrapper != nil && !p.Wrapper.Elsewhere {
		if at.wrapped++; at.wrapped > maxWrappers {
			b.Unknown(at.From, "commands wrapped in each other too deeply")
			b.overWrapped(words, at)
			return
		}
		b.wrapped(p, words, at)
	} else {
		b.Run(words, at)
	}
	for i := first; at.via != nil && i < len(b.Effects); i++ {
		if b.Effects[i].Via == nil {
			b.Effects[i].Via = at.via
		}
	}
}

// programName is the name that the table knows a program by, "" for a path
// outside of the system's folders.
func (b *Builder) programName(given string) string {
	if !strings.Contains(given, "/") {
		return given
	}
	if strings.Contains(given, "..") || given[0] != '/' {
		return ""
	}
	clean := path.Clean(given)
	if b.Table.SystemFolder(path.Dir(clean)) {
		return path.Base(clean)
	}
	return ""
}

// NetworkProgram reports whether a program's output comes from the network.
func (b *Builder) NetworkProgram(name string) bool {
	if p := b.Table.Program(name); p != nil && p.Network {
		return true
	}
	if p := b.Table.OverlayProgram(name); p != nil && p.Network {
		return true
	}
	return b.Table.Shell.Network[name]
}

// Operand is the effect of a path that the kernel gets as it stands.
func (b *Builder) Operand(kind effects.Kind, word, cwd, from string) effects.Effect {
	return b.CheckLinks(b.Paths.Operand(kind, word, cwd, from))
}

// entry is operand for a name that is not followed when it is a link.
func (b *Builder) entry(kind effects.Kind, word, cwd, from string) effects.Effect {
	return b.CheckLinks(b.Paths.Entry(kind, word, cwd, from))
}

// CheckLinks turns an effect into an Unknown one when an earlier run of the call
// may have put links on the way of its path.
func (b *Builder) CheckLinks(e effects.Effect) effects.Effect {
	if e.File == nil {
		return e
	}
	for _, dir := range b.Rearranged {
		if dir == "" || lexpath.Below(dir, e.File.Path) {
			why := "an earlier part of the call may change what the path leads to"
			return effects.Effect{Kind: effects.KindUnknown, From: e.From, Why: why, Text: display.Display(string(e.Kind) + " " + e.File.AsWritten + ": " + why)}
		}
	}
	return e
}

// Run adds a run effect and what its words add, and returns its index.
func (b *Builder) Run(words []effects.Word, at Setting) int {
	given := words[0].Text
	r := &effects.Run{Program: given, Stdin: at.Stdin, StdinText: at.Text, Cwd: at.Cwd, Args: make([]string, 0, len(words)-1)}
	for i := range words[1:] {
		r.Args = append(r.Args, words[i+1].Argument())
	}
	var text string
	text, r.Shown = display.Command("run ", words)
	index := b.Add(effects.Effect{Kind: effects.KindRun, From: at.From, Run: r, Text: text, Via: at.via})
	name := b.programName(given)
	if strings.Contains(given, "/") {
		r.Executable = given
		if name == "" {
			name = b.byPath(index, at)
		}
		if name != "" {
			r.Program = name
		}
	}
	v := invocation{b: b, at: at, index: index, asWritten: given, run: r, args: words[1:]}
	p, opinion := b.Table.Program(name), b.Table.OverlayProgram(name)
	switch {
	case p != nil:
		r.Known, r.Table = true, p.At
		if v.known(p); opinion != nil {
			v.applyOverlay(opinion)
		}
	default:
		if v.unlisted(); opinion != nil {
			v.applyUserProgram(opinion)
		}
	}
	v.harms.store(r)
	if at.via != nil && at.via.Arg >= 0 {
		// A line that spells out the program covers no more of its words than one
		// about the program itself does.
		outer := b.Effects[at.via.Effect].Run
		b.Effects[index].Via = &effects.Via{Effect: at.via.Effect, Arg: max(at.via.Arg, min(at.via.Arg+r.HarmlessFrom, len(outer.Args)-1))}
	}
	b.Effects[index].Tags = b.Paths.CwdTags(r.Cwd)
	if p := b.Table.Program(name); p == nil || p.Wrapper == nil || p.Wrapper.Elsewhere {
		b.printed(index, words)
	}
	if r.WithoutOverlay != nil && r.Cwd != at.Cwd {
		b.Effects[index].Tags |= b.Paths.CwdTags(at.Cwd)
	}
	b.inVenvs(words, at)
	r.Own = b.ownUse(r, given, at.appended)
	return index
}

// byPath names a run after the path of its program, and notes the script. It
// returns the name when the path only goes a detour to a system folder.
func (b *Builder) byPath(index int, at Setting) string {
	r := b.Effects[index].Run
	e := b.Operand(effects.KindRead, r.Executable, at.Cwd, at.From)
	if e.File == nil {
		b.Unknown(at.From, "a program at a path that is not known")
		return ""
	}
	dir, base := path.Split(e.File.Path)
	if r.Executable[0] == '/' && base == path.Base(r.Executable) && b.Table.SystemFolder(path.Clean(dir)) {
		return base
	}
	r.Program = e.File.Path
	r.Script = b.script(e.File.Path, at.From)
	return ""
}

// script is a script's path with the hash of its text, when that will still be
// the same. A script that the call itself writes is code given inline.
func (b *Builder) script(file, from string) *effects.Script {
	s := &effects.Script{Path: file}
	if b.writes(file) {
		why := "a script that an earlier part of the call writes"
		if b.fetches(file) {
			why = "a script that an earlier part of the call fetches"
		}
		b.Unknown(from, why)
		return s
	}
	if b.Stale(file) {
		return s
	}
	if data, err := b.FS.ReadFile(file, maxScript); err == nil {
		sum := sha256.Sum256(data)
		s.SHA256 = hex.EncodeToString(sum[:])
	}
	return s
}

// unknownArg adds an Unknown effect that a word of a run causes.
func (b *Builder) unknownArg(index, arg int, from, why string) {
	b.Add(effects.Effect{Kind: effects.KindUnknown, From: from, Why: why, Text: why, Via: &effects.Via{Effect: index, Arg: arg}})
}

// Inline adds what shell text given in words does. Text that is not all known is
// Unknown, and so is all that another machine runs, or the shell itself.
func (b *Builder) Inline(index, arg int, code []effects.Word, at Setting, itself bool) {
	unknown := func() { b.unknownArg(index, arg, at.From, "code given inline") }
	if itself = itself || b.Remote; itself {
		unknown()
	}
	parts := make([]string, 0, len(code))
	for i := range code {
		text := code[i].Text
		if code[i].Dynamic() || code[i].Glob {
			if !itself {
				unknown()
			}
			if text = code[i].Guess; text == "" {
				return
			}
		}
		parts = append(parts, text)
	}
	b.nested(index, arg, strings.Join(parts, " "), at)
}

// nested adds the effects of shell text in a word of a run.
func (b *Builder) nested(index, arg int, text string, at Setting) {
	first := len(b.Effects)
	quiet, outer := b.Nothing, b.Input
	// What it runs reads what the shell reads.
	b.Input = Input{Kind: at.Stdin, Text: at.Text, Printed: at.Printed}
	b.texts.Text(b, text, at.Cwd, at.From)
	b.Nothing, b.Input = quiet, outer
	for i := first; i < len(b.Effects); i++ {
		if b.Effects[i].Via == nil {
			b.Effects[i].Via = &effects.Via{Effect: index, Arg: arg}
		}
	}
}

// unlisted handles a program that the table does not know: nothing is added
// for its words, but only plain operands at their end count as harmless, and
// the first word may be a sub-command that means anything.
func (v *invocation) unlisted() {
	if len(v.args) > 0 {
		v.harm(0)
		v.harms.options = firstPlain(v.args)
	}
	v.tail(0)
}

// tail handles words that no table explains, from index n on.
func (v *invocation) tail(n int) {
	v.unparsed = true
	for i := n; i < len(v.args) && !v.full(); i++ {
		w := &v.args[i]
		switch {
		case w.Dynamic(), w.Glob, w.Tree:
			v.dynamicWord(i)
		default:
			v.unexplained(n, i)
			v.guardedWord(i, w.Text)
		}
	}
}

// guardedWord adds a read when a word that no table explains leads to a file
// that is guarded, so that rules about secrets see it. What else such words may
// lead to is left to the rule or person that allows the run.
func (v *invocation) guardedWord(i int, text string) {
	if name, value, ok := strings.Cut(text, "="); ok && strings.HasPrefix(name, "-") {
		text = value
	}
	if text == "" || text[0] == '-' || len(text) > maxGuardedWord || strings.ContainsAny(text, " \t\n,;(){}[]<>|&\x00") || strings.Contains(text, "://") {
		return
	}
	if e := v.b.Operand(effects.KindRead, text, v.run.Cwd, v.at.From); e.File != nil && e.Guarded() != 0 {
		v.b.Add(v.via(i, e))
	}
}

// plainOperand reports whether a word can neither be an option nor name a path
// elsewhere, an address or an assignment.
func plainOperand(text string) bool {
	if text == "" || strings.ContainsAny(text, "=\x00\n") || strings.Contains(text, "://") || strings.Contains(text, "..") {
		return false
	}
	return strings.IndexByte("-/~.+@:", text[0]) < 0
}
