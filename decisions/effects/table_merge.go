package effects

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// extend says more of programs that are known.
func (x *extender) extend(e *programEntry) {
	free := slices.ContainsFunc(e.Names, func(n spelled) bool {
		p := x.programs[n.text]
		return p != nil && (p.style != styleGNU || p.dashless)
	})
	if !x.formed(e, func(string) bool { return true }, free) {
		return
	}
	for _, n := range e.Names {
		p := x.programs[n.text]
		switch {
		case p == nil:
			x.fail(n.line, "write it under programs", "there is no program %q to extend", n.text)
			continue
		case p.aliases[n.text] != "":
			x.fail(n.line, "", "%q is another name of %q", n.text, p.aliases[n.text])
			continue
		case x.person && p.wrapper != nil && p.wrapper.transparent:
			x.fail(n.line, "say it of the programs that it runs", "%q only runs another program and is no run of its own", n.text)
			continue
		}
		q := x.merge(p, e)
		if q == nil {
			continue
		}
		q.at = x.place(e)
		x.replace(x.programs, n.text, p, q, e)
		x.described = append(x.described, Described{Program: n.text, Extends: true, At: q.at})
	}
}

// replace puts q in the place of p, under its name and the further names that
// stand for it.
func (x *extender) replace(in map[string]*program, name string, p, q *program, e *programEntry) {
	in[name] = q
	for alias, real := range p.aliases {
		if real == name {
			in[alias] = q
		}
	}
	for alias, real := range e.Aliases {
		switch {
		case real != name:
			if !slices.Contains(texts(e.Names), real) {
				x.fail(e.said["aliases"], "", "alias %q stands for %q, which is no name of the entry", alias, real)
			}
		case in[alias] != nil && in[alias] != q, !layerSub.MatchString(alias):
			x.fail(e.said["aliases"], "choose another name", "alias %q is taken or no name", alias)
		default:
			in[alias] = q
		}
	}
}

