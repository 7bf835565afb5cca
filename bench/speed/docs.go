package main

import (
	"fmt"
	"os"
	"strings"
)

// The page with the results. The tables are between these marks, and pictures next to it.
const (
	docsFile   = "docs/performance.md"
	docsGrowth = "<!-- written by go run ./bench/speed -growth -write -->\n"
	docsProxy  = "<!-- written by go run ./bench/speed -proxy -write -->\n"
	docsPairs  = "<!-- written by go run ./bench/speed -against PROGRAM -write -->\n"
	docsSpeed  = "<!-- written by go run ./bench/speed -budgets -write -->\n"
	docsEnd    = "<!-- end -->\n"
	docsPlots  = "docs/performance"
)

// writeDocs writes a text after a mark of the page.
func writeDocs(mark, text string) error {
	data, err := os.ReadFile(docsFile)
	if err != nil {
		return fmt.Errorf("reading the page: %w", err)
	}
	page, err := between(string(data), mark, text)
	if err != nil {
		return fmt.Errorf("%s: %w", docsFile, err)
	}
	return os.WriteFile(docsFile, []byte(page), 0o644)
}

// between returns the page with another text between a mark and the end that follows it.
func between(page, mark, text string) (string, error) {
	before, rest, found := strings.Cut(page, mark)
	_, after, end := strings.Cut(rest, docsEnd)
	if !found || !end {
		return "", fmt.Errorf("there is no %q, or no end after it", mark)
	}
	return before + mark + "\n" + text + "\n" + docsEnd + after, nil
}

// table is a table in Markdown. Only the columns after the first ones hold numbers.
type table struct {
	b strings.Builder
}

func newTable(words int, columns ...string) *table {
	t := new(table)
	t.row(columns...)
	for i := range columns {
		if i < words {
			t.b.WriteString("|---")
		} else {
			t.b.WriteString("|---:")
		}
	}
	t.b.WriteString("|\n")
	return t
}

func (t *table) row(cells ...string) {
	t.b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// number writes a number with as many digits as mean something, nothing for none.
func number(v float64) string {
	switch {
	case v == 0:
		return ""
	case v < 10:
		return fmt.Sprintf("%.2g", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// markdown returns the results as tables.
func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d processors, %s, %s; load %.1f before the run; %d rounds of %.0f ms a turn.\n\n",
		r.Machine.Processors, r.Machine.System, r.Machine.Go, r.Machine.Load, r.Machine.Rounds, r.Machine.TurnMS)
	t := newTable(1, "budget", "figure", "limit", "")
	for _, l := range r.Budgets {
		sign, result := "≤", "**exceeded**"
		if l.AtLeast {
			sign = "≥"
		}
		switch {
		case l.Passed:
			result = "held"
		case !l.Known:
			result = "not measured"
		}
		t.row(l.Name, fmt.Sprintf("%.3g", l.Figure), fmt.Sprintf("%s %g", sign, l.Limit), result)
	}
	b.WriteString(t.b.String() + "\n")

	t = newTable(3, "server", "call", "size", "clients", "p50 µs", "p99 µs", "p99.9 µs", "/s", "CPU µs", "× echo", "× HTTP echo")
	for i := range r.Series {
		s := &r.Series[i]
		t.row(s.Server, callName(s.Kind, s.Repeated), s.Size, fmt.Sprint(s.Clients), number(s.P50), number(s.P99), number(s.P999),
			number(s.PerSecond), number(s.CPU), times(s.ToEcho), times(s.ToHTTP))
	}
	b.WriteString(t.b.String() + "\n")

	t = newTable(1, loggedColumns...)
	for _, row := range r.logged() {
		t.row(row...)
	}
	b.WriteString(t.b.String() + "\n")

	t = newTable(3, "server", "call", "size", "allocations", "bytes")
	for _, a := range r.Allocations {
		t.row(a.Server, callName(a.Kind, a.Repeated), a.Size, number(a.Count), number(a.Bytes))
	}
	b.WriteString(t.b.String() + "\n")

	t = newTable(1, "a whole process", "p50 ms", "p99 ms", "CPU ms")
	for _, p := range r.Programs {
		t.row("`"+p.Name+"`", fmt.Sprintf("%.1f", p.P50), fmt.Sprintf("%.1f", p.P99), fmt.Sprintf("%.1f", p.CPU))
	}
	b.WriteString(t.b.String() + "\n")

	t = newTable(1, "server", "resident MiB", "peak MiB")
	for _, name := range []string{serverPermd, serverPower, serverOff, serverOPA, serverOPALog, serverEcho, serverFloor, serverHTTPEcho} {
		if u, ok := r.Memory[name]; ok {
			t.row(name, number(u.RSS), number(u.Peak))
		}
	}
	b.WriteString(t.b.String())
	for _, m := range r.Missing {
		fmt.Fprintf(&b, "\nMissing: %s.\n", m)
	}
	return b.String()
}

// growthMarkdown returns the curves as a table and pictures.
func growthMarkdown(curves []*curve) string {
	var b strings.Builder
	t := newTable(1, "what grows", "from", "to", "new, µs", "repeated, µs", "MiB", "power (new)", "power (repeated)", "power (memory)")
	for _, c := range curves {
		if len(c.Points) == 0 {
			continue
		}
		first, last := c.Points[0], c.Points[len(c.Points)-1]
		of := func(v func(point) float64) string {
			if v(last) == 0 {
				return ""
			}
			return number(v(first)) + " → " + number(v(last))
		}
		t.row(c.What, fmt.Sprint(first.N), fmt.Sprint(last.N), of(func(p point) float64 { return p.Fresh }), of(func(p point) float64 { return p.Repeated }),
			of(func(p point) float64 { return p.RSS }), fmt.Sprintf("%.2f", c.Fresh), fmt.Sprintf("%.2f", c.Repeated), fmt.Sprintf("%.2f", c.Memory))
	}
	b.WriteString(t.b.String())
	for _, c := range curves {
		if c.Ended != "" {
			fmt.Fprintf(&b, "\nNo more %s: %s.\n", c.What, c.Ended)
		}
	}
	for _, c := range curves {
		fmt.Fprintf(&b, "\n![%s: what requests cost, and the daemon's memory](performance/growth-%s.svg)\n", c.What, c.Name)
	}
	return b.String()
}
