package programs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// LayerProgram is a program that a layer describes or extends.
type LayerProgram struct {
	Program string
	Extends bool   // the table knows it without the layer
	At      string // file:line
}

// Overlay is what a person's own layer says about programs. It never takes
// anything away:
//
//   - for a program that the table knows, the overlay's effects are added to the
//     table's, and a run is read-only, and its words are harmless, only if both say
//     so;
//   - for a program that no other layer describes, the overlay's effects are added
//     to those of an unknown program. That such a run is known, read-only or harmless
//     counts only as far as an allow of that person would, and the rules of org do
//     not see it (see Run.WithoutOverlay).
type Overlay struct {
	Programs map[string]*Program
	list     []LayerProgram
}

// List returns the programs, by name.
func (o *Overlay) List() []LayerProgram {
	if o == nil {
		return nil
	}
	return o.list
}

// With returns the table with a person's overlay, which may be nil. trusted is
// false if allows of this person do not count.
func (t *Table) With(o *Overlay, trusted bool) *Table {
	c := *t
	c.overlay, c.TrustOverlay = o, trusted
	return &c
}

// OverlayProgram returns the overlay's entry of a program, nil if there is none.
func (t *Table) OverlayProgram(name string) *Program {
	if t.overlay == nil {
		return nil
	}
	return t.overlay.Programs[name]
}

// Extended returns the table with the program files of the organisation (name ->
// content), which may change everything, and the programs that they describe. The
// table is nil if there are errors.
func (t *Table) Extended(files map[string][]byte) (*Table, []LayerProgram, []*TableError) {
	x := t.extender(files, false)
	if x.errs != nil {
		return nil, nil, x.errs
	}
	c := *t
	c.programs, c.groups = x.programs, x.groups
	return &c, x.layerPrograms, nil
}

// ParseOverlay reads the program files of a person (name -> content) against the
// table. The overlay is nil if there are errors.
func (t *Table) ParseOverlay(files map[string][]byte) (*Overlay, []*TableError) {
	x := t.extender(files, true)
	if x.errs != nil {
		return nil, x.errs
	}
	o := &Overlay{Programs: map[string]*Program{}, list: x.layerPrograms}
	for name, p := range x.programs {
		if t.programs[name] != p {
			o.Programs[name] = p
		}
	}
	return o, nil
}

// extender merges the program files of a layer into a table.
type extender struct {
	table         *Table
	person        bool
	programs      map[string]*Program
	groups        map[string]optionList
	layerPrograms []LayerProgram
	file          string
	errs          []*TableError
}

func (t *Table) extender(files map[string][]byte, person bool) *extender {
	x := &extender{table: t, person: person, programs: maps.Clone(t.programs), groups: maps.Clone(t.groups)}
	var read []*layerFile
	if read, x.errs = readLayer(files); x.errs != nil {
		return x
	}
	for _, f := range read {
		x.file = f.name
		for group, list := range f.Groups {
			if x.groups[group] != nil {
				x.err(list.errorf("the group %q is described already", group), "choose another name")
				continue
			}
			x.groups[group] = list
		}
	}
	for _, f := range read {
		x.file = f.name
		for i := range f.Programs {
			x.add(&f.Programs[i])
		}
	}
	for _, f := range read {
		x.file = f.name
		for i := range f.Extend {
			x.extend(&f.Extend[i])
		}
	}
	slices.SortFunc(x.layerPrograms, func(a, b LayerProgram) int {
		return cmp.Or(strings.Compare(a.Program, b.Program), strings.Compare(a.At, b.At))
	})
	return x
}

func (x *extender) fail(line int, fix, format string, args ...any) {
	r := &layerReader{file: x.file}
	r.fail(line, fix, format, args...)
	x.errs = append(x.errs, r.errs...)
}

// err records an error, with its line if it has one.
func (x *extender) err(err error, fix string) {
	line := 0
	if at, ok := errors.AsType[*lineError](err); ok {
		line = at.line
	}
	x.fail(line, fix, "%v", err)
}

