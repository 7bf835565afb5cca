package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

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
	example string // an effect that it decided last
	latest  string // the id of that decision
}

// ruleCounts is the section of rules, the one with the most hits first. No index has rules, so they are
// counted in the newest decisions.
type ruleCounts struct {
	rows[ruleCount]
	counted int // decisions
	total   string
	loading bool
	known   bool
}

// rulesMsg is what was counted.
type rulesMsg struct {
	list    []ruleCount
	counted int
	total   string
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
			note(fmt.Sprintf("%s %s %s %s", rule.Layer, rule.ID, rule.At, e.Verdict), e,
				ruleCount{layer: string(rule.Layer), title: cmp.Or(rule.Title, reason, rule.ID), at: rule.At})
		}
	}
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
		case tally.Agent, tally.Answer, tally.Day, tally.Host, tally.Program, tally.Project, tally.Tool:
		}
	}
	return fmt.Sprintf("%d days: %d, %s; by %s", totalDays, all, strings.Join(verdicts, ", "), strings.Join(by, ", "))
}

func (m *Model) setRules(msg *rulesMsg) {
	s := &m.rules
	s.loading = false
	m.reached(msg.err)
	if msg.err == nil {
		s.known, s.counted, s.total = true, msg.counted, msg.total
		s.set(msg.list)
	}
}

func (s *ruleCounts) title(*Model) string { return "rules" }

func (s *ruleCounts) more() bool { return false }

func (s *ruleCounts) state(*Model) string {
	if !s.known {
		return ""
	}
	return fmt.Sprintf("in the last %d decisions; %s", s.counted, s.total)
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
	return fmt.Sprintf("%6d  %-5s  %-7s  %s", r.hits, r.verdict, r.layer, display.Display(r.title))
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
	return fmt.Sprintf("%s: %s\n%slast %s: %s\ndecision %s\n", r.verdict, display.Display(r.title), at, r.last.Local().Format(time.DateTime), safe(r.example), display.Display(r.latest))
}
