package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/rulecost"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/tally"
	"github.com/permd/permd/socket/admin"
)

// ruleCount is a rule, and how many effects it has decided.
type ruleCount struct {
	key     string
	verdict decisions.Verdict
	layer   string
	title   string
	at      string
	hits    int
	last    time.Time
	example string         // an effect that it decided last
	latest  string         // the id of that decision, "" if it has decided none
	cost    *rulecost.Rule // nil if it is not known, or is little
}

// ruleCounts is the section of rules, the one with the most hits first. No index has rules, so they are
// counted in the newest decisions.
type ruleCounts struct {
	rows[ruleCount]
	counted int // decisions
	total   string
	costs   string // what is known of them, in words
	loading bool
	known   bool
}

// rulesMsg is what was counted.
type rulesMsg struct {
	list    []ruleCount
	counted int
	total   string
	costs   string
	err     error
}

// countedDecisions is in how many decisions rules are counted, and totalDays how far back verdicts
// are.
const (
	countedDecisions = 2000
	totalDays        = 30
)

func (m *Model) count() tea.Cmd {
	if m.rules.loading {
		return nil
	}
	m.rules.loading = true
	d, since := m.daemon, m.now().AddDate(0, 0, -totalDays)
	return func() tea.Msg {
		var msg rulesMsg
		byKey := map[string]*ruleCount{}
		var f decisions.RecordFilter
		f.Limit = admin.MaxList
		for msg.counted < countedDecisions {
			var got admin.Records
			if msg.err = d.Call(admin.MethodList, f, &got); msg.err != nil {
				return msg
			}
			for _, r := range slices.Backward(got.Records) {
				if r != nil {
					countRules(byKey, r)
					msg.counted++
				}
			}
			if f.Before = got.Next; f.Before == 0 || len(got.Records) == 0 {
				break
			}
		}
		var costs rulecost.State
		if err := d.Call(rulecost.Method, struct{}{}, &costs); err == nil { // an earlier daemon has no such method
			msg.costs = addCosts(byKey, &costs)
		}
		for _, c := range byKey {
			msg.list = append(msg.list, *c)
		}
		slices.SortFunc(msg.list, func(a, b ruleCount) int { return cmp.Or(b.hits-a.hits, strings.Compare(a.key, b.key)) })
		var t admin.Tallies
		if err := d.Call(admin.MethodTally, admin.Tally{Selected: decisions.RecordFilter{Since: since}, By: []tally.By{tally.Verdict, tally.DecidedBy}}, &t); err == nil {
			msg.total = totals(&t)
		}
		return msg
	}
}

// countRules counts the rules of a decision, the newest decision first.
func countRules(byKey map[string]*ruleCount, r *record) {
	note := func(key string, e *decisions.EffectDecision, made ruleCount) {
		c := byKey[key]
		if c == nil {
			made.key, made.verdict, made.last, made.example, made.latest = key, e.Verdict, r.Time, e.Text, r.Decision.ID
			c = &made
			byKey[key] = c
		}
		c.hits++
	}
	for i := range r.Decision.Effects {
		e := &r.Decision.Effects[i]
		switch {
		case e.ChoiceID != "":
			note("choice "+e.ChoiceID, e, ruleCount{layer: "memory", title: cmp.Or(e.Reason, "remembered") + " (" + e.ChoiceID + ")"})
		case len(e.Rules) == 0:
			note(fmt.Sprintf("row %d %s", e.Row, e.Verdict), e, ruleCount{layer: "-", title: "no rule: " + e.Reason})
		}
		for _, rule := range e.Rules {
			reason := ""
			if len(e.Rules) == 1 && e.ChoiceID == "" {
				reason = e.Reason // it is that of the rule
			}
			note(ruleKey(rule.Layer, rule.ID, rule.At, e.Verdict), e,
				ruleCount{layer: string(rule.Layer), title: cmp.Or(rule.Title, reason, rule.ID), at: rule.At})
		}
	}
}

// leastShare is of how much of the time of all rules one must take that has decided nothing, to be
// shown.
const leastShare = 0.01

