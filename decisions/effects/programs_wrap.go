package effects

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects/plainshell"
)

// wrapped handles a program that runs the command in its operands.
func (b *builder) wrapped(p *program, words []word, at setting) {
	v := invocation{b: b, at: at, index: -1, args: words[1:], p: p, run: &Run{Cwd: at.cwd}}
	start := v.wrappedCommand(p)
	plain := p.wrapper.transparent && start >= 0 && start < len(v.args) && !v.odd
	if !plain {
		index := b.run(words, at)
		if start < 0 || start >= len(v.args) {
			b.printed(index, words)
			return
		}
		at.via = &Via{Effect: index, Arg: start}
		if p.wrapper.joined && slices.ContainsFunc(v.args[start:], readAgain) {
			b.unknownArg(index, start, at.from, "words that the program hands to a shell, which reads them once more")
		}
		if p.wrapper.appends {
			b.unknownArg(index, start, at.from, "arguments that are read while it runs")
			b.appended(words[1:1+start], words[1+start:], at)
			if at.appended = true; !v.readsWordsFile(start) {
				at.stdin, at.text, at.printed = StdinNone, "", ""
			}
		}
	}
	inner := words[1+start:]
	if inner[0].open() {
		b.unknown(at.from, "a program whose name is not known before it runs: "+Display(showWord(&inner[0])))
		return
	}
	b.command(inner, at)
}

// readAgain reports whether a shell that is given the word as a part of its text
// may read something else than that word.
func readAgain(w word) bool {
	return w.open() || w.glob || w.text == "" || strings.Trim(w.text, plainLetters) != ""
}

// plainLetters mean nothing to any shell, wherever they stand in a word.
const plainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:@%+-"

// readsWordsFile reports whether the words that a wrapper appends may come from a
// file, so that the command has the wrapper's own standard input (xargs -a).
func (v *invocation) readsWordsFile(start int) bool {
	for i := range v.args[:start] {
		if w := &v.args[i]; w.open() || len(w.text) > 1 && w.text[0] == '-' && strings.Contains(w.text, "a") {
			return true
		}
	}
	return false
}

