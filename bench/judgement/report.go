package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// report prints the scores for people.
func report(out io.Writer, s *score, most int) {
	t := &table{tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)}
	if s.Bypass != nil {
		t.bypass(s.Bypass)
	}
	if s.Judgement != nil {
		t.judgement(s.Judgement)
	}
	if s.AgentCalls != nil {
		t.calls(s.AgentCalls)
	}
	if s.Peers != nil {
		t.peers(s.Peers)
	}
	if s.Usage != nil {
		t.usage(s.Usage)
	}
	if s.Reasons != nil {
		t.reasons(s.Reasons, most)
	}
	t.Flush()
	if s.AgentCalls != nil {
		causesOf(out, s.AgentCalls, most)
	}
}

type table struct{ *tabwriter.Writer }

// row prints a row, the first cell left-aligned and the others right-aligned.
func (t *table) row(first string, cells ...any) {
	fmt.Fprintf(t, "%-32s", first)
	for _, c := range cells {
		fmt.Fprintf(t, "\t%v", c)
	}
	fmt.Fprint(t, "\t\n")
}

func (t *table) title(first string, cells ...any) {
	t.Flush()
	fmt.Fprintln(t)
	t.row(first, cells...)
}

func (t *table) reasons(s *reasonsScore, most int) {
	t.title("most frequent single reason", "asks", "of", "")
	line := func(name string, r reasonShare) {
		t.row("  "+name, r.Count, r.Asks, percent(r.Count, r.Asks), r.Reason)
	}
	line("all corpora", s.All)
	for _, corpus := range slices.Sorted(maps.Keys(s.ByCorpus)) {
		line(corpus, s.ByCorpus[corpus])
	}
	t.title("reasons of all corpora", "asks", "")
	for _, r := range s.counted[:min(most, len(s.counted))] {
		t.row("  ", r.count, percent(r.count, s.All.Asks), r.reason)
	}
}

func (t *table) bypass(s *bypassScore) {
	t.title("attacks on rules", "unsafe", "of", "")
	for i, c := range []unsafeCount{s.Tier1, s.Tier2, s.Tier3, s.Tier4} {
		t.row(fmt.Sprintf("  tier %d", i+1), c.Unsafe, c.Total, percent(c.Unsafe, c.Total))
	}
	t.row("  benign, asked", s.Benign.Asked, s.Benign.Total, percent(s.Benign.Asked, s.Benign.Total))
	t.row("  rules not translated", s.Untranslated, "", "")
	t.row("  rule lines that permd refuses", s.Refused, "", "")
	for _, class := range slices.Sorted(maps.Keys(s.Classes)) {
		if c := s.Classes[class]; c.Unsafe > 0 {
			t.row("  class "+class, c.Unsafe, c.Total, percent(c.Unsafe, c.Total))
		}
	}
}

func (t *table) judgement(s *labelledScore) {
	t.title("labelled calls", "", "of", "")
	t.row("  unsafe allows", s.Unsafe, s.Total, percent(s.Unsafe, s.Total))
	t.row("  overreach", s.Overreach, s.Total, percent(s.Overreach, s.Total))
	t.row("  noise", s.Noise, s.AllowTotal, percent(s.Noise, s.AllowTotal))
	t.row("  plain deny, denied", s.DenyPlain.Denied, s.DenyPlain.Total, percent(s.DenyPlain.Denied, s.DenyPlain.Total))
	t.row("  obfuscated deny, denied", s.DenyObfuscated.Denied, s.DenyObfuscated.Total, percent(s.DenyObfuscated.Denied, s.DenyObfuscated.Total))
	t.title("wanted, variant", "allow", "ask", "deny")
	for _, label := range []string{"allow", "ask_or_allow", "ask", "ask_or_deny", "deny"} {
		for _, variant := range slices.Sorted(maps.Keys(s.Confusion[label])) {
			c := s.Confusion[label][variant]
			t.row("  "+label+", "+variant, c["allow"], c["ask"], c["deny"])
		}
	}
}

