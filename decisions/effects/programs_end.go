package effects

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects/plainshell"
)

// implicitEffects adds what the program does without being told by a word.
func (v *invocation) implicitEffects() {
	list := v.p.inherent
	if v.paths == 0 {
		list = append(slices.Clip(list), v.p.implicit...)
	}
	for _, e := range list {
		if (len(e.with) == 0 || v.has(e.with)) && !v.has(e.unless) {
			v.implicitly(e)
		}
	}
	if v.p.repository {
		v.foreignRepository()
		v.repositorySecrets()
	}
}

// readonly decides whether everything about the run is known not to change
// anything.
func (v *invocation) readonly() {
	p := v.p
	ok := p.readonly && !v.changes
	if ok && p.readonlyOperands >= 0 && len(v.operands) > p.readonlyOperands && !v.has(p.readonlyWith) {
		ok = false
	}
	ok = ok || v.checksSyntax() || v.tellsOfItself()
	if ok {
		file := v.obeysProject()
		if file == "" {
			file = v.obeysShims()
		}
		if file != "" {
			ok = false
			v.changes = true
			v.b.unknown(v.at.from, "obeys "+Display(file)+", which says, or may say, more than is known to be harmless")
		}
	}
	v.run.Readonly = ok
	switch {
	case ok || p.changing == "":
	case len(v.args) == 0:
		v.b.unknown(v.at.from, p.changing)
	default:
		arg := 0
		if len(v.operands) > 0 {
			arg = v.operands[0]
		}
		v.unknown(arg, p.changing)
	}
}

// checksSyntax reports whether a shell only reads a script (bash -n).
func (v *invocation) checksSyntax() bool {
	if v.p.interpreter != "shell" || len(v.operands) == 0 || !v.has([]string{"-n"}) || v.harms.from > v.operands[0]+1 {
		return false
	}
	for _, f := range v.flags {
		if !slices.Contains([]string{"-n", "-e", "-u", "-v", "-x"}, f) {
			return false
		}
	}
	// +n would take the option back.
	return strings.IndexByte("+-", v.args[v.operands[0]].text[0]) < 0
}

// disturb tells the resolver what the run links, moves or extracts: later
// paths through it are not known.
func (v *invocation) disturb() {
	v.unpack()
	if v.p.rearranges {
		v.b.rearranged = append(v.b.rearranged, v.folderOf(v.run.Cwd))
	}
	if len(v.p.disturbsWith) > 0 && !v.has(v.p.disturbsWith) {
		return
	}
	for _, word := range v.disturbs {
		v.b.res.disturb(word, v.run.Cwd)
	}
}

// standardInput handles an interpreter that is given no script: it runs what
// it reads.
func (v *invocation) standardInput() {
	if v.run.Script != nil || v.has([]string{"--version", "--help"}) {
		return
	}
	for _, f := range v.flags {
		if o := v.p.options[f]; o != nil && (o.act == actInline || o.act == actModule) {
			return
		}
	}
	if len(v.operands) > 0 && !standardInputs[v.args[v.operands[0]].text] {
		return
	}
	if v.at.stdin == StdinText && v.p.interpreter == "shell" && v.at.text != DynamicWord {
		v.b.unknown(v.at.from, "code given inline")
		quiet := v.b.nothing
		v.b.reading(v.shells(len(v.args)), func() { v.b.shell(v.at.text, v.run.Cwd, v.at.from) })
		v.b.nothing = quiet
		v.run.Readonly = false
		return
	}
	v.b.unknown(v.at.from, "an interpreter that runs what it reads")
	v.run.Readonly = false
	if v.p.interpreter == "shell" && v.at.stdin == StdinPipe && v.at.printed != "" {
		v.b.glimpse(v.at.printed, v.run.Cwd, v.at.from)
	}
}

// standardInputs are the names of what a program reads from its input.
var standardInputs = map[string]bool{"-": true, "/dev/stdin": true, "/dev/fd/0": true, "/proc/self/fd/0": true}

// glimpse adds the effects of shell text that most likely runs. That it is not
// certain is a question already.
func (b *builder) glimpse(text, cwd, from string) {
	quiet := b.nothing
	b.reading(plainshell.All, func() { b.shell(text, cwd, from) })
	b.nothing = quiet
}

// implicitly adds an effect that no word spells out.
func (v *invocation) implicitly(e implicitEffect) {
	own := &Via{Effect: v.index, Arg: Inherent}
	tree := v.p.recursive || v.has(v.p.recursiveWith) || e.value == "/"
	kind := KindRead
	switch e.act {
	case actReads, actLists:
	case actWrites:
		kind = KindWrite
	case actDeletes:
		kind, tree = KindDelete, true
	case actConnects, actSends:
		method := MethodGet
		if e.act == actSends || v.send {
			method = MethodSend
		}
		switch e.value {
		case "cluster", "database", "cloud":
			// Its address stands in a configuration that permd does not read.
			v.b.add(Effect{
				Kind: KindConnect, From: v.at.from, Text: "connect to the " + e.value, Connect: &Connect{Method: method}, Via: own,
			})
			return
		}
		if e.value != "remote" {
			found := v.b.res.connect(e.value, method, v.at.from)
			found.Via = own
			v.b.add(found)
			return
		}
		reached := slices.ContainsFunc(v.b.effects[v.index:], func(e Effect) bool {
			return e.Kind == KindConnect && e.Via != nil && e.Via.Effect == v.index
		})
		if !reached {
			v.namedRemote("", method)
		}
		return
	default:
		v.b.unknown(v.at.from, "an effect that permd does not know")
		return
	}
	if v.run.Cwd == "" {
		return // the run's unknown folder already says so
	}
	found := v.below(v.b.operand(kind, e.value, v.run.Cwd, v.at.from), tree, e.act == actLists)
	found.Via = own
	v.b.add(found)
}