// wrappedCommand finds where the wrapped command begins, -1 when that is not
// certain. It sets odd when the wrapper's own words do more than a transparent
// wrapper's may.
func (v *invocation) wrappedCommand(p *program) int {
	i, skip := 0, p.wrapper.skip
	for i < len(v.args) {
		w := &v.args[i]
		switch {
		case w.open():
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
		if w.glob || w.tree {
			return i // one word, or several: where the command begins is not known
		}
		if v.p.wrapper.assignments && !w.dynamic() {
			if name, value, ok := strings.Cut(w.text, "="); ok && name != "" {
				if !v.b.table.HarmlessAssignment(name, value) {
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
		return 2, o.act == actText && i+1 < len(v.args) && !v.args[i+1].open()
	}
	return 1, o.act == actText
}

// inner adds the effects of the command behind a sub-command that wraps one
// (uv run, docker exec), or behind a program that hands it to another machine.
func (v *invocation) inner() {
	w := v.p.wrapper
	if v.dead || len(v.operands) == 0 {
		return
	}
	start := v.operands[0] + w.skip
	before := v.operands
	if w.dashes {
		if v.dashes < 0 || v.dashes >= len(v.operands) {
			start = len(v.args)
		} else {
			start, before = v.operands[v.dashes], v.operands[:v.dashes]
		}
	}
	for n, i := range before {
		if i < start {
			spec := operandAt(v.p.operands, n, len(before))
			if spec == nil {
				v.unknown(i, "an operand that permd does not know: "+Display(showWord(&v.args[i])))
				continue
			}
			v.apply(spec.act, i, v.args[i], false, false)
		}
	}
	if w.skip > 0 && !w.dashes {
		for i := v.operands[0] + 1; i < min(start, len(v.args)); i++ {
			v.apply(actText, i, v.args[i], false, false)
		}
	}
	if start >= len(v.args) {
		return
	}
	v.changes = true
	if w.elsewhere {
		v.elsewhere(start)
		return
	}
	first := &v.args[start]
	if first.open() || strings.HasPrefix(first.text, "-") {
		v.unknown(start, "a program whose name is not known before it runs: "+Display(showWord(first)))
		return
	}
	if w.joined && slices.ContainsFunc(v.args[start:], readAgain) {
		v.unknown(start, "words that the program hands to a shell, which reads them once more")
	}
	// Which program the name finds there, in an environment or among a
	// project's own scripts, is the matter of this run.
	v.harm(start)
	if strings.Contains(first.text, "://") {
		v.connects(actConnects, start, *first)
		return
	}
	at := v.at
	at.cwd, at.via = v.run.Cwd, &Via{Effect: v.index, Arg: start}
	if at.wrapped++; at.wrapped > maxWrappers {
		v.unknown(start, "commands wrapped in each other too deeply")
		v.b.overWrapped(v.args[start:], at)
		return
	}
	words := v.args[start:]
	if w.scripts && strings.HasSuffix(first.text, ".py") {
		words = append([]word{literalWord("python")}, words...)
	}
	v.b.command(words, at)
}

// elsewhere adds the runs of a command on another machine or in a container,
// for rules to see them. Its paths are not those of this machine, so only what
// it runs and reaches is kept, and its words must be spelled out by whoever
// allows it.
func (v *invocation) elsewhere(start int) {
	v.harmFrom(start)
	first := len(v.b.effects)
	rearranged, disturbed, lost, quiet := v.b.rearranged, v.b.res.disturbed, v.b.res.lost, v.b.nothing
	at := v.at
	at.cwd, at.via, at.text = "/", nil, ""
	if at.wrapped++; at.wrapped > maxWrappers {
		v.unknown(start, "commands wrapped in each other too deeply")
		return
	}
	defer func(before bool) { v.b.away = before }(v.b.away)
	v.b.away = true
	known := true
	parts := make([]string, 0, len(v.args)-start)
	for i := start; i < len(v.args); i++ {
		if v.args[i].open() {
			v.dynamicWord(i)
			known = false
		}
		parts = append(parts, v.args[i].text)
	}
	switch {
	case !known:
		return
	case v.p.wrapper.joined:
		outer := v.b.input
		v.b.input = input{kind: at.stdin}
		v.b.reading(plainshell.All, func() { v.b.texts.TextIn(v.b, strings.Join(parts, " "), "/", v.at.from) })
		v.b.input = outer
	default:
		v.b.command(v.args[start:], at)
	}
	kept := v.b.effects[:first]
	for _, e := range v.b.effects[first:] {
		switch e.Kind {
		case KindRead, KindWrite, KindDelete:
			continue
		case KindRun:
			e.Run.Cwd, e.Run.Script, e.Tags = "", nil, TagsOf(Outside)
			if e.Run.Unvouched != nil {
				e.Run.Unvouched.Cwd = ""
			}
		}
		e.Via = &Via{Effect: v.index, Arg: len(v.args) - 1}
		kept = append(kept, e)
	}
	v.b.effects = kept
	v.b.rearranged, v.b.res.disturbed, v.b.res.lost, v.b.nothing = rearranged, disturbed, lost, quiet
}

// module runs a module of an interpreter that is a program of the table (python
// -m pytest) as that program.
func (v *invocation) module(i int, name string) bool {
	return v.delegate(i, v.p.modules[name])
}

// tool handles a program that is run by its name from where the project's
// packages lie, or fetched (npx). What the table knows about that name tells
// what its words do; that it runs at all is the matter of this run.
func (v *invocation) tool(i int, w word) {
	v.harm(i)
	v.changes = true
	if w.dynamic() || w.glob {
		v.dynamicWord(i)
		return
	}
	if v.p.targets != "" {
		// A script of the project may have the name of any program.
		v.target(actTarget, i, w)
		return
	}
	if !v.delegate(i, w.text) {
		if strings.ContainsAny(w.text, ":/") {
			v.packageSpec(i, w)
		}
		v.tail(i + 1)
	}
}

// delegate adds the run of a program of the table with the words behind i.
func (v *invocation) delegate(i int, program string) bool {
	if program == "" || v.b.table.program(program) == nil {
		return false
	}
	at := v.at
	at.cwd, at.via = v.run.Cwd, &Via{Effect: v.index, Arg: i}
	if at.wrapped++; at.wrapped > maxWrappers {
		return false
	}
	v.b.command(append([]word{literalWord(program)}, v.args[i+1:]...), at)
	v.dead = true
	return true
}
