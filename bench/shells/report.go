//go:build linux

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// counts are the numbers of texts of one family.
type counts struct {
	Made    int `json:"made"`
	Plain   int `json:"plain"` // read the same way by all shells of the call
	Allowed int `json:"allowed"`
	Run     int `json:"run"`
	Traced  int `json:"traced"`
}

// summary counts what was tried and what it did.
type summary struct {
	Made     int                `json:"made"`
	Plain    int                `json:"plain"`
	Allowed  int                `json:"allowed"`
	Again    int                `json:"again"` // allowed, and run before
	Run      int                `json:"run"`
	Traced   int                `json:"traced"`
	Families map[string]*counts `json:"families"`
	Shells   map[string]int     `json:"shells"`   // starts of each shell
	Programs int                `json:"programs"` // programs that ran
	Written  int                `json:"written"`  // files that changed
	Opened   int                `json:"opened"`   // files that were opened under strace
	Silent   int                `json:"silent"`   // texts that ran no program and changed no file in any shell
	Late     int                `json:"late"`     // shells that were killed because they did not end

	Asked map[string]int `json:"asked"` // why plain texts were not allowed

	start time.Time
}

func newSummary() summary {
	return summary{Families: map[string]*counts{}, Shells: map[string]int{}, Asked: map[string]int{}, start: time.Now()}
}

func (s *summary) of(t *trial) *counts {
	if s.Families[t.family] == nil {
		s.Families[t.family] = &counts{}
	}
	return s.Families[t.family]
}

func (s *summary) made(t *trial, v *verdict) {
	s.Made++
	s.of(t).Made++
	if t.plain() {
		s.Plain++
		s.of(t).Plain++
	}
	if v.allowed {
		s.Allowed++
		s.of(t).Allowed++
	} else if strings.HasPrefix(t.family, "plain") {
		s.Asked[v.why()]++
	}
}

func (s *summary) ran(t *trial, seen []*observed) {
	if t.strace {
		s.Traced++
		s.of(t).Traced++
	} else {
		s.Run++
		s.of(t).Run++
	}
	silent := true
	for _, o := range seen {
		s.Shells[o.shell]++
		s.Programs += len(o.ran)
		s.Written += len(o.changed)
		if o.traced != nil {
			s.Opened += len(o.traced.opened)
			s.Programs += len(o.traced.executed)
			silent = silent && len(o.traced.opened)+len(o.traced.executed) == 0
		}
		if o.late {
			s.Late++
		}
		silent = silent && len(o.ran)+len(o.changed) == 0
	}
	if silent {
		s.Silent++
	}
}

// finding is a text that did something that is no effect of its decision.
type finding struct {
	Seed        uint64   `json:"seed"`
	Number      uint64   `json:"number"`
	Text        string   `json:"text"`
	Small       string   `json:"small"`
	Times       int      `json:"times"`
	Agent       string   `json:"agent"`
	Tree        string   `json:"tree"`
	Rules       string   `json:"rules"`
	Strace      bool     `json:"strace"`
	Family      string   `json:"family"`
	Differences []string `json:"differences"`
	Decision    []string `json:"decision"`

	trial *trial
	class string
}

// set notes a text with its decision and its differences.
func (f *finding) set(t *trial, v *verdict, diffs []difference) {
	f.Small, f.Agent, f.Tree, f.Rules, f.Family, f.Strace = t.text, t.agent.name, trees[t.tree].name, persons[t.person].name, t.family, t.strace
	f.Decision, f.Differences = v.shown(), nil
	for _, d := range diffs {
		f.Differences = append(f.Differences, d.shell+": "+d.kind+": "+d.what)
	}
}

// progress prints how far the run is.
func (h *hunter) progress() {
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Fprintf(os.Stderr, "shells: %s: %d texts, %d allowed, %d run, %d run under strace, %s\n",
		time.Since(h.sum.start).Round(time.Second), h.sum.Made, h.sum.Allowed, h.sum.Run, h.sum.Traced, differences(len(h.found)))
}