func (t *table) calls(s *callsScore) {
	t.title("calls of agents", "allow", "ask", "deny", "no memory", "", "allow", "ask", "deny", "with memory")
	line := func(name string, m *modes) {
		t.row("  "+name, append(m.Memoryless.cells(), append([]any{""}, m.WithMemory.cells()...)...)...)
	}
	line(fmt.Sprintf("mean of %d repositories", s.Repositories), &modes{s.Memoryless, s.WithMemory})
	if s.Cut != nil {
		line("of these: shortened patches", s.Cut)
	}
	if s.NoCwd != nil {
		line("not in the mean: no folder, in the session's", s.NoCwd)
	}
	if s.Windows != nil {
		line("not in the mean: Windows", s.Windows)
	}
	for i, m := range s.ByRepository {
		line(fmt.Sprintf("repository %d", i+1), m)
	}
	for _, name := range byAsks(s.ByAgent) {
		line("agent "+name, s.ByAgent[name])
	}
	for _, name := range byAsks(s.ByTool) {
		line("tool "+name, s.ByTool[name])
	}
	u := &s.Unknown
	t.title("commands of agents", "", "of", "")
	t.row("  with an unknown program", u.Programs, u.Commands, percent(u.Programs, u.Commands))
	t.row("  with an unknown effect", u.Effects, u.Commands, percent(u.Effects, u.Commands))
	t.row("  that shells read differently", u.notPlain, u.Commands, percent(u.notPlain, u.Commands))
	for _, construct := range slices.Sorted(maps.Keys(u.constructs)) {
		t.row("    "+construct, u.constructs[construct], u.Commands, percent(u.constructs[construct], u.Commands))
	}
}

func (r *rates) cells() []any {
	return []any{r.Allow, r.Ask, r.Deny, fmt.Sprintf("%.1f %%", 100*r.PromptRate)}
}

// byAsks returns the keys, those with most questions first.
func byAsks(m map[string]*modes) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		if d := m[b].Memoryless.Ask - m[a].Memoryless.Ask; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

func (t *table) peers(peers map[string]*peerScore) {
	t.title("agreement with other systems", "agree", "of", "", "untranslated")
	for _, name := range slices.Sorted(maps.Keys(peers)) {
		p := peers[name]
		t.row("  "+name, p.Agree, p.Total, percent(p.Agree, p.Total), p.Untranslated)
	}
}

func (t *table) usage(s *usageScore) {
	t.title("documented examples", "", "of", "")
	t.row("  answered without error", s.Answered, s.Total, percent(s.Answered, s.Total))
	t.row("  with something unknown", s.Unknown, s.Total, percent(s.Unknown, s.Total))
	for _, v := range []string{"allow", "ask", "deny"} {
		t.row("  answered "+v, s.Verdicts[v], s.Total, percent(s.Verdicts[v], s.Total))
	}
}

func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

// causesOf prints the most frequent reasons of questions, and what is unknown.
func causesOf(out io.Writer, s *callsScore, most int) {
	for mode, name := range []string{"without memory", "with memory"} {
		fmt.Fprintf(out, "\nmost frequent reasons of questions, %s (share of all calls, weighted by repository; share of calls asked for this reason only; calls)\n", name)
		list(out, s.asked[mode], most, true)
	}
	fmt.Fprint(out, "\nunknown programs (share of all calls, calls)\n")
	list(out, s.Unknown.programs, most, false)
	fmt.Fprint(out, "\nother unknown effects (share of all calls, calls)\n")
	list(out, s.Unknown.why, most, false)
}

func list(out io.Writer, causes []cause, most int, alone bool) {
	for _, c := range causes[:min(most, len(causes))] {
		line := fmt.Sprintf("  %5.2f %%", 100*c.weight)
		if alone {
			line += fmt.Sprintf("  %5.2f %%", 100*c.alone)
		}
		line += fmt.Sprintf("  %4d  %s", c.calls, c.kind)
		for _, part := range []string{c.what, c.reason} {
			if part != "" {
				line += ": " + part
			}
		}
		if c.rule != "" {
			line += " (" + c.rule + ")"
		}
		fmt.Fprintln(out, line)
	}
}
