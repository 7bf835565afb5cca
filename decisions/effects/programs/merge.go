package programs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// extend adds an entry to known programs.
func (x *extender) extend(e *programEntry) {
	free := slices.ContainsFunc(e.Names, func(n textNode) bool {
		p := x.programs[n.text]
		return p != nil && (p.Style != StyleGNU || p.Dashless)
	})
	if !x.checkSyntax(e, func(string) bool { return true }, free) {
		return
	}
	for _, n := range e.Names {
		p := x.programs[n.text]
		switch {
		case p == nil:
			x.fail(n.line, "write it under programs", "there is no program %q to extend", n.text)
			continue
		case p.Aliases[n.text] != "":
			x.fail(n.line, "", "%q is another name of %q", n.text, p.Aliases[n.text])
			continue
		case x.person && p.Wrapper != nil && p.Wrapper.Transparent:
			x.fail(n.line, "say it of the programs that it runs", "%q only runs another program and is no run of its own", n.text)
			continue
		}
		q := x.merge(p, e)
		if q == nil {
			continue
		}
		q.At = x.place(e)
		x.replace(x.programs, n.text, p, q, e)
		x.layerPrograms = append(x.layerPrograms, LayerProgram{Program: n.text, Extends: true, At: q.At})
	}
}

// replace replaces p by q, under its name and all its aliases.
func (x *extender) replace(in map[string]*Program, name string, p, q *Program, e *programEntry) {
	in[name] = q
	for alias, real := range p.Aliases {
		if real == name {
			in[alias] = q
		}
	}
	for alias, real := range e.Aliases {
		switch {
		case real != name:
			if !slices.Contains(texts(e.Names), real) {
				x.fail(e.keyLines["aliases"], "", "alias %q stands for %q, which is no name of the entry", alias, real)
			}
		case in[alias] != nil && in[alias] != q, !layerSub().MatchString(alias):
			x.fail(e.keyLines["aliases"], "choose another name", "alias %q is taken or no name", alias)
		default:
			in[alias] = q
		}
	}
}

// merge returns a program with an entry added to it, nil if that fails.
func (x *extender) merge(p *Program, e *programEntry) *Program {
	before := len(x.errs)
	for _, key := range slices.Sorted(maps.Keys(e.keyLines)) {
		if key == "" {
			continue
		}
		if x.person {
			if line, why, fix := refuseLoosening(p, e, key); why != "" {
				x.fail(line, fix, "program %q: %s", e.Names[0].text, why)
				continue
			}
		}
		if key == "include" || key == "include_below" {
			x.fail(e.keyLines[key], "write the options themselves", "groups of options are not for a program that is known")
		}
	}
	if len(x.errs) > before {
		return nil
	}
	alone := *e
	alone.Sub = nil
	own, err := x.parser().program(&alone)
	if err != nil {
		x.err(fmt.Errorf("program %q: %w", e.Names[0].text, err), "")
		return nil
	}
	q := p.clone()
	for key := range e.keyLines {
		q.take(own, e, key)
	}
	x.options(q, own, e)
	for i := range e.Sub {
		x.sub(q, &e.Sub[i])
	}
	for _, wrong := range q.brokenInvariants() {
		x.fail(e.keyLines[""], "", "program %q: %s", e.Names[0].text, wrong)
	}
	if len(x.errs) > before {
		return nil
	}
	return q
}

// clone returns a copy that can be changed; its sub-commands are shared.
func (p *Program) clone() *Program {
	q := *p
	q.Options, q.Subs = maps.Clone(p.Options), maps.Clone(p.Subs)
	q.subHeads = slices.Clone(p.subHeads)
	q.Aliases, q.Implies, q.Modules = maps.Clone(p.Aliases), maps.Clone(p.Implies), maps.Clone(p.Modules)
	return &q
}

// take applies one key of an entry: lists are appended to, everything else is
// replaced. Options and sub-commands are handled elsewhere.
func (p *Program) take(own *Program, e *programEntry, key string) {
	switch key {
	case "", "names", "sub", "options", "include", "include_below":
		return
	case "style":
		p.Style = own.Style
		return
	case "operands":
		p.Operands = own.Operands
		return
	case "after_dashes":
		p.AfterDashes, p.HasDashes = own.AfterDashes, own.HasDashes
		return
	case "readonly":
		if e.Readonly {
			// Only layers that know what a project can configure may set this key.
			p.Obeys = slices.DeleteFunc(slices.Clone(p.Obeys), func(o Obeyed) bool { return o.Project })
		}
	case "readonly_operands":
		p.ReadonlyOperands = own.ReadonlyOperands
		return
	case "does":
		p.Does = own.Does
		return
	case "obeys":
		p.Obeys = append(slices.Clip(p.Obeys), own.Obeys...)
		return
	case "wrapper":
		p.Wrapper, p.Stop = own.Wrapper, own.Stop
		return
	case "implicit":
		p.Implicit = append(slices.Clip(p.Implicit), own.Implicit...)
		return
	case "inherent":
		p.Inherent = append(slices.Clip(p.Inherent), own.Inherent...)
		return
	}
	if !p.traits.take(&e.traits, key) {
		panic("a key of the program files that cannot be extended: " + key) // TestExtendEveryKey
	}
}

