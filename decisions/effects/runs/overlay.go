package runs

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/programs"
)

// applyOverlay adds the overlay's effects for a program that the table knows: its words
// are read again with the overlay's entry, and the effects of both count. The names of
// the sub-command and of options remain the table's, since rules can require their
// presence or absence.
func (v *invocation) applyOverlay(p *programs.Program) {
	b := v.b
	if b.inOverlay {
		return // the overlay is not applied within itself: nested wrappers would double the work at each level
	}
	b.inOverlay = true
	defer func() { b.inOverlay = false }()
	run, found := v.interpretWith(p)
	v.run.Readonly, v.run.Table = v.run.Readonly && run.Readonly, p.At
	v.run.OwnData = v.run.OwnData && run.OwnData
	if v.run.Reformats && !run.Reformats {
		v.onlyChanges()
	}
	v.harms.add(found)
}

// applyUserProgram adds the overlay's effects for a program that no other layer
// describes to those of an unknown program. That the program is known, read-only or
// harmless is only the person's statement: rules of the organisation see the run
// without it.
func (v *invocation) applyUserProgram(p *programs.Program) {
	plain := *v.run
	plain.Args = slices.Clone(v.run.Args)
	v.harms.store(&plain)
	run, found := v.interpretWith(p)
	r := v.run
	if r.Table = p.At; !v.b.Table.TrustOverlay {
		return
	}
	r.WithoutOverlay = &plain
	r.Known, r.Readonly, r.Subcommand, r.Flags = true, run.Readonly, run.Subcommand, run.Flags
	r.Operands, r.Does = run.Operands, display.Display(run.Does)
	r.Cwd, r.Script = run.Cwd, run.Script
	v.harms = found
}

// interpretWith reads the run's words with another entry than the table's. It adds the
// effects that are new, and returns the other properties of the run.
//
// It does not change later paths: if the run moved, links or created something
// according to the overlay, known paths would become unknown or the reverse, and thus
// an organisation's deny a question, or a question nothing.
func (v *invocation) interpretWith(p *programs.Program) (run effects.Run, found harms) {
	b := v.b
	first, text, before, paths := len(b.Effects), b.Effects[v.index].Text, *b, *b.Paths
	run = effects.Run{
		Program: v.run.Program, Executable: v.run.Executable, Args: v.run.Args, Stdin: v.run.Stdin, StdinText: v.run.StdinText, Cwd: v.at.Cwd,
	}
	w := invocation{b: b, at: v.at, index: v.index, run: &run, args: v.args}
	w.listedProgram(p)
	if p.Wrapper != nil && !p.Wrapper.Elsewhere {
		w.overlayCommand(p)
	}
	b.Rearranged, b.FinalFolders, b.Statements, b.Braces, b.Nothing = before.Rearranged, before.FinalFolders, before.Statements, before.Braces, before.Nothing
	b.Paths.Disturbed, b.Paths.Unknown, b.Paths.Made, b.Paths.Matched = paths.Disturbed, paths.Unknown, paths.Made, paths.Matched
	b.Paths.Bases = b.Paths.Bases[:0]
	b.Effects[v.index].Text = text
	b.DropDuplicates(v.index, first)
	for i := first; i < len(b.Effects); i++ {
		b.Effects[i].FromOverlay = true
	}
	return run, w.harms
}

// overlayCommand adds the command in a wrapper's operands, as wrapped does for wrappers of the
// table.
func (v *invocation) overlayCommand(p *programs.Program) {
	start, _ := v.b.Table.Wrapped(p, v.args)
	if start >= len(v.args) {
		return
	}
	v.markHarmful(start)
	at := v.at
	at.via = &effects.Via{Effect: v.index, Arg: start}
	if p.Wrapper.Appends {
		v.unknown(start, "arguments that are read while it runs")
		at.Stdin, at.Text = effects.StdinNone, ""
	}
	if at.wrappers++; at.wrappers > maxWrappers {
		v.unknown(start, effects.TooManyWithin)
		if inner := v.args[start:]; !inner[0].Dynamic() && !inner[0].Glob {
			v.b.deferWrapped(inner, at)
		}
		return
	}
	inner := v.args[start:]
	if inner[0].Dynamic() || inner[0].Glob {
		v.unknown(start, "a program whose name is not known before it runs: "+display.Display(display.ShowWord(&inner[0])))
		return
	}
	v.b.Command(inner, at)
}
