package review

import (
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// answeredMsg says what the daemon made of an answer.
type answeredMsg struct {
	id    string
	words string // what it said
	undo  []string
	err   error
}

// answerable returns the question with the cursor, if a key may answer it now; else it says why not.
func (m *Model) answerable() *question {
	q := m.questions.row()
	switch {
	case q == nil:
		m.note = "no question waits"
	case m.lost != "":
		m.note = "the daemon is not reachable: nothing was answered"
	case q.ended != "":
		m.note = "this question " + q.ended + ": nothing was answered"
	case q.sending:
		m.note = "an answer is on its way"
	case m.now().Sub(m.arrived) < unread:
		m.arrived = m.now() // a key that is held down answers nothing
		m.note = "this question has just come: look at it, then answer"
	default:
		return q
	}
	return nil
}

// ready reports whether a key would answer a question now.
func (m *Model) ready(q *question) bool {
	return q != nil && m.lost == "" && q.ended == "" && !q.sending && m.now().Sub(m.arrived) >= unread
}

// send sends an answer to the question that is shown.
func (m *Model) send(q *question, call func(d caller, id string) (words string, undo []string, err error)) tea.Cmd {
	q.sending = true
	m.answers++
	id, d := q.DecisionID, m.daemon
	return func() tea.Msg {
		words, undo, err := call(d, id)
		return answeredMsg{id, words, undo, err}
	}
}

func (m *Model) allow(q *question, a admin.Approval) tea.Cmd {
	return m.send(q, func(d caller, id string) (string, []string, error) {
		var done admin.Approved
		a.DecisionID = id
		err := d.Call(admin.MethodQuestionsAllow, a, &done)
		return strings.Join(choices.Approved(&done), "; "), done.Undo, err
	})
}

func (m *Model) deny(q *question) tea.Cmd {
	return m.send(q, func(d caller, id string) (string, []string, error) {
		var done admin.Denied
		return "denied; nothing is remembered", nil, d.Call(admin.MethodQuestionsDeny, admin.Denial{DecisionID: id}, &done)
	})
}

// answered takes over what became of an answer.
func (m *Model) answered(msg answeredMsg) {
	m.answers++
	q := m.of(msg.id)
	if q != nil {
		q.sending = false
	}
	ended, note := "", ""
	refused, isRefused := errors.AsType[*client.Error](msg.err)
	switch {
	case msg.err == nil:
		ended, note = msg.words, msg.words
	case isRefused && refused.Code == admin.CodeNoDecision:
		ended = "was decided meanwhile, or its client has gone"
		note = ended + ": your answer does not count"
	case isRefused:
		note = "the answer was not taken: " + strings.TrimPrefix(refused.Message, "invalid params: ")
	default:
		m.reached(msg.err)
		ended = "is without a known answer"
		note = "the daemon did not say whether the answer counts; the log does, when it is back: " + msg.err.Error()
	}
	m.note = note
	if q != nil && ended != "" {
		q.ended = ended
	}
}
