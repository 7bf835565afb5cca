package programs

import (
	"maps"
	"slices"
	"strings"
)

// The queries that checks of rules use: whether a rule can ever match. What a program runs
// of what it is given is in runners.go.

// Knows reports whether a program is in the table.
func (t *Table) Knows(program string) bool { return t.entryOf(program) != nil }

// entryOf returns the table's entry of a program, or the overlay's if the table has
// none.
func (t *Table) entryOf(program string) *Program {
	if p := t.programs[program]; p != nil || !t.TrustOverlay {
		return p
	}
	return t.OverlayProgram(program)
}

// Names returns the names of all programs of the table, sorted.
func (t *Table) Names() []string {
	names := slices.Collect(maps.Keys(t.programs))
	if t.overlay != nil && t.TrustOverlay {
		names = slices.AppendSeq(names, maps.Keys(t.overlay.Programs))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Transparent reports whether a program only runs another one (timeout, nice) and
// is therefore no run of its own.
func (t *Table) Transparent(program string) bool {
	p := t.programs[program]
	return p != nil && p.Wrapper != nil && p.Wrapper.Transparent
}

// HasSubcommands reports whether the first operand of a program is a
// sub-command.
func (t *Table) HasSubcommands(program string) bool {
	p := t.entryOf(program)
	return p != nil && len(p.Subs) > 0 && !p.SubOptional
}

// Flag returns the name that an option has in Run.Flags, with the sub-command's
// words joined by a space; ok is false if the table does not know the option.
func (t *Table) Flag(program, subcommand, option string) (name string, ok bool) {
	p := t.entryOf(program)
	for p != nil {
		// The option of the innermost command wins.
		if o := p.Options[option]; o != nil {
			name, ok = o.Canonical, true
		}
		word, rest, _ := strings.Cut(subcommand, " ")
		if word == "" {
			break
		}
		p, subcommand = p.Subs[word], rest
	}
	return name, ok
}
