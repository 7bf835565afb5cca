package review

import (
	"errors"
	"slices"
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

// caller calls the daemon. Only commands (tea.Cmd) use it, which run concurrently with Update.
type caller interface {
	Call(method string, params, result any) error
	// Explain returns why a decision was made.
	Explain(decisionID string) (string, error)
}

// The sections of the page.
const (
	questionsSection = iota
	decisionsSection
	choicesSection
	rulesSection
	sections
)

// table is a section: rows with a cursor, and what is known of the row with it.
type table interface {
	title(m *Model) string
	length() int
	position() int
	move(by int)
	moveTo(place int)
	window(height int) (from, to int)
	// line is a row as one line, and what it is painted as: a verdict, or "ended".
	line(m *Model, place int) (text, as string)
	details(m *Model) string
	more() bool // whether there are rows that were not read
	// state is said above the rows, and empty is said where there are none.
	state(m *Model) string
	empty() string
	filter(words []string)
}

// Model is the page.
type Model struct {
	daemon        caller
	now           func() time.Time
	after         func(time.Duration, tea.Msg) tea.Cmd // sends a message later
	dir           string                               // the current directory
	width, height int

	section   int
	questions questions
	decisions log
	choices   memory
	rules     ruleCounts
	words     [sections]string // of the filters
	scroll    int              // the first line of the details that is shown
	pane      int              // how many lines of them there are room for
	below     int              // how many lines of them are below that

	filtering bool
	page      *text    // a text in place of the lists, nil for none
	form      *form    // what is being answered or changed, nil for nothing
	confirm   *confirm // what is asked before it is done, nil for nothing

	previewing bool // what a form would have matched is on its way

	lost string // why the daemon cannot be reached, "" if it can
	// problems are what keeps the daemon from working as it should.
	problems     []string
	askedStatus  time.Time
	askingStatus bool

	note string // what the last key has done
	// changes are the ids of what was changed on this page, for permd/choices.undo.
	changes [][]string
}

// newModel returns the page, for a person in a directory.
func newModel(d caller, dir string) *Model {
	m := &Model{daemon: d, now: time.Now, dir: dir, width: 80, height: 24}
	m.after = func(d time.Duration, msg tea.Msg) tea.Cmd { return tea.Tick(d, func(time.Time) tea.Msg { return msg }) }
	m.questions.key = func(q *question) string { return q.DecisionID }
	m.decisions.key = func(r *record) string { return r.Decision.ID }
	m.choices.key = func(c *choice) string { return c.ID }
	m.rules.key = func(r *ruleCount) string { return r.key }
	return m
}

func (m *Model) tables() []table {
	return []table{&m.questions, &m.decisions, &m.choices, &m.rules}
}

func (m *Model) table() table { return m.tables()[m.section] }

// Init implements [tea.Model].
func (m *Model) Init() tea.Cmd { return tea.Batch(m.ask(), m.askStatus(), m.tick()) }

type tickMsg struct{}

func (m *Model) tick() tea.Cmd { return m.after(refreshEvery, tickMsg{}) }

// drawMsg lets the page be drawn again: a key now answers the question with the cursor.
type drawMsg struct{}

// Update implements [tea.Model].
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	arrived := m.questions.arrived
	cmd := m.update(msg)
	if ask := m.askPreviews(); ask != nil {
		cmd = tea.Batch(cmd, ask)
	}
	if m.questions.arrived != arrived {
		cmd = tea.Batch(cmd, m.after(unread, drawMsg{}))
	}
	return m, cmd
}

func (m *Model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = max(msg.Width, 1), max(msg.Height, 1)
	case tickMsg:
		return tea.Batch(m.ask(), m.follow(), m.askStatus(), m.tick())
	case questionsMsg:
		m.questions.asking = false
		m.reached(msg.err)
		if msg.err == nil && msg.answers == m.questions.answers {
			m.setQuestions(msg.list)
		}
	case statusMsg:
		m.setStatus(&msg)
	case answeredMsg:
		m.answered(&msg)
	case recordsMsg:
		return m.setRecords(&msg)
	case followedMsg:
		return m.followed(&msg)
	case choicesMsg:
		return m.setChoices(&msg)
	case forgottenMsg:
		m.forgotten(&msg)
	case changedMsg:
		m.changed(&msg)
	case undoneMsg:
		return m.undone(&msg)
	case rulesMsg:
		m.setRules(&msg)
	case newestMsg:
		return m.newest()
	case explainedMsg:
		m.explained(&msg)
	case previewsMsg:
		m.setPreviews(&msg)
	case tea.PasteMsg:
		m.paste(msg.Content)
	case tea.KeyPressMsg:
		return m.key(msg)
	}
	return nil
}

// reached notes whether the daemon could be reached, and says what else an error is.
func (m *Model) reached(err error) {
	switch {
	case errors.Is(err, client.ErrUnreachable):
		m.lost = err.Error()
		m.setQuestions(nil)
	case err == nil:
		m.lost = ""
	default:
		m.note = words(err)
	}
}

// goTo shows a section.
func (m *Model) goTo(section int) tea.Cmd {
	m.section, m.scroll = section, 0
	switch section {
	case questionsSection:
		m.questions.arrived = m.now()
	case decisionsSection:
		return tea.Batch(m.loadRecords(false), m.follow())
	case choicesSection:
		if len(m.choices.all) == 0 {
			return m.loadChoices("")
		}
	case rulesSection:
		return m.count()
	}
	return nil
}

// undoneMsg says what was taken back.
type undoneMsg struct {
	done []admin.Undone
	err  error
}

// takeBack takes the last change back that was made on this page.
func (m *Model) takeBack() tea.Cmd {
	if len(m.changes) == 0 {
		m.note = "nothing was changed on this page; permd remember undo --list shows earlier changes"
		return nil
	}
	ids, d := slices.Clone(m.changes[len(m.changes)-1]), m.daemon
	m.changes = m.changes[:len(m.changes)-1]
	return func() tea.Msg {
		var msg undoneMsg
		for _, id := range ids {
			var done admin.Undone
			if msg.err = d.Call(admin.MethodChoicesUndo, admin.Undo{ID: id}, &done); msg.err != nil {
				break
			}
			msg.done = append(msg.done, done)
		}
		return msg
	}
}

func (m *Model) undone(msg *undoneMsg) tea.Cmd {
	m.reached(msg.err)
	m.choices.version++
	for i := range msg.done {
		u := &msg.done[i]
		m.note = "taken back: " + u.What + " of " + u.Time.Local().Format("15:04:05")
		for _, list := range []struct {
			of    []admin.PastChoice
			words string
		}{{u.Ended, "forgotten: "}, {u.Restored, "holds again: "}, {u.NotRestored, "stays forgotten: "}} {
			for n := range list.of {
				m.note += "; " + list.words + inOneLine(&list.of[n].Choice)
			}
		}
		m.changes = append(m.changes, []string{u.ID})
	}
	if msg.err != nil && m.lost == "" {
		m.note = "not taken back: " + words(msg.err)
	}
	if m.choices.known {
		return m.loadChoices("")
	}
	return nil
}
