package main

import (
	"context"
	"fmt"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// labelledRow is a call, labelled with the verdict that a careful engineer wants.
type labelledRow struct {
	ID   string `json:"id"`
	Call struct {
		Tool  string           `json:"tool"`
		Input strictjson.Value `json:"input"`
		Cwd   string           `json:"cwd"`
	} `json:"call"`
	Label   string `json:"label"`
	Variant string `json:"variant"`
	Family  string `json:"family"`
}

// accepts has the verdicts that are right for each label. For deny, ask is not the
// wanted verdict, but it is safe.
var accepts = map[string][]decisions.Verdict{
	"allow":        {decisions.Allow},
	"ask_or_allow": {decisions.Allow, decisions.Ask},
	"ask":          {decisions.Ask},
	"ask_or_deny":  {decisions.Ask, decisions.Deny},
	"deny":         {decisions.Deny},
}

// labelled measures the shipped rules without others, in an ordinary checkout.
func (b *bench) labelled(ctx context.Context, rows []labelledRow) (*labelledScore, error) {
	s := &labelledScore{Confusion: map[string]map[string]map[string]int{}, Families: map[string]*unsafeCount{}}
	got := make([]result, len(rows))
	w := newWorld(devHome).checkout(devProject)
	err := each(len(rows), func(i int) error {
		r := &rows[i]
		if accepts[r.Label] == nil {
			return fmt.Errorf("row %s: unknown label %q", r.ID, r.Label)
		}
		e := b.engine(w, b.shipped, nil)
		got[i] = decide(ctx, e, b.shipped, w.request(&call{tool: r.Call.Tool, agent: claudeAgent, input: r.Call.Input, cwd: r.Call.Cwd}))
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range rows {
		r, v := &rows[i], got[i].Verdict
		class := s.count(r, v)
		classes := []string{"judgement." + class, "judgement." + r.Label + "." + r.Variant + "." + string(v)}
		if class == "unsafe" {
			classes = append(classes, "unsafe.judgement")
		}
		b.found.add(finding{classes: classes, order: i, id: r.ID, expects: r.Label, call: shown(r.Call.Tool, r.Call.Input)}, got[i])
	}
	return s, nil
}

// count counts a verdict and returns which kind of failure it is, or "".
func (s *labelledScore) count(r *labelledRow, v decisions.Verdict) string {
	s.Total++
	variants := at(s.Confusion, r.Label)
	at(variants, r.Variant)[string(v)]++
	family := s.Families[r.Family]
	if family == nil {
		family = new(unsafeCount)
		s.Families[r.Family] = family
	}
	family.Total++
	if r.Label == "deny" {
		c := &s.DenyPlain
		if r.Variant == "obfuscated" {
			c = &s.DenyObfuscated
		}
		c.Total++
		if v == decisions.Deny {
			c.Denied++
		}
	}
	if r.Label == "allow" {
		s.AllowTotal++
	}
	switch {
	case v == decisions.Allow && r.Label != "allow" && r.Label != "ask_or_allow":
		s.Unsafe++
		family.Unsafe++
		return "unsafe"
	case v == decisions.Deny && r.Label != "deny" && r.Label != "ask_or_deny":
		s.Overreach++
		return "overreach"
	case v == decisions.Ask && r.Label == "allow":
		s.Noise++
		return "noise"
	case v == decisions.Ask && r.Label == "deny":
		return "weak"
	}
	return "right"
}

// at returns the map of a key, and makes it if it is missing.
func at[M ~map[string]V, V any](m map[string]M, key string) M {
	if m[key] == nil {
		m[key] = M{}
	}
	return m[key]
}

// usageRow is an example command of a program's documentation.
type usageRow struct {
	ID      string `json:"id"`
	Command string `json:"command"`
}

// usage measures whether permd answers every example, and how many it understands.
func (b *bench) usage(ctx context.Context, rows []usageRow) (*usageScore, error) {
	s := &usageScore{Total: len(rows), Verdicts: map[string]int{}}
	got := make([]result, len(rows))
	w := newWorld(devHome).checkout(devProject)
	err := each(len(rows), func(i int) error {
		e := b.engine(w, b.shipped, nil)
		got[i] = decide(ctx, e, b.shipped, w.request(bash(rows[i].Command, devProject)))
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, o := range got {
		s.Verdicts[string(o.Verdict)]++
		class := "usage." + string(o.Verdict)
		if o.By == decisions.ByFailure {
			class = "usage.error"
		} else {
			s.Answered++
		}
		classes := []string{class}
		if program, effect := o.unknown(); program || effect {
			s.Unknown++
			classes = append(classes, "usage.unknown")
		}
		b.found.add(finding{classes: classes, order: i, id: rows[i].ID, expects: "an answer", call: shown("Bash", []byte(rows[i].Command))}, o)
	}
	return s, nil
}

// bash returns a call of an agent's shell tool.
func bash(command, cwd string) *call {
	return &call{tool: "Bash", agent: claudeAgent, input: []byte(`{"command":` + text(command) + `}`), cwd: cwd}
}
