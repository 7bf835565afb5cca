package shell

import (
	"hash/maphash"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/runs"
	"github.com/permd/permd/internal/wordset"
)

// A call that exceeds a bound asks. So that padding cannot turn a deny into a question,
// the rest of it is read too, in a cheaper way: each command by itself, wherever it is,
// and only one of equal commands. The result is only used to deny (Result.Rest).

// Bounds of the rest of a call, in addition to those in package runs.
const (
	maxRestMore     = 4 << 10  // further effects that are not plainly harmless
	maxRestCommands = 24 << 10 // that are read
	maxRestRaw      = 64 << 10 // bytes of each end of a longer text
	maxRestFolder   = 512      // bytes of a folder that commands run in
	maxRestPlaces   = 2        // folders for which each command is read
)

// overflow collects the effects of what exceeds the bounds.
type overflow struct {
	b        *runs.Builder // for one command after the other
	seed     maphash.Seed
	seen     map[restKey]bool
	commands map[restKey]bool // by text
	list     []effects.Effect
	count    runs.RestCount
	network  bool // some part of it connects to the network
}

// restKey identifies an effect, or a command, of the rest. What certainly runs is read
// even if it was guessed before.
type restKey struct {
	hash    uint64
	guessed bool
}

// ReadRest returns the effects of what exceeds the bounds, each once, beginning with
// those in beyond that were cut off.
func ReadRest(b *runs.Builder, beyond []effects.Effect) []effects.Effect {
	if len(b.Unread) == 0 && len(beyond) == 0 {
		return nil
	}
	r := &overflow{seed: maphash.MakeSeed(), seen: map[restKey]bool{}, commands: map[restKey]bool{}}
	for i := range beyond {
		r.keep(&beyond[i])
	}
	// Links that earlier parts of the call create are ignored: a denied path is denied by
	// its name too.
	env := paths.Environment{FS: b.FS, Own: b.Own, Others: b.Paths.Others}
	r.b = NewBuilder(env, b.Table, b.Call, paths.NewResolver(env, b.Call))
	r.b.KeepsFolder, r.b.Rearranged, r.b.Depth, r.b.Remote = b.KeepsFolder, nil, 1, b.Remote
	r.b.Rest = &r.count
	r.b.Unread, b.Unread = b.Unread, nil
	for n := 0; n < len(r.b.Unread); n++ {
		w := r.b.Unread[n]
		r.count.Guessed = w.Guessed
		if w.Words != nil {
			r.b.Command(w.Words, w.At)
			r.drain()
			continue
		}
		r.read(w.Text, w.At)
		for _, folder := range b.Call.Folders[:min(len(b.Call.Folders), 2)] {
			if w.At.Cwd == b.Call.Cwd && folder != w.At.Cwd {
				at := w.At
				at.Cwd = folder
				r.read(w.Text, at)
			}
		}
	}
	b.TooManyAsides = b.TooManyAsides || r.b.TooManyAsides
	return r.list
}

// full reports whether no more effects are kept.
func (r *overflow) full() bool { return len(r.list) >= runs.MaxRest+maxRestMore }

// drain moves the effects of a command out of the builder.
func (r *overflow) drain() {
	for i := range r.b.Effects {
		e := &r.b.Effects[i]
		r.network = r.network || e.Kind == effects.KindConnect || e.Kind == effects.KindRun && r.b.NetworkProgram(e.Run.Program)
		r.keep(e)
	}
	clear(r.b.Effects)
	r.b.Effects = r.b.Effects[:0]
	r.b.Scratch, r.b.Braces, r.b.Statements, r.b.Parsed = nil, 0, 0, 0
	// A command's changes to paths do not apply to the next command: they would make its
	// paths unknown.
	r.b.Rearranged, r.b.FinalFolders, r.b.Environments.Activated = nil, nil, nil
	if r.b.Paths.Unknown || len(r.b.Paths.Disturbed) > 0 || len(r.b.Paths.Made) > 0 {
		r.b.Paths.Unknown, r.b.Paths.Disturbed, r.b.Paths.Made = false, nil, nil
		r.b.Paths.Bases = r.b.Paths.Bases[:0]
	}
}

// keep adds an effect that a rule could deny, unless there is an equal one. It is detached
// from its run: rules would otherwise see the words of one run with each of thousands of
// effects.
func (r *overflow) keep(e *effects.Effect) {
	if e.Kind == effects.KindUnknown || r.full() || len(r.list) >= runs.MaxRest && harmlessEffect(e) {
		return
	}
	key := restKey{effectKey(e, r.seed), r.count.Guessed}
	if r.seen[key] {
		return
	}
	r.seen[key] = true
	kept := *e
	kept.Via, kept.Guessed = nil, r.count.Guessed
	r.list = append(r.list, kept)
}

// harmlessEffect reports whether an effect is one that rules hardly ever deny.
func harmlessEffect(e *effects.Effect) bool {
	return e.Kind == effects.KindRead && e.Guarded() == 0 || e.Kind == effects.KindRun && e.Run.Known && e.Run.Readonly
}