// addCosts adds what the rules take, and those that take much and have decided nothing. It returns
// which is the slowest, in words.
func addCosts(byKey map[string]*ruleCount, costs *rulecost.State) string {
	switch {
	case costs.Report == nil && costs.Running:
		return "; the slowest rule is being measured, r reads again"
	case costs.Report == nil || costs.Report.TookNS == 0:
		return ""
	}
	for _, one := range costs.Report.Rules {
		seen := false
		for _, verdict := range []decisions.Verdict{decisions.Allow, decisions.Ask, decisions.Deny} {
			if c := byKey[ruleKey(one.Layer, one.ID, one.At, verdict)]; c != nil {
				c.cost, seen = one, true
			}
		}
		if !seen && (one.Share >= leastShare || one.Cut > 0) {
			key := ruleKey(one.Layer, one.ID, one.At, decisions.Verdict(one.Set))
			byKey[key] = &ruleCount{key: key, verdict: decisions.Verdict(one.Set), layer: string(one.Layer), title: one.Name(), at: one.At, cost: one}
		}
	}
	first := costs.Report.Rules[0]
	return fmt.Sprintf("; slowest rule: %s %%, %s", first.Percent(), display.Display(first.Name()))
}

// ruleKey is the key of a rule that has decided so.
func ruleKey(layer decisions.Layer, id, at string, v decisions.Verdict) string {
	return fmt.Sprintf("%s %s %s %s", layer, id, at, v)
}

// totals says what all decisions of a time were.
func totals(t *admin.Tallies) string {
	var all int64
	var verdicts, by []string
	for i := range t.Groups {
		g := &t.Groups[i]
		switch g.By {
		case tally.Verdict:
			all += g.All()
			verdicts = append(verdicts, fmt.Sprintf("%s %d", g.Name, g.All()))
		case tally.DecidedBy:
			by = append(by, fmt.Sprintf("%s %d", g.Name, g.All()))
		case tally.Act, tally.Agent, tally.Answer, tally.Day, tally.Host, tally.Program, tally.Project, tally.Tool:
		}
	}
	return fmt.Sprintf("%d days: %d, %s; by %s", totalDays, all, strings.Join(verdicts, ", "), strings.Join(by, ", "))
}

func (m *Model) setRules(msg *rulesMsg) {
	s := &m.rules
	s.loading = false
	m.reached(msg.err)
	if msg.err == nil {
		s.known, s.counted, s.total, s.costs = true, msg.counted, msg.total, msg.costs
		s.set(msg.list)
	}
}

func (s *ruleCounts) title(*Model) string { return "rules" }

func (s *ruleCounts) more() bool { return false }

func (s *ruleCounts) state(*Model) string {
	if !s.known {
		return ""
	}
	return fmt.Sprintf("in the last %d decisions; %s%s", s.counted, s.total, s.costs)
}

func (s *ruleCounts) empty() string {
	if !s.known {
		return "counting"
	}
	return "no rule has decided anything"
}

func (s *ruleCounts) filter(words []string) {
	s.match = matching(words, func(r *ruleCount) string { return r.line() + " " + r.at })
	s.choose()
}

func (r *ruleCount) line() string {
	share := ""
	if r.cost != nil && r.cost.Percent() != "" {
		share = r.cost.Percent() + " %"
	}
	return fmt.Sprintf("%6d  %7s  %-5s  %-7s  %s", r.hits, share, r.verdict, r.layer, display.Display(r.title))
}

func (s *ruleCounts) line(_ *Model, place int) (text, as string) {
	r := &s.all[s.shown[place]]
	return r.line(), string(r.verdict)
}

func (s *ruleCounts) details(*Model) string {
	r := s.row()
	if r == nil {
		return ""
	}
	at := ""
	if r.at != "" {
		at = "at " + display.Display(r.at) + "\n"
	}
	last := "it has decided none of them\n"
	if r.latest != "" {
		last = fmt.Sprintf("last %s: %s\ndecision %s\n", r.last.Local().Format(time.DateTime), safe(r.example), display.Display(r.latest))
	}
	return fmt.Sprintf("%s: %s\n%s%s%s", r.verdict, display.Display(r.title), at, last, r.costs())
}

// costs says what the rule takes.
func (r *ruleCount) costs() string {
	c := r.cost
	if c == nil || c.Percent() == "" {
		return ""
	}
	text := fmt.Sprintf("it takes %s %% of the time of all rules; on past calls half of them %v, 99 of 100 %v; it matched %s\n",
		c.Percent(), time.Duration(c.P50NS), time.Duration(c.P99NS), cli.Plural(c.Matched, "call"))
	if c.Why != "" {
		text += "it did not end by itself: " + display.Display(c.Why) + "\n"
	}
	return text
}
