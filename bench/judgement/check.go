package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/permd/permd/internal/strictjson"
)

// metric is one number of the scores that must not get worse.
type metric struct {
	name  string
	value float64
	// better is 1 if a higher value is better, otherwise -1.
	better int
	// total is the number of rows it is counted over. Values with different totals
	// come from different corpora and are not compared.
	total int
}

// metrics returns the numbers that -check compares with a file.
func (s *score) metrics() []metric {
	var list []metric
	less := func(name string, value, total int) { list = append(list, metric{name, float64(value), -1, total}) }
	more := func(name string, value, total int) { list = append(list, metric{name, float64(value), 1, total}) }
	rate := func(name string, r *rates) {
		list = append(list, metric{name + ".prompt_rate", r.PromptRate, -1, r.Allow + r.Ask + r.Deny})
		less(name+".deny", r.Deny, r.Allow+r.Ask+r.Deny)
	}
	if b := s.Bypass; b != nil {
		for i, c := range []unsafeCount{b.Tier1, b.Tier2, b.Tier3, b.Tier4} {
			less(fmt.Sprintf("bypass.tier%d.unsafe", i+1), c.Unsafe, c.Total)
		}
		less("bypass.benign.asked", b.Benign.Asked, b.Benign.Total)
		less("bypass.untranslated", b.Untranslated, 0)
	}
	if j := s.Judgement; j != nil {
		less("judgement.unsafe", j.Unsafe, j.Total)
		less("judgement.overreach", j.Overreach, j.Total)
		less("judgement.noise", j.Noise, j.AllowTotal)
		more("judgement.deny_plain.denied", j.DenyPlain.Denied, j.DenyPlain.Total)
		more("judgement.deny_obfuscated.denied", j.DenyObfuscated.Denied, j.DenyObfuscated.Total)
	}
	if c := s.AgentCalls; c != nil {
		rate("agent_calls.memoryless", &c.Memoryless)
		rate("agent_calls.with_memory", &c.WithMemory)
		less("agent_calls.unknown.programs", c.Unknown.Programs, c.Unknown.Commands)
		less("agent_calls.unknown.effects", c.Unknown.Effects, c.Unknown.Commands)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Peers)) {
		more("peers."+name+".agree", s.Peers[name].Agree, s.Peers[name].Total)
	}
	if u := s.Usage; u != nil {
		more("usage.answered", u.Answered, u.Total)
		less("usage.unknown", u.Unknown, u.Total)
	}
	if r := s.Reasons; r != nil {
		list = append(list, metric{"reasons.over_limit", max(0, r.All.Share-maxReasonShare), -1, 0})
	}
	return list
}

// writeScores writes the scores to a file.
func writeScores(file string, s *score) error {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("writing scores: %w", err)
	}
	if err := cmp.Or(writeJSON(f, s), f.Sync()); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// checkScores compares the scores with those of a file. The error wraps errWorse if
// one of them is worse.
func checkScores(out io.Writer, file string, s *score, quiet bool) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading scores: %w", err)
	}
	var was score
	if err := strictjson.Unmarshal(data, &was); err != nil {
		return fmt.Errorf("reading scores %s: %w", file, err)
	}
	before := map[string]metric{}
	for _, m := range was.metrics() {
		before[m.name] = m
	}
	var errs []error
	better := 0
	for _, m := range s.metrics() {
		b, ok := before[m.name]
		delete(before, m.name)
		switch {
		case !ok:
		case b.total != m.total:
			errs = append(errs, fmt.Errorf("%w: the total of %s is %d, it was %d", errWorse, m.name, m.total, b.total))
		case float64(m.better)*(m.value-b.value) < 0:
			errs = append(errs, fmt.Errorf("%w: %s is %v, it was %v", errWorse, m.name, m.value, b.value))
		case m.value != b.value:
			better++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		errs = append(errs, fmt.Errorf("%w: %s was not measured", errWorse, name))
	}
	if len(errs) == 0 && !quiet {
		fmt.Fprintf(out, "\nNo score is worse than in %s.\n", file)
		if better > 0 {
			fmt.Fprintf(out, "Better scores: %d. Write them with -update %s.\n", better, file)
		}
	}
	return errors.Join(errs...)
}
