package effects

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"github.com/permd/permd/internal/lexpath"
)

const (
	// maxScript is the size up to which a script is hashed, in bytes.
	maxScript = 1 << 20
	// maxRunEffects is how many effects the words of one command may have, and
	// maxRunWords how many words may then stand in rules' sight: all words of a
	// run are seen with each of its effects.
	maxRunEffects = 256
	maxRunWords   = 256 << 10
	// maxGuardedWord is how long a word may be that is looked up as a path, in
	// bytes.
	maxGuardedWord = 512
	// maxWrappers is how many commands may be wrapped in each other.
	maxWrappers = 32
)

// setting is where and with what input a command runs.
type setting struct {
	cwd   string // "" when not known
	from  string
	stdin Stdin
	text  string // literal standard input
	// printed is what comes out of a pipe, when that is known: rules may look at
	// what it would do, but nothing is allowed by it.
	printed string
	// via is the run that this one comes out of, nil if none.
	via *Via
	// wrapped is how many commands this one is wrapped in, appended is set when
	// one of them adds words that are read while it runs.
	wrapped  int
	appended bool
}

// command adds the effects of running the words as a command. The first word
// is literal.
func (b *builder) command(words []word, at setting) {
	first := len(b.effects)
	if why := foreignCommand(words); why != "" {
		b.unknown(at.from, why)
	}
	p := b.table.program(b.programName(words[0].text))
	if p != nil && p.wrapper != nil && !p.wrapper.elsewhere {
		if at.wrapped++; at.wrapped > maxWrappers {
			b.unknown(at.from, "commands wrapped in each other too deeply")
			b.overWrapped(words, at)
			return
		}
		b.wrapped(p, words, at)
	} else {
		b.run(words, at)
	}
	for i := first; at.via != nil && i < len(b.effects); i++ {
		if b.effects[i].Via == nil {
			b.effects[i].Via = at.via
		}
	}
}

// programName is the name that the table knows a program by, "" for a path
// outside of the system's folders.
func (b *builder) programName(given string) string {
	if !strings.Contains(given, "/") {
		return given
	}
	if strings.Contains(given, "..") || given[0] != '/' {
		return ""
	}
	clean := path.Clean(given)
	if b.table.systemFolder(path.Dir(clean)) {
		return path.Base(clean)
	}
	return ""
}

// networkProgram reports whether a program's output comes from the network.
func (b *builder) networkProgram(name string) bool {
	if p := b.table.program(name); p != nil && p.network {
		return true
	}
	if p := b.table.opinion(name); p != nil && p.network {
		return true
	}
	return b.table.shell.network[name]
}

// operand is the effect of a path that the kernel gets as it stands.
func (b *builder) operand(kind Kind, word, cwd, from string) Effect {
	return b.settled(b.res.operand(kind, word, cwd, from))
}

// entry is operand for a name that is not followed when it is a link.
func (b *builder) entry(kind Kind, word, cwd, from string) Effect {
	return b.settled(b.res.entry(kind, word, cwd, from))
}

// settled turns an effect into an Unknown one when an earlier run of the call
// may have put links on the way of its path.
func (b *builder) settled(e Effect) Effect {
	if e.File == nil {
		return e
	}
	for _, dir := range b.rearranged {
		if dir == "" || lexpath.Below(dir, e.File.Path) {
			why := "an earlier part of the call may change what the path leads to"
			return Effect{Kind: KindUnknown, From: e.From, Why: why, Text: Display(string(e.Kind) + " " + e.File.Given + ": " + why)}
		}
	}
	return e
}

