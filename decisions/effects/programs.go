package effects

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
)

const (
	// maxScript is the size up to which a script is hashed, in bytes.
	maxScript = 1 << 20
	// maxRunEffects is how many effects the words of one command may have, and
	// maxRunWords how many words may then stand in rules' sight: all words of a
	// run are seen with each of its effects.
	maxRunEffects = 256
	maxRunWords   = 256 << 10
	// maxWrappers is how many commands may be wrapped in each other.
	maxWrappers = 32
)

// setting is where and with what input a command runs.
type setting struct {
	cwd   string // "" when not known
	from  string
	stdin Stdin
	text  string // literal standard input
	// via is the run that this one comes out of, nil if none.
	via *Via
	// wrapped is how many commands this one is wrapped in.
	wrapped int
}

// command adds the effects of running the words as a command. The first word
// is literal.
func (b *builder) command(words []word, at setting) {
	first := len(b.effects)
	p := b.w.Table.program(b.programName(words[0].text))
	if p != nil && p.wrapper != nil {
		if at.wrapped++; at.wrapped > maxWrappers {
			b.unknown(at.from, "commands wrapped in each other too deeply")
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
	if b.w.Table.systemFolder(path.Dir(clean)) {
		return path.Base(clean)
	}
	return ""
}

// networkProgram reports whether a program's output comes from the network.
func (b *builder) networkProgram(name string) bool {
	if p := b.w.Table.program(name); p != nil && p.network {
		return true
	}
	return b.w.Table.shell.network[name]
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
		if dir == "" || strings.HasPrefix(e.File.Path, strings.TrimRight(dir, "/")+"/") {
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
	index := b.add(Effect{Kind: KindRun, From: at.from, Run: r, Text: Display("run " + showWords(words)), Via: at.via})
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
	v := invocation{b: b, at: at, index: index, run: r, args: words[1:], harmful: -1}
	if p := b.w.Table.program(name); p != nil {
		r.Known = true
		v.known(p)
	} else {
		v.unlisted()
	}
	r.HarmlessFrom = v.harmful + 1
	b.effects[index].Tags = b.res.cwdTags(r.Cwd)
	return index
}

// argument is the word as it stands in Run.Args.
func (w *word) argument() string {
	if w.tree {
		return w.shown
	}
	return w.text
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
	if r.Executable[0] == '/' && base == path.Base(r.Executable) && b.w.Table.systemFolder(path.Clean(dir)) {
		return base
	}
	r.Program = e.File.Path
	r.Script = b.script(e.File.Path)
	return ""
}

// script is a script's path with the hash of its text.
func (b *builder) script(file string) *Script {
	s := &Script{Path: file}
	if data, err := b.w.FS.ReadFile(file, maxScript); err == nil {
		sum := sha256.Sum256(data)
		s.SHA256 = hex.EncodeToString(sum[:])
	}
	return s
}

// unknownArg adds an Unknown effect that a word of a run causes.
func (b *builder) unknownArg(index, arg int, from, why string) {
	b.add(Effect{Kind: KindUnknown, From: from, Why: why, Text: why, Via: &Via{Effect: index, Arg: arg}})
}

// inline adds what code given in words does: Unknown, and for deny rules to see
// it, the effects of literal shell text.
func (b *builder) inline(index, arg int, code []word, at setting) {
	b.unknownArg(index, arg, at.from, "code given inline")
	parts := make([]string, 0, len(code))
	for i := range code {
		if code[i].dynamic() || code[i].glob {
			return
		}
		parts = append(parts, code[i].text)
	}
	b.nested(index, arg, strings.Join(parts, " "), at)
}

// nested adds the effects of shell text in a word of a run.
func (b *builder) nested(index, arg int, text string, at setting) {
	first := len(b.effects)
	quiet := b.nothing
	b.shell(text, at.cwd, at.from)
	b.nothing = quiet
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
	}
	v.tail(0)
}

// tail handles words that no table explains, from index n on.
func (v *invocation) tail(n int) {
	v.dead = true
	for i := n; i < len(v.args); i++ {
		w := &v.args[i]
		switch {
		case w.dynamic(), w.glob, w.tree:
			v.dynamicWord(i)
		case !plainOperand(w.text):
			v.harm(i)
		}
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

// wrapped handles a program that runs the command in its operands.
func (b *builder) wrapped(p *program, words []word, at setting) {
	v := invocation{b: b, at: at, index: -1, args: words[1:], harmful: -1, p: p, run: &Run{Cwd: at.cwd}}
	start := v.wrappedCommand(p)
	plain := p.wrapper.transparent && start >= 0 && start < len(v.args) && !v.odd
	if !plain {
		index := b.run(words, at)
		if start < 0 || start >= len(v.args) {
			return
		}
		at.via = &Via{Effect: index, Arg: start}
		if p.wrapper.appends {
			b.unknownArg(index, start, at.from, "arguments that are read while it runs")
			at.stdin, at.text = StdinNone, ""
		}
	}
	inner := words[1+start:]
	if inner[0].dynamic() || inner[0].glob {
		b.unknown(at.from, "a program whose name is not known before it runs: "+Display(inner[0].show()))
		return
	}
	b.command(inner, at)
}

// wrappedCommand finds where the wrapped command begins, -1 when that is not
// certain. It sets odd when the wrapper's own words do more than a transparent
// wrapper's may.
func (v *invocation) wrappedCommand(p *program) int {
	i, skip := 0, p.wrapper.skip
	for i < len(v.args) {
		w := &v.args[i]
		switch {
		case w.dynamic() || w.glob:
			if i > 0 || skip > 0 {
				v.odd = true
			}
			return i
		case w.text == "--" && skip == p.wrapper.skip:
			i++
			v.odd = v.odd || !p.wrapper.transparent
			return v.skipOperands(i, skip)
		case len(w.text) > 1 && w.text[0] == '-' && skip == p.wrapper.skip:
			used, harmless := v.peek(p, i)
			v.odd = v.odd || !harmless
			if used == 0 {
				return v.afterUnknown(i + 1)
			}
			i += used
		default:
			return v.skipOperands(i, skip)
		}
	}
	return i
}

// afterUnknown is where the command most likely begins behind an option that
// is not known: deny rules shall see it, the unknown option asks anyway.
func (v *invocation) afterUnknown(i int) int {
	for i < len(v.args) && strings.HasPrefix(v.args[i].text, "-") {
		i++
	}
	return i
}

// skipOperands passes the operands that stand before the command.
func (v *invocation) skipOperands(i, skip int) int {
	for ; i < len(v.args); i++ {
		w := &v.args[i]
		if v.p.wrapper.assignments && !w.dynamic() {
			if name, value, ok := strings.Cut(w.text, "="); ok && name != "" {
				if !v.b.w.Table.harmlessAssignment(name, value) {
					v.odd = true
				}
				continue
			}
		}
		if skip == 0 {
			return i
		}
		if w.dynamic() {
			v.odd = true
		}
		skip--
	}
	return i
}

// peek says how many words the wrapper's option at i takes, 0 when that is not
// known, and whether it is known to be harmless.
func (v *invocation) peek(p *program, i int) (used int, harmless bool) {
	text := v.args[i].text
	if strings.HasPrefix(text, "--") {
		name, _, attached := strings.Cut(text, "=")
		return v.taken(p.options[name], i, attached)
	}
	if p.numeric && strings.Trim(text[1:], "0123456789") == "" {
		return 1, true
	}
	harmless = true
	for j := 1; j < len(text); j++ {
		o := p.options["-"+text[j:j+1]]
		if o == nil {
			return 0, false
		}
		if o.arity != arityNone {
			used, own := v.taken(o, i, j+1 < len(text))
			return used, harmless && own
		}
		harmless = harmless && o.act == actText
	}
	return 1, harmless
}

// taken says how many words an option takes and whether it is harmless.
func (v *invocation) taken(o *option, i int, attached bool) (used int, harmless bool) {
	switch {
	case o == nil:
		return 0, false
	case o.arity == arityRequired && !attached:
		return 2, o.act == actText && i+1 < len(v.args) && !v.args[i+1].dynamic()
	}
	return 1, o.act == actText
}
