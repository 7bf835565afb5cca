package programs

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// secretPrinter is a line of prints_secrets: runs that print secrets although they read no
// secret file, so that a pipe passes one on.
type secretPrinter struct {
	programs []string
	words    [][]string // in order, each with its alternatives
	options  [][]string
	not      bool // an exception from another line
}

func (p *tableParser) prints(lines []textNode) error {
	for _, line := range lines {
		text, not := strings.CutPrefix(line.text, "!")
		words := strings.Fields(text)
		if len(words) == 0 {
			return line.errorf("a line without a program")
		}
		at := secretPrinter{programs: strings.Split(words[0], "|"), not: not}
		for _, w := range words[1:] {
			if list := strings.Split(w, "|"); strings.HasPrefix(w, "-") {
				at.options = append(at.options, list)
			} else {
				for i := range list {
					list[i] = strings.ToLower(list[i])
				}
				at.words = append(at.words, list)
			}
		}
		if not && len(at.options) > 0 {
			return line.errorf("a line that takes back has no options: %q", line.text)
		}
		p.table.printers = append(p.table.printers, at)
	}
	return nil
}

// indexPrinters indexes the lines by program name; lines with a pattern for a name
// are checked for each run.
func (t *Table) indexPrinters() {
	t.printersOf = map[string][]int{}
	for i := range t.printers {
		for _, name := range t.printers[i].programs {
			if strings.Contains(name, "*") {
				t.printersOfAny = append(t.printersOfAny, i)
			} else {
				t.printersOf[name] = append(t.printersOf[name], i)
			}
		}
	}
}

// PrintsSecrets reports whether a run prints secrets to its standard output.
func (t *Table) PrintsSecrets(r *effects.Run) bool {
	own := t.printersOf[r.Program]
	for _, i := range t.printersOfAny {
		if slices.ContainsFunc(t.printers[i].programs, func(name string) bool { return lexpath.Star(name, r.Program) }) {
			own = append(slices.Clip(own), i)
		}
	}
	prints := false
	for _, i := range own {
		p := &t.printers[i]
		if prints && !p.not {
			continue
		}
		switch {
		case !p.not:
			prints = p.matches(r)
		case p.all(r):
			return false
		}
	}
	return prints
}

// matches reports whether the run has these words in this order, with any others
// between them, and each of these options, in any spelling.
func (p *secretPrinter) matches(r *effects.Run) bool {
	n := 0
	for _, arg := range r.Args {
		if n < len(p.words) && oneOf(p.words[n], strings.ToLower(arg)) {
			n++
		}
	}
	if n < len(p.words) {
		return false
	}
	for _, names := range p.options {
		given := func(arg string) bool { return oneOf(names, arg) }
		if !slices.ContainsFunc(r.Args, given) && !slices.ContainsFunc(r.Flags, given) {
			return false
		}
	}
	return true
}

// all reports whether each word of the run is one of the first list.
func (p *secretPrinter) all(r *effects.Run) bool {
	for _, arg := range r.Args {
		if len(p.words) == 0 || !oneOf(p.words[0], strings.ToLower(arg)) {
			return false
		}
	}
	return len(r.Args) > 0
}

func oneOf(patterns []string, word string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return lexpath.Star(p, word) })
}