// effectKey is equal for effects that look the same to rules.
func effectKey(e *effects.Effect, seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	add := func(parts ...string) {
		for _, p := range parts {
			_, _ = h.WriteString(strconv.Itoa(len(p)))
			_ = h.WriteByte(':')
			_, _ = h.WriteString(p)
		}
	}
	add(string(e.Kind), e.From, strconv.Itoa(int(e.Tags)))
	switch e.Detail() {
	case effects.DetailRun:
		add(e.Run.Program, e.Run.Executable, string(e.Run.Stdin), e.Run.StdinText, e.Run.Cwd)
		add(e.Run.Args...)
	case effects.DetailFile:
		add(e.File.Path, e.File.AsWritten, strconv.FormatBool(e.File.Recursive))
	case effects.DetailConnect:
		add(e.Connect.Host, strconv.Itoa(e.Connect.Port), e.Connect.Scheme, e.Connect.URL, e.Connect.Method)
	case effects.DetailUse:
		add(e.Use.Server, e.Use.Tool, string(e.Use.Arguments))
	case effects.NoDetail:
		add(e.Text, e.Why)
	}
	return h.Sum64()
}

// read reads one text. If it cannot be parsed, it is split where a command may begin, and
// searched like code.
func (r *overflow) read(text string, at runs.Setting) {
	clean := strings.Map(func(c rune) rune {
		if c != '\n' && c != '\t' && HiddenCharacter(string(c)) != "" || c == '\r' {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, " "))
	if len(clean) <= runs.MaxRestText && !deeplyNested(clean) {
		if file := reader.tree(clean); file != nil {
			r.walk(file, clean, at)
			return
		}
	}
	parts := []string{clean}
	if len(clean) > runs.MaxRestText {
		parts = []string{clean[:maxRestRaw], clean[len(clean)-maxRestRaw:]}
	}
	for _, part := range parts {
		r.code(part, at)
		r.readFragments(part, at)
	}
}

// code adds a text that cannot be parsed as the inline code of a shell, for rules to
// see.
func (r *overflow) code(text string, at runs.Setting) {
	r.keep(&effects.Effect{
		Kind: effects.KindRun, From: at.From, Text: display.Display("run sh -c " + text), Shell: true, Tags: r.b.Paths.CwdTags(at.Cwd),
		Run: &effects.Run{Program: "sh", Args: []string{"-c", text}, Stdin: effects.StdinNone, Cwd: at.Cwd, Known: true, Harmful: []int{0, 1}, HarmlessFrom: 2, Own: r.b.UseOfPermd(text)},
	})
}

// readFragments reads possible commands in a text that cannot be parsed: the parts
// between characters that end a command, as they are, without quotes, and from the first
// quote on.
func (r *overflow) readFragments(text string, at runs.Setting) {
	r.functions(text, at)
	for piece := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune("\n;&(){}`", c) }) {
		variants := []string{piece}
		if i := strings.IndexAny(piece, `"'\`); i >= 0 {
			variants = append(variants, strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(piece), piece[i+1:])
		}
		for _, text := range variants {
			if text = stripLead(text); text == "" || deeplyNested(text) {
				continue
			}
			if file := reader.tree(text); file != nil {
				r.walk(file, text, at)
			} else if strings.Contains(text, "|") {
				for part := range strings.SplitSeq(text, "|") {
					if file := reader.tree(part); file != nil {
						r.walk(file, part, at)
					}
				}
			}
		}
	}
}

// stripLead removes the shell words that may precede a command.
func stripLead(piece string) string {
	for {
		piece = strings.TrimSpace(piece)
		word, behind, _ := strings.Cut(piece, " ")
		if !commandLeads.Has(word) {
			return piece
		}
		piece = behind
	}
}

// functions adds possible functions in a text that cannot be parsed.
func (r *overflow) functions(text string, at runs.Setting) {
	const most, shown = 64, 200
	for range most {
		i := strings.Index(text, "()")
		if i < 0 {
			return
		}
		name := strings.LastIndexAny(text[:i], " \t\n;&|(){}`") + 1
		line := text[name:min(len(text), i+shown)]
		r.keep(&effects.Effect{Kind: effects.KindState, From: at.From, Why: "defines a function", Text: display.Display(strings.ToValidUTF8(line, "")), Shell: true})
		text = text[i+2:]
	}
}

// commandLeads are words of the shell that precede a command.
var commandLeads = wordset.Of("if", "then", "else", "elif", "while", "until", "do", "!", "time", "{", "}", "$", "done", "fi", "esac", "coproc", "exec")

// deeplyNested reports whether a text is too deeply nested to be parsed.
func deeplyNested(text string) bool {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[':
			if depth++; depth > maxShellNesting {
				return true
			}
		case ')', '}', ']':
			depth = max(depth-1, 0)
		case '`':
			if i > 0 && text[i-1] == '\\' {
				if depth++; depth > maxShellNesting {
					return true
				}
			}
		}
	}
	return false
}