// merge returns a program with what an entry says of it, nil when that is not
// possible.
func (x *extender) merge(p *program, e *programEntry) *program {
	before := len(x.errs)
	for _, key := range slices.Sorted(maps.Keys(e.said)) {
		if key == "" {
			continue
		}
		if x.person {
			if line, why, fix := loosens(p, e, key); why != "" {
				x.fail(line, fix, "program %q: %s", e.Names[0].text, why)
				continue
			}
		}
		if key == "include" || key == "include_below" {
			x.fail(e.said[key], "write the options themselves", "groups of options are not for a program that is known")
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
	for key := range e.said {
		q.take(own, e, key)
	}
	x.options(q, own, e)
	for i := range e.Sub {
		x.sub(q, &e.Sub[i])
	}
	for _, wrong := range q.promises() {
		x.fail(e.said[""], "", "program %q: %s", e.Names[0].text, wrong)
	}
	if len(x.errs) > before {
		return nil
	}
	return q
}

// clone returns a program that can be changed; its sub-commands are shared.
func (p *program) clone() *program {
	q := *p
	q.options, q.subs = maps.Clone(p.options), maps.Clone(p.subs)
	q.subHeads = slices.Clone(p.subHeads)
	q.aliases, q.implies, q.modules = maps.Clone(p.aliases), maps.Clone(p.implies), maps.Clone(p.modules)
	return &q
}

// take takes a key of an entry over. Lists add to those that there are, all else
// takes the place of what there was. Options and sub-commands are other parts'
// matter.
func (p *program) take(own *program, e *programEntry, key string) {
	more := func(to *[]string, from []string) { *to = append(slices.Clip(*to), from...) }
	put := func(to *map[string]string, from map[string]string) {
		if *to == nil {
			*to = map[string]string{}
		}
		maps.Copy(*to, from)
	}
	switch key {
	case "", "names", "sub", "options", "include", "include_below":
	case "style":
		p.style = own.style
	case "operands":
		p.operands = own.operands
	case "after_dashes":
		p.afterDashes, p.hasDashes = own.afterDashes, own.hasDashes
	case "sub_optional":
		p.subOptional = e.SubOptional
	case "open":
		p.open = e.Open
	case "open_subs":
		p.openSubs = e.OpenSubs
	case "targets":
		p.targets = e.Targets
	case "readonly":
		p.readonly = e.Readonly
		if e.Readonly {
			// Whoever may say so knows what the project can tell the program.
			p.obeys = slices.DeleteFunc(slices.Clone(p.obeys), func(o obeyed) bool { return o.project })
		}
	case "readonly_operands":
		p.readonlyOperands = own.readonlyOperands
	case "readonly_with":
		more(&p.readonlyWith, e.ReadonlyWith)
	case "readonly_alone":
		more(&p.readonlyAlone, e.ReadonlyAlone)
	case "obeys":
		p.obeys = append(slices.Clip(p.obeys), own.obeys...)
	case "unknown_if_changing":
		p.changing = e.UnknownIfChanging
	case "unknown":
		p.unknown = e.Unknown
	case "abbreviations":
		p.abbreviations = e.Abbreviations
	case "numeric":
		p.numeric = e.Numeric
	case "values_behind":
		p.valuesBehind = e.ValuesBehind
	case "stop":
		p.stop = e.Stop
	case "text":
		p.text = e.Text
	case "dashless":
		p.dashless = e.Dashless
	case "plain_options":
		p.plainOptions = e.PlainOptions
	case "recursive":
		p.recursive = e.Recursive
	case "recursive_with":
		more(&p.recursiveWith, e.RecursiveWith)
	case "writes_with":
		more(&p.writesWith, e.WritesWith)
	case "deletes_with":
		more(&p.deletesWith, e.DeletesWith)
	case "clears_with":
		more(&p.clearsWith, e.ClearsWith)
	case "keeps_paths_with":
		more(&p.keepsPaths, e.KeepsPathsWith)
	case "archives_with":
		more(&p.archivesWith, e.ArchivesWith)
	case "keeps_with":
		more(&p.keepsWith, e.KeepsWith)
	case "unpacks_with":
		more(&p.unpacksWith, e.UnpacksWith)
	case "unpacks_unless":
		more(&p.unpacksUnless, e.UnpacksUnless)
	case "completes":
		more(&p.completes, e.Completes)
	case "disturbs_with":
		more(&p.disturbsWith, e.DisturbsWith)
	case "obeys_input":
		p.obeysInput = e.ObeysInput
	case "skips_hidden":
		p.skipsHidden = e.SkipsHidden
	case "rearranges":
		p.rearranges = e.Rearranges
	case "network":
		p.network = e.Network
	case "repository":
		p.repository = e.Repository
	case "wrapper":
		p.wrapper, p.stop = own.wrapper, own.stop
	case "interpreter":
		p.interpreter = e.Interpreter
	case "implicit":
		p.implicit = append(slices.Clip(p.implicit), own.implicit...)
	case "inherent":
		p.inherent = append(slices.Clip(p.inherent), own.inherent...)
	case "implies":
		if p.implies == nil {
			p.implies = map[string][]string{}
		}
		maps.Copy(p.implies, e.Implies)
	case "aliases":
		put(&p.aliases, e.Aliases)
	case "modules":
		put(&p.modules, e.Modules)
	default:
		panic("a key of the program files that cannot be extended: " + key) // TestExtendEveryKey
	}
}

// options takes the options of an entry over. What is said of one spelling of an
// option holds for all of them, and its canonical name, by which rules know it,
// stays.
func (x *extender) options(p, own *program, e *programEntry) {
	names := map[string]string{} // own canonical name -> that of the option there was
	for _, s := range slices.Sorted(maps.Keys(own.options)) {
		o, was := own.options[s], p.options[s]
		if was == nil {
			continue
		}
		if first, ok := names[o.canonical]; ok && first != was.canonical {
			x.fail(e.lineOf(s), "write them apart", "%s and %s are two options", first, s)
			return
		}
		if x.person && o.arity != was.arity {
			x.fail(e.lineOf(s), "write its value as the table does", "the option %s takes its value otherwise than permd knows", s)
			return
		}
		names[o.canonical] = was.canonical
		for spelling, other := range p.options {
			if other.canonical == was.canonical {
				p.options[spelling] = &option{canonical: was.canonical, arity: other.arity, act: o.act}
			}
		}
	}
	for s, o := range own.options {
		c := *o
		if name := names[o.canonical]; name != "" {
			c.canonical = name
		}
		p.options[s] = &c
	}
	p.long = nil
	for s := range p.options {
		if strings.HasPrefix(s, "--") {
			p.long = append(p.long, s)
		}
	}
	slices.Sort(p.long)
	if e.said["options"] > 0 && e.said["plain_options"] == 0 {
		p.plainOptions = p.plainOptions && own.plainOptions
	}
}

// lineOf is the line in which an option is written.
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
	return e.said["options"]
}

// sub says more of a sub-command, or adds one.
func (x *extender) sub(p *program, e *programEntry) {
	var fresh []spelled
	for _, n := range e.Names {
		was := p.named(n.text)
		switch {
		case was == nil:
			fresh = append(fresh, n)
			continue
		case was.aliases[n.text] != "":
			x.fail(n.line, "", "%q is another name of %q", n.text, was.aliases[n.text])
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
		x.replace(p.subs, n.text, was, q, e)
	}
	if fresh != nil {
		x.fresh(p, e, fresh)
	}
}

// fresh adds a sub-command to a program that is known.
func (x *extender) fresh(p *program, e *programEntry, names []spelled) {
	before := len(x.errs)
	if x.person {
		x.onlyMore(e)
	}
	if len(x.errs) > before {
		return
	}
	one := *e
	one.Names = names
	one.inherit(&programEntry{
		Abbreviations: p.abbreviations, Repository: p.repository, Network: p.network, Open: p.open, Targets: p.targets,
		Everywhere: p.below, Style: p.styleName(),
	})
	// subsOf wants a parent: what it has in common with its sub-commands is said.
	into := &program{subs: map[string]*program{}}
	if err := x.parser().subsOf(into, &programEntry{Sub: []programEntry{one}, Style: one.Style}); err != nil {
		x.err(err, "")
		return
	}
	if p.subs == nil {
		p.subs = map[string]*program{}
	}
	for name, sub := range into.subs {
		if p.subs[name] != nil {
			x.fail(e.said[""], "choose another name", "the sub-command %q is there already", name)
			return
		}
		p.subs[name] = sub
	}
	p.subHeads = append(p.subHeads, into.subHeads...)
	for _, sub := range into.subs {
		inherited := slices.Clone(p.obeys)
		if sub.readonly {
			inherited = slices.DeleteFunc(inherited, func(o obeyed) bool { return o.project })
		}
		sub.obeys = append(inherited, sub.obeys...)
		x.kept(sub, &one)
	}
}

// onlyMore refuses what a person must not say of a sub-command that the table
// does not have, and of those below it.
func (x *extender) onlyMore(e *programEntry) {
	for _, key := range slices.Sorted(maps.Keys(e.said)) {
		if key == "" {
			continue
		}
		if line, why, fix := loosens(nil, e, key); why != "" {
			x.fail(line, fix, "sub-command %q: %s", e.Names[0].text, why)
		}
	}
	for i := range e.Sub {
		x.onlyMore(&e.Sub[i])
	}
}

func (p *program) styleName() string {
	for name, s := range styles {
		if s == p.style && name != "" {
			return name
		}
	}
	return ""
}