// run adds a run effect and what its words add, and returns its index.
func (b *builder) run(words []word, at setting) int {
	given := words[0].text
	r := &Run{Program: given, Stdin: at.stdin, StdinText: at.text, Cwd: at.cwd, Args: make([]string, 0, len(words)-1)}
	for i := range words[1:] {
		r.Args = append(r.Args, words[i+1].argument())
	}
	index := b.add(Effect{Kind: KindRun, From: at.from, Run: r, Text: Display(showCommand("run ", words)), Via: at.via})
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
	v := invocation{b: b, at: at, index: index, given: given, run: r, args: words[1:]}
	p, opinion := b.table.program(name), b.table.opinion(name)
	switch {
	case p != nil:
		r.Known, r.Table = true, p.at
		if v.known(p); opinion != nil {
			v.second(opinion)
		}
	default:
		if v.unlisted(); opinion != nil {
			v.vouch(opinion)
		}
	}
	v.harms.tell(r)
	if at.via != nil && at.via.Arg >= 0 {
		// A line that spells out the program covers no more of its words than one
		// about the program itself does.
		outer := b.effects[at.via.Effect].Run
		b.effects[index].Via = &Via{Effect: at.via.Effect, Arg: max(at.via.Arg, min(at.via.Arg+r.HarmlessFrom, len(outer.Args)-1))}
	}
	b.effects[index].Tags = b.res.cwdTags(r.Cwd)
	if p := b.table.program(name); p == nil || p.wrapper == nil || p.wrapper.elsewhere {
		b.printed(index, words)
	}
	if r.Unvouched != nil && r.Cwd != at.cwd {
		b.effects[index].Tags |= b.res.cwdTags(at.cwd)
	}
	b.inVenvs(words, at)
	r.Own = b.ownUse(r, given, at.appended)
	return index
}

// byPath names a run after the path of its program, and notes the script. It
// returns the name when the path only goes a detour to a system folder.
func (b *builder) byPath(index int, at setting) string {
	r := b.effects[index].Run
	e := b.operand(KindRead, r.Executable, at.cwd, at.from)
	if e.File == nil {
		b.unknown(at.from, "a program at a path that is not known")
		return ""
	}
	dir, base := path.Split(e.File.Path)
	if r.Executable[0] == '/' && base == path.Base(r.Executable) && b.table.systemFolder(path.Clean(dir)) {
		return base
	}
	r.Program = e.File.Path
	r.Script = b.script(e.File.Path, at.from)
	return ""
}

// script is a script's path with the hash of its text, when that will still be
// the same. A script that the call itself writes is code given inline.
func (b *builder) script(file, from string) *Script {
	s := &Script{Path: file}
	if b.writes(file) {
		why := "a script that an earlier part of the call writes"
		if b.fetches(file) {
			why = "a script that an earlier part of the call fetches"
		}
		b.unknown(from, why)
		return s
	}
	if b.stale(file) {
		return s
	}
	if data, err := b.fs.ReadFile(file, maxScript); err == nil {
		sum := sha256.Sum256(data)
		s.SHA256 = hex.EncodeToString(sum[:])
	}
	return s
}

// unknownArg adds an Unknown effect that a word of a run causes.
func (b *builder) unknownArg(index, arg int, from, why string) {
	b.add(Effect{Kind: KindUnknown, From: from, Why: why, Text: why, Via: &Via{Effect: index, Arg: arg}})
}

// inline adds what shell text given in words does. Text that is not all known is
// Unknown, and so is all that another machine runs, or the shell itself.
func (b *builder) inline(index, arg int, code []word, at setting, itself bool) {
	unknown := func() { b.unknownArg(index, arg, at.from, "code given inline") }
	if itself = itself || b.away; itself {
		unknown()
	}
	parts := make([]string, 0, len(code))
	for i := range code {
		text := code[i].text
		if code[i].dynamic() || code[i].glob {
			if !itself {
				unknown()
			}
			if text = code[i].guess; text == "" {
				return
			}
		}
		parts = append(parts, text)
	}
	b.nested(index, arg, strings.Join(parts, " "), at)
}

// nested adds the effects of shell text in a word of a run.
func (b *builder) nested(index, arg int, text string, at setting) {
	first := len(b.effects)
	quiet, outer := b.nothing, b.input
	// What it runs reads what the shell reads.
	b.input = input{kind: at.stdin, text: at.text, printed: at.printed}
	b.texts.Text(b, text, at.cwd, at.from)
	b.nothing, b.input = quiet, outer
	for i := first; i < len(b.effects); i++ {
		if b.effects[i].Via == nil {
			b.effects[i].Via = &Via{Effect: index, Arg: arg}
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
	v.dead = true
	for i := n; i < len(v.args) && !v.full(); i++ {
		w := &v.args[i]
		switch {
		case w.dynamic(), w.glob, w.tree:
			v.dynamicWord(i)
		default:
			v.unexplained(n, i)
			v.guardedWord(i, w.text)
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
	if e := v.b.operand(KindRead, text, v.run.Cwd, v.at.from); e.File != nil && e.Guarded() != 0 {
		v.b.add(v.via(i, e))
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
