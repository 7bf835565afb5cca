package review

import (
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// unread is for how long after a question has come to the cursor no key answers it: what is typed
// meanwhile was meant for what was there before.
const unread = 300 * time.Millisecond

// refreshEvery is how often the page asks for the questions, and says how much time is left.
const refreshEvery = 500 * time.Millisecond

// caller calls the daemon. It is used by commands alone, which run beside the model.
type caller interface {
	Call(method string, params, result any) error
}

// Model is the page.
type Model struct {
	daemon        caller
	now           func() time.Time
	width, height int

	section   int
	questions rows[question]
	arrived   time.Time // when the question with the cursor came to it
	asking    bool      // a list of questions is on its way
	answers   int       // how many answers were sent; a list that was asked for before is out of date
	lost      string    // why the daemon cannot be reached
	note      string    // what the last key has done
}

// New returns the page.
func New(d caller) *Model {
	m := &Model{daemon: d, now: time.Now, width: 80, height: 24}
	m.questions.key = func(q *question) string { return q.DecisionID }
	return m
}

// Init implements [tea.Model].
func (m *Model) Init() tea.Cmd { return tea.Batch(m.ask(), tick()) }

type tickMsg struct{}

func tick() tea.Cmd { return tea.Tick(refreshEvery, func(time.Time) tea.Msg { return tickMsg{} }) }

// questionsMsg is a list of questions, or why there is none.
type questionsMsg struct {
	list    []admin.Question
	err     error
	answers int
}

// ask asks for the questions.
func (m *Model) ask() tea.Cmd {
	if m.asking {
		return nil
	}
	m.asking = true
	answers, d := m.answers, m.daemon
	return func() tea.Msg {
		var got admin.Questions
		err := d.Call(admin.MethodQuestionsList, struct{}{}, &got)
		return questionsMsg{got.Questions, err, answers}
	}
}

// Update implements [tea.Model].
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tickMsg:
		return m, tea.Batch(m.ask(), tick())
	case questionsMsg:
		m.asking = false
		m.reached(msg.err)
		if msg.err == nil && msg.answers == m.answers {
			m.setQuestions(msg.list)
		}
	case answeredMsg:
		m.answered(msg)
	case tea.KeyPressMsg:
		return m, m.key(msg)
	}
	return m, nil
}

// reached notes whether the daemon could be reached.
func (m *Model) reached(err error) {
	switch {
	case errors.Is(err, client.ErrUnreachable):
		m.lost = err.Error()
		m.setQuestions(nil)
	case err == nil:
		m.lost = ""
	default:
		m.note = err.Error()
	}
}
