package review

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/permd/permd/cmd/permd/internal/choices"
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

// questions is the section of those that wait.
type questions struct {
	rows[question]
	arrived time.Time // when the question with the cursor came to it
	asking  bool      // a list of questions is on its way
	answers int       // how many answers were sent or came back: a list from before is out of date
	known   bool      // a list has come
}

// questionsMsg is a list of questions, or why there is none.
type questionsMsg struct {
	list    []admin.Question
	err     error
	answers int
}

// ask asks for the questions.
func (m *Model) ask() tea.Cmd {
	if m.questions.asking {
		return nil
	}
	m.questions.asking = true
	answers, d := m.questions.answers, m.daemon
	return func() tea.Msg {
		var got admin.Questions
		err := d.Call(admin.MethodQuestionsList, struct{}{}, &got)
		return questionsMsg{got.Questions, err, answers}
	}
}

// merge takes the list of the daemon over. What is new goes to the end, and what is no longer there
// stays in its place, so that nothing moves under the cursor.
func merge(old []question, list []admin.Question) []question {
	current := map[string]*admin.Question{}
	for i := range list {
		current[list[i].DecisionID] = &list[i]
	}
	out := slices.Clone(old)
	for i := range out {
		q := &out[i]
		if n := current[q.DecisionID]; n != nil {
			q.Question, q.ended = *n, ""
			delete(current, q.DecisionID)
		} else if q.ended == "" && !q.sending {
			q.ended = "no longer waits"
		}
	}
	for i := range list {
		if current[list[i].DecisionID] != nil {
			out = append(out, question{Question: list[i]})
			delete(current, list[i].DecisionID)
		}
	}
	return out
}

// setQuestions takes the daemon's list over.
func (m *Model) setQuestions(list []admin.Question) {
	var before question
	had := m.questions.row()
	if had != nil {
		before = *had
	}
	m.questions.known = m.questions.known || list != nil
	m.questions.set(merge(m.questions.all, list))
	// A question that is decided anew is another one, and what else is shown of one may change.
	after := m.questions.row()
	if after != nil && (had == nil || before.DecisionID != after.DecisionID || !sameQuestion(before.Question, after.Question) || before.ended != "" && after.ended == "") {
		m.questions.arrived = m.now()
		m.scroll = 0
	}
	if f := m.form; f != nil && f.asked != nil && !m.stillAsked(f.asked) {
		m.form = nil
		m.note = "the question was decided meanwhile, or is another one now: nothing was answered"
	}
	if c := m.confirm; c != nil && c.asked != nil && !m.stillAsked(c.asked) {
		m.confirm = nil
		m.note = "the question was decided meanwhile, or is another one now: nothing was answered"
	}
}

// stillAsked reports whether a question waits as it was shown.
func (m *Model) stillAsked(shown *admin.Question) bool {
	q := m.of(shown.DecisionID)
	return q != nil && q.ended == "" && sameQuestion(*shown, q.Question)
}

func sameQuestion(a, b admin.Question) bool {
	a.Asked, a.Until, b.Asked, b.Until = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return reflect.DeepEqual(a, b)
}

// dropEnded removes what had ended before a key was typed.
func (m *Model) dropEnded(ids []string) {
	if len(ids) == 0 {
		return
	}
	at := m.questions.at
	m.questions.set(slices.DeleteFunc(slices.Clone(m.questions.all), func(q question) bool { return q.ended != "" && slices.Contains(ids, q.DecisionID) }))
	if m.questions.at != at {
		m.questions.arrived = m.now()
		m.scroll = 0
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

// of returns a question by its id, nil if it is not on the page.
func (m *Model) of(id string) *question {
	for i := range m.questions.all {
		if m.questions.all[i].DecisionID == id {
			return &m.questions.all[i]
		}
	}
	return nil
}

func (s *questions) title(*Model) string {
	n := 0
	for i := range s.all {
		if s.all[i].ended == "" {
			n++
		}
	}
	return fmt.Sprintf("questions %d", n)
}

func (s *questions) more() bool { return false }

func (s *questions) state(*Model) string { return "" }

func (s *questions) empty() string {
	if !s.known {
		return "asking the daemon"
	}
	return "no question waits"
}

func (s *questions) filter(words []string) {
	s.match = matching(words, func(q *question) string { return q.line(time.Time{}) + " " + q.details(time.Time{}) })
	s.choose()
}

func (s *questions) line(m *Model, place int) (text, as string) {
	q := &s.all[s.shown[place]]
	if q.ended != "" {
		return q.line(m.now()), "ended"
	}
	return q.line(m.now()), "ask"
}

func (s *questions) details(m *Model) string {
	if q := s.row(); q != nil {
		return q.details(m.now())
	}
	return ""
}

// time says how long a question still waits.
func (q *question) time(now time.Time) string {
	switch {
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
	if q.ended != "" {
		return "-      " + what + ": " + q.ended
	}
	return fmt.Sprintf("%-5s  %s  (%s)", q.time(now), what, display.Display(cmp.Or(q.Harness, "?")))
}

// scopeWords say where an answer is remembered.
var scopeWords = map[string]string{
	"": "scope of your choice", "session": "in this session", "session+children": "in this session and those below it", "project": "in this project", "user": "everywhere",
}

// what says what the call would do: what a person must have seen before they allow it.
func (q *question) what() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", safe(cmp.Or(q.Reason, "a person must decide")))
	if q.ended != "" {
		fmt.Fprintf(&b, "! %s\n", safe(q.ended))
	}
	for _, e := range q.Effects {
		fmt.Fprintf(&b, "? %s\n", safe(e))
	}
	if q.Arguments != "" {
		fmt.Fprintf(&b, "arguments: %s\n", safe(q.Arguments))
	}
	return b.String()
}

// details are the lines below the list.
func (q *question) details(now time.Time) string {
	var b strings.Builder
	b.WriteString(q.what())
	fmt.Fprintf(&b, "%s, %s, asked %s", display.Display(cmp.Or(q.Harness, "?")), display.Display(q.Tool), q.Asked.Local().Format("15:04:05"))
	if q.Until.IsZero() {
		fmt.Fprintf(&b, "; a yes holds for the next try of the agent\n")
	} else {
		fmt.Fprintf(&b, ", waits until %s (%s)\n", q.Until.Local().Format("15:04:05"), short(q.Until.Sub(now)))
	}
	if q.Cwd != "" {
		fmt.Fprintf(&b, "in %s\n", display.Display(q.Cwd))
	}
	for i := range q.Widths {
		w := &q.Widths[i]
		label := display.Display(w.Label)
		if !strings.Contains(label, "(in this ") {
			label += " (" + cmp.Or(scopeWords[w.Scope], w.Scope) + ")"
		}
		fmt.Fprintf(&b, "always %s: %s\n", display.Display(w.ID), label)
		for line := range strings.Lines(w.Rule) {
			fmt.Fprintf(&b, "    %s\n", display.Display(strings.TrimSuffix(line, "\n")))
		}
	}
	if q.NotRemembered != "" {
		fmt.Fprintf(&b, "only once, not remembered: %s\n", display.Display(q.NotRemembered))
	}
	for i := range q.RejectWidths {
		w := &q.RejectWidths[i]
		fmt.Fprintf(&b, "never %s: %s (%s)\n", display.Display(w.ID), choices.OneLine(w.Label), cmp.Or(scopeWords[w.Scope], w.Scope))
	}
	return b.String()
}
