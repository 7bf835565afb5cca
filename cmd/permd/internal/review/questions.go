package review

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/socket/admin"
)

// question is a question on the page.
type question struct {
	admin.Question
	// ended says what became of it, "" while it waits. It stays on the page until the next key.
	ended   string
	sending bool // an answer is on its way
}

// merge takes the list of the daemon over. What is new goes to the end, and what is no longer there stays
// in its place, so that nothing moves under the cursor.
func merge(old []question, list []admin.Question) []question {
	now := map[string]*admin.Question{}
	for i := range list {
		now[list[i].DecisionID] = &list[i]
	}
	out := slices.Clone(old)
	for i := range out {
		q := &out[i]
		if n := now[q.DecisionID]; n != nil {
			q.Question, q.ended = *n, ""
			delete(now, q.DecisionID)
		} else if q.ended == "" && !q.sending {
			q.ended = "no longer waits"
		}
	}
	for i := range list {
		if now[list[i].DecisionID] != nil {
			out = append(out, question{Question: list[i]})
			delete(now, list[i].DecisionID)
		}
	}
	return out
}

// waiting counts the questions that still wait.
func (m *Model) waiting() (n int) {
	for i := range m.questions.all {
		if m.questions.all[i].ended == "" {
			n++
		}
	}
	return n
}

// setQuestions takes the daemon's list over.
func (m *Model) setQuestions(list []admin.Question) {
	before := m.questions.row()
	if before != nil {
		copied := *before
		before = &copied
	}
	m.questions.set(merge(m.questions.all, list))
	// A question that is decided anew is another one, under the same id.
	after := m.questions.row()
	if after != nil && (before == nil || before.DecisionID != after.DecisionID || !sameQuestion(&before.Question, &after.Question) || before.ended != "" && after.ended == "") {
		m.arrived = m.now()
	}
}

func sameQuestion(a, b *admin.Question) bool {
	x, y := *a, *b
	x.Asked, x.Until, y.Asked, y.Until = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return reflect.DeepEqual(x, y)
}

// dropEnded removes what had ended before a key was typed.
func (m *Model) dropEnded(ids []string) {
	at := m.questions.at
	m.questions.set(slices.DeleteFunc(m.questions.all, func(q question) bool { return slices.Contains(ids, q.DecisionID) }))
	if m.questions.at != at {
		m.arrived = m.now()
	}
}

// endedIDs are the ids of the questions that have ended.
func (m *Model) endedIDs() (ids []string) {
	for i := range m.questions.all {
		if q := &m.questions.all[i]; q.ended != "" {
			ids = append(ids, q.DecisionID)
		}
	}
	return ids
}

// of returns a question by its id.
func (m *Model) of(id string) *question {
	for i := range m.questions.all {
		if m.questions.all[i].DecisionID == id {
			return &m.questions.all[i]
		}
	}
	return nil
}

// time says how long a question still waits.
func (q *question) time(now time.Time) string {
	switch {
	case q.ended != "":
		return "-"
	case q.sending:
		return "…"
	case q.Until.IsZero():
		return "again" // the agent has to try again
	}
	return short(q.Until.Sub(now))
}

// short writes how long something is yet to be, in at most five characters.
func short(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 100*time.Minute:
		return fmt.Sprintf("%dm%02d", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// line is a question in one line.
func (q *question) line(now time.Time) string {
	what := q.Reason
	if len(q.Effects) > 0 {
		what = q.Effects[0]
	}
	if n := len(q.Effects) - 1; n > 0 {
		what += fmt.Sprintf(" (+%d)", n)
	}
	line := fmt.Sprintf("%-5s  %s  %s", q.time(now), display.Display(cmp.Or(q.Harness, "?")), what)
	if q.ended != "" {
		line = q.ended + ": " + what
	}
	return line
}

// scopeWords say where an answer is remembered.
var scopeWords = map[string]string{
	"": "scope of your choice", "session": "in this session", "session+children": "in this session and those below it", "project": "in this project", "user": "everywhere",
}

// details are the lines below the list.
func (q *question) details(now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", q.Reason)
	if q.ended != "" {
		fmt.Fprintf(&b, "%s\n", q.ended)
	}
	fmt.Fprintf(&b, "%s, %s, asked %s", display.Display(q.Harness), display.Display(q.Tool), q.Asked.Local().Format("15:04:05"))
	switch {
	case q.Until.IsZero():
		fmt.Fprintf(&b, "; the agent was told to ask its person, and may try again\n")
	default:
		fmt.Fprintf(&b, ", waits until %s (%s)\n", q.Until.Local().Format("15:04:05"), short(q.Until.Sub(now)))
	}
	if q.Cwd != "" {
		fmt.Fprintf(&b, "in %s\n", display.Display(q.Cwd))
	}
	for _, e := range q.Effects {
		fmt.Fprintf(&b, "? %s\n", e)
	}
	if q.Arguments != "" {
		fmt.Fprintf(&b, "arguments: %s\n", q.Arguments)
	}
	for i := range q.Widths {
		w := &q.Widths[i]
		fmt.Fprintf(&b, "always %s: %s (%s)\n", w.ID, display.Display(w.Label), cmp.Or(scopeWords[w.Scope], w.Scope))
	}
	if q.NotRemembered != "" {
		fmt.Fprintf(&b, "only once, not remembered: %s\n", display.Display(q.NotRemembered))
	}
	return b.String()
}