// report prints every difference, and what was tried.
func (h *hunter) report(out io.Writer) error {
	if h.o.asJSON {
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		if err := e.Encode(&h.sum); err != nil {
			return err
		}
		for _, f := range h.found {
			if err := e.Encode(f); err != nil {
				return err
			}
		}
		return nil
	}
	for _, f := range h.found {
		fmt.Fprintf(out, "\n== seed %d, text %d, family %s, agent %q, rules %q, tree %q, strace %v, found %d times\n%s\n", f.Seed, f.Number, f.Family, f.Agent, f.Rules, f.Tree, f.Strace, f.Times, f.Small)
		if f.Small != f.Text {
			fmt.Fprintf(out, "-- minimised from\n%s\n", f.Text)
		}
		fmt.Fprintf(out, "-- effects of the decision\n%s\n-- did in addition\n%s\n", strings.Join(f.Decision, "\n"), strings.Join(f.Differences, "\n"))
	}
	s := &h.sum
	fmt.Fprintf(out, "\nseed %d, %s: made %d texts, of these %d plain and %d allowed\n%d run with stubs, %d run under strace, %d not run again (same text), %d without any program or change, %d shells killed because they did not end\n",
		h.o.seed, time.Since(s.start).Round(time.Second), s.Made, s.Plain, s.Allowed, s.Run, s.Traced, s.Again, s.Silent, s.Late)
	fmt.Fprintf(out, "%d programs started, %d files changed, %d files opened (seen under strace only)\n\n", s.Programs, s.Written, s.Opened)
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "family\tmade\tplain\tallowed\trun with stubs\trun under strace")
	for _, name := range slices.Sorted(maps.Keys(s.Families)) {
		c := s.Families[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\n", name, c.Made, c.Plain, c.Allowed, c.Run, c.Traced)
	}
	fmt.Fprintln(w, "\nshell\tstarts")
	for _, name := range slices.Sorted(maps.Keys(s.Shells)) {
		fmt.Fprintf(w, "%s\t%d\n", name, s.Shells[name])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	reasons := slices.SortedFunc(maps.Keys(s.Asked), func(a, b string) int { return cmp.Or(s.Asked[b]-s.Asked[a], strings.Compare(a, b)) })
	fmt.Fprintln(out, "\nmost frequent reasons why texts of the plain families were not allowed:")
	for _, why := range reasons[:min(len(reasons), h.o.asked)] {
		fmt.Fprintf(out, "%7d  %s\n", s.Asked[why], why)
	}
	if s.Run < h.o.allowed || s.Traced < h.o.traced {
		fmt.Fprintln(out, "\nfewer texts were run than asked for: the time or the number of differences was reached")
	}
	fmt.Fprintf(out, "\n%s\n", differences(len(h.found)))
	return nil
}

// differences returns a number of differences in words.
func differences(n int) string {
	if n == 1 {
		return "1 difference"
	}
	return fmt.Sprintf("%d differences", n)
}

// print prints what a text did in one shell.
func (o *observed) print(out io.Writer) {
	fmt.Fprintf(out, "%s:\n", o.shell)
	for i := range o.ran {
		r := &o.ran[i]
		fmt.Fprintf(out, "  ran %s %q in %s with %s", r.name(), r.args, r.cwd, r.stdin)
		if r.text != "" {
			fmt.Fprintf(out, " %q", r.text)
		}
		fmt.Fprintln(out)
	}
	for _, c := range o.changed {
		did := "changed"
		if c.deleted {
			did = "deleted"
		}
		fmt.Fprintf(out, "  %s %s\n", did, c.path)
	}
	for _, p := range o.leaked {
		fmt.Fprintf(out, "  leaked %s\n", p)
	}
	if o.traced != nil {
		o.traced.print(out)
	}
	if o.late {
		fmt.Fprintln(out, "  did not end by itself")
	}
}