// options merges the options of an entry. A change of one spelling of an option
// applies to all its spellings; the canonical name, by which rules refer to it, does
// not change.
func (x *extender) options(p, own *Program, e *programEntry) {
	names := map[string]string{} // own canonical name -> that of the existing option
	for _, s := range slices.Sorted(maps.Keys(own.Options)) {
		o, was := own.Options[s], p.Options[s]
		if was == nil {
			continue
		}
		if first, ok := names[o.Canonical]; ok && first != was.Canonical {
			x.fail(e.lineOf(s), "write them apart", "%s and %s are two options", first, s)
			return
		}
		if x.person && o.Arity != was.Arity {
			x.fail(e.lineOf(s), "write its value as the table does", "the option %s takes its value otherwise than permd knows", s)
			return
		}
		names[o.Canonical] = was.Canonical
		for spelling, other := range p.Options {
			if other.Canonical == was.Canonical {
				p.Options[spelling] = &Option{Canonical: was.Canonical, Arity: other.Arity, Role: o.Role}
			}
		}
	}
	for s, o := range own.Options {
		c := *o
		if name := names[o.Canonical]; name != "" {
			c.Canonical = name
		}
		p.Options[s] = &c
	}
	p.long = nil
	for s := range p.Options {
		if strings.HasPrefix(s, "--") {
			p.long = append(p.long, s)
		}
	}
	slices.Sort(p.long)
	if e.keyLines["options"] > 0 && e.keyLines["plain_options"] == 0 {
		p.PlainOptions = p.PlainOptions && own.PlainOptions
	}
}

// lineOf returns the line of an option.
func (e *programEntry) lineOf(spelling string) int {
	for _, list := range e.Options {
		for _, line := range list {
			for _, s := range strings.Fields(line.text) {
				if strings.TrimRight(strings.TrimSuffix(s, "[=]"), "=") == spelling {
					return line.line
				}
			}
		}
	}
	return e.keyLines["options"]
}

// sub extends a sub-command, or adds one.
func (x *extender) sub(p *Program, e *programEntry) {
	var fresh []textNode
	for _, n := range e.Names {
		was := p.exactSub(n.text)
		switch {
		case was == nil:
			fresh = append(fresh, n)
			continue
		case was.Aliases[n.text] != "":
			x.fail(n.line, "", "%q is another name of %q", n.text, was.Aliases[n.text])
			continue
		}
		q := x.merge(was, e)
		if q == nil {
			continue
		}
		if head, ok := strings.CutSuffix(n.text, "*"); ok {
			for i := range p.subHeads {
				if p.subHeads[i].head == head {
					p.subHeads[i].sub = q
				}
			}
			continue
		}
		x.replace(p.Subs, n.text, was, q, e)
	}
	if fresh != nil {
		x.addSub(p, e, fresh)
	}
}

// addSub adds a sub-command to a known program.
func (x *extender) addSub(p *Program, e *programEntry, names []textNode) {
	before := len(x.errs)
	if x.person {
		x.checkNewSub(e)
	}
	if len(x.errs) > before {
		return
	}
	one := *e
	one.Names = names
	one.inherit(&programEntry{
		traits:     traits{Abbreviations: p.Abbreviations, Repository: p.Repository, Network: p.Network, Open: p.Open, Targets: p.Targets},
		Everywhere: p.below, Style: p.styleName(),
	})
	// subsOf needs a parent; what this one has in common with its sub-commands is set
	// above.
	into := &Program{Subs: map[string]*Program{}}
	if err := x.parser().subsOf(into, &programEntry{Sub: []programEntry{one}, Style: one.Style}); err != nil {
		x.err(err, "")
		return
	}
	if p.Subs == nil {
		p.Subs = map[string]*Program{}
	}
	for name, sub := range into.Subs {
		if p.Subs[name] != nil {
			x.fail(e.keyLines[""], "choose another name", "the sub-command %q is there already", name)
			return
		}
		p.Subs[name] = sub
	}
	p.subHeads = append(p.subHeads, into.subHeads...)
	for _, sub := range into.Subs {
		inherited := slices.Clone(p.Obeys)
		if sub.Readonly {
			inherited = slices.DeleteFunc(inherited, func(o Obeyed) bool { return o.Project })
		}
		sub.Obeys = append(inherited, sub.Obeys...)
		x.checkInvariants(sub, &one)
	}
}

// checkNewSub refuses what a person must not set in a sub-command that the table
// does not have, and in those below it.
func (x *extender) checkNewSub(e *programEntry) {
	for _, key := range slices.Sorted(maps.Keys(e.keyLines)) {
		if key == "" {
			continue
		}
		if line, why, fix := refuseLoosening(nil, e, key); why != "" {
			x.fail(line, fix, "sub-command %q: %s", e.Names[0].text, why)
		}
	}
	for i := range e.Sub {
		x.checkNewSub(&e.Sub[i])
	}
}

func (p *Program) styleName() string {
	for name, s := range styles {
		if s == p.Style && name != "" {
			return name
		}
	}
	return ""
}