func (x *extender) parser() *tableParser { return &tableParser{table: x.table, groups: x.groups} }

func (x *extender) place(e *programEntry) string { return fmt.Sprintf("%s:%d", x.file, e.keyLines[""]) }

// add adds a program that the table does not know.
func (x *extender) add(e *programEntry) {
	if !x.checkSyntax(e, layerName().MatchString, e.Style != "" || e.Dashless) {
		return
	}
	for _, name := range slices.Concat(texts(e.Names), slices.Sorted(maps.Keys(e.Aliases))) {
		if why, fix := x.table.refuseName(name, x.person); why != "" {
			x.fail(lineOfName(e, name), fix, "the name %q %s", name, why)
			return
		}
	}
	if e.Wrapper != nil && e.Wrapper.Transparent && x.person {
		x.fail(e.keyLines["wrapper"], "leave out transparent: then it is a run beside the run of its command",
			"a wrapper that no rule sees is only for org to describe")
		return
	}
	p, err := x.parser().program(e)
	if err == nil {
		err = register(x.programs, p, e)
	}
	if err != nil {
		x.err(err, "")
		return
	}
	p.At = x.place(e)
	x.checkInvariants(p, e)
	for _, name := range e.Names {
		x.layerPrograms = append(x.layerPrograms, LayerProgram{Program: name.text, At: p.At})
	}
}

// checkInvariants checks that a program and its sub-commands keep the invariants of
// the table.
func (x *extender) checkInvariants(p *Program, e *programEntry) {
	for _, wrong := range p.brokenInvariants() {
		x.fail(e.keyLines[""], "", "program %q: %s", strings.Join(texts(e.Names), " "), wrong)
	}
	for i := range e.Sub {
		for _, name := range e.Sub[i].Names {
			if sub := p.exactSub(name.text); sub != nil {
				x.checkInvariants(sub, &e.Sub[i])
			}
		}
	}
}

// exactSub returns the sub-command that is listed under exactly that name.
func (p *Program) exactSub(name string) *Program {
	if head, ok := strings.CutSuffix(name, "*"); ok {
		for i := range p.subHeads {
			if p.subHeads[i].head == head {
				return p.subHeads[i].sub
			}
		}
		return nil
	}
	return p.Subs[name]
}

func lineOfName(e *programEntry, name string) int {
	for _, n := range e.Names {
		if n.text == name {
			return n.line
		}
	}
	return e.keyLines["aliases"]
}

// checkSyntax checks the names and spellings of an entry and of its sub-commands.
// free is set if options need not begin with a dash.
func (x *extender) checkSyntax(e *programEntry, is func(string) bool, free bool) bool {
	before := len(x.errs)
	if len(e.Names) > maxTableNames {
		x.fail(e.keyLines["names"], "", "an entry has more than %d names", maxTableNames)
	}
	if len(e.Names) == 0 {
		x.fail(e.keyLines[""], "write names: [NAME]", "an entry without names")
	}
	for _, n := range e.Names {
		if len(n.text) > maxTableName || !is(n.text) {
			x.fail(n.line, "a program at a path is known by that path alone; a * may stand at the end of a sub-command",
				"%q is no name: letters, digits and . _ + - after the first", n.text)
		}
	}
	for role, list := range e.Options {
		if _, ok := roleNames[role]; !ok {
			x.fail(e.keyLines["options"], "the roles are "+strings.Join(slices.Sorted(maps.Keys(roleNames)), ", "), "unknown role of options %q", role)
		}
		for _, line := range list {
			for _, spelling := range strings.Fields(line.text) {
				bare := strings.TrimRight(strings.TrimSuffix(spelling, "[=]"), "=")
				if !free && !layerFlag().MatchString(bare) {
					x.fail(line.line, `write "-o= --output=" for one with a value`, "%q is no option", spelling)
				}
			}
		}
	}
	for i := range e.Sub {
		x.checkSyntax(&e.Sub[i], layerSub().MatchString, free)
	}
	return len(x.errs) == before
}
