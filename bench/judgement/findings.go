package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/permd/permd/decisions"
)

// finding is one measured row, with the classes that it belongs to.
type finding struct {
	classes []string // words joined by dots, from general to specific
	order   int      // its number in the corpus
	id      string
	call    string
	expects string
	verdict decisions.Verdict
	reason  string
	plain   string   // the reason without what it takes from the call
	effects []string // each with its verdict
}

// findings are the rows that -failures can print.
type findings struct {
	mu   sync.Mutex
	list []finding
}

// add notes a row with its classes. Empty names of classes are dropped, and a row
// without a class is not noted.
func (f *findings) add(x finding, o result) {
	x.classes = slices.DeleteFunc(x.classes, func(c string) bool { return c == "" })
	if len(x.classes) == 0 {
		return
	}
	if o.Decision != nil {
		x.verdict, x.reason, x.plain = o.Verdict, o.Reason, o.plainReason()
		for _, e := range o.Effects {
			line := fmt.Sprintf("%-5s %s %s", e.Verdict, e.Kind, e.Text)
			if len(e.Tags) > 0 {
				line += " [" + strings.Join(e.Tags, " ") + "]"
			}
			line += fmt.Sprintf(": %s (row %d", e.Reason, e.Row)
			for _, r := range e.Rules {
				line += ", " + r.ID
			}
			x.effects = append(x.effects, line+")")
		}
		for _, w := range o.Widths {
			x.effects = append(x.effects, "offers "+w.Rule)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, x)
}

// in reports whether a row belongs to a class or one below it.
func (x *finding) in(class string) bool {
	return slices.ContainsFunc(x.classes, func(c string) bool {
		return c == class || strings.HasPrefix(c, class+".")
	})
}

// print prints the rows of a class.
func (f *findings) print(out io.Writer, class string) error {
	rows := slices.DeleteFunc(slices.Clone(f.list), func(x finding) bool { return !x.in(class) })
	if len(rows) == 0 && !f.has(class) {
		fmt.Fprintf(out, "no row has the class %q; -failures list prints the classes\n", class)
		return nil
	}
	slices.SortStableFunc(rows, func(a, b finding) int {
		if c := strings.Compare(a.classes[0], b.classes[0]); c != 0 {
			return c
		}
		return a.order - b.order
	})
	for _, x := range rows {
		fmt.Fprintf(out, "%s  %s\n  %s\n  %s -> %s: %s\n", x.id, strings.Join(x.classes, " "), x.call, x.expects, x.verdict, x.reason)
		for _, e := range x.effects {
			fmt.Fprintf(out, "    %s\n", e)
		}
	}
	if len(rows) == 1 {
		fmt.Fprintln(out, "1 row")
	} else {
		fmt.Fprintf(out, "%d rows\n", len(rows))
	}
	return nil
}

func (f *findings) has(class string) bool {
	return slices.ContainsFunc(f.list, func(x finding) bool { return x.in(class) })
}

// classes prints the classes with their numbers of rows.
func (f *findings) classes(out io.Writer) {
	count := map[string]int{}
	for _, x := range f.list {
		seen := map[string]bool{}
		for _, c := range x.classes {
			for ; c != ""; c = c[:max(strings.LastIndexByte(c, '.'), 0)] {
				seen[c] = true
			}
		}
		for c := range seen {
			count[c]++
		}
	}
	for _, c := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(out, "%6d  %s\n", count[c], c)
	}
}
