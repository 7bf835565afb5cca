package review

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/permd/permd/socket/admin"
)

// field is a question of a form, with its answers, or with what is typed.
type field struct {
	name    string
	options []string
	at      int
	typed   *typed // nil for one with options
}

// form is what a person chooses before an answer or a change is sent.
type form struct {
	title   string
	asked   *admin.Question // the question that it answers, nil for none
	opened  time.Time
	fields  []field
	at      int           // the field with the cursor
	preview func() string // what would be done
	send    func() tea.Cmd
	// asks returns what the daemon is asked for, to say what the choice would have matched; nil for
	// a form without that. previews are its answers.
	asks     func() admin.PreviewParams
	previews map[string]previewsMsg
}

// confirm is asked before something is done.
type confirm struct {
	text  string
	asked *admin.Question // the question that it answers, nil for none
	yes   func() tea.Cmd
}

// text is shown in place of the lists.
type text struct {
	title, body string
	top         int
}

// formKey handles a key while a form is shown.
func (m *Model) formKey(k tea.KeyPressMsg) tea.Cmd {
	f := m.form
	fl := &f.fields[f.at]
	if fl.typed != nil && fl.typed.key(k) {
		return nil
	}
	switch k.String() {
	case "esc", "q", "ctrl+c":
		m.form = nil
		m.note = "nothing was done"
		m.questions.arrived = m.now()
	case "down", "j", "tab":
		f.at = (f.at + 1) % len(f.fields)
	case "up", "k", "shift+tab":
		f.at = (f.at + len(f.fields) - 1) % len(f.fields)
	case "right", "l", "space":
		if fl.typed == nil {
			fl.at = (fl.at + 1) % len(fl.options)
		}
	case "left", "h":
		if fl.typed == nil {
			fl.at = (fl.at + len(fl.options) - 1) % len(fl.options)
		}
	case "enter":
		if k.IsRepeat || m.now().Sub(f.opened) < unread {
			return nil
		}
		m.form = nil
		return f.send()
	}
	return nil
}

// confirmKey handles a key while something is to be confirmed.
func (m *Model) confirmKey(k tea.KeyPressMsg) tea.Cmd {
	yes := m.confirm.yes
	switch k.String() {
	case "y":
		if k.IsRepeat {
			return nil
		}
		m.confirm = nil
		return yes()
	case "n", "esc", "q", "ctrl+c":
		m.confirm = nil
		m.note = "nothing was done"
	}
	return nil
}

// pageKey handles a key while a text is shown.
func (m *Model) pageKey(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc", "q", "ctrl+c", "?", "e", "enter":
		m.page = nil
		m.questions.arrived = m.now()
	case "down", "j":
		m.page.top++
	case "up", "k":
		m.page.top--
	case "pgdown", "space", "ctrl+f":
		m.page.top += max(m.height-3, 1)
	case "pgup", "b", "ctrl+b":
		m.page.top -= max(m.height-3, 1)
	case "home", "g":
		m.page.top = 0
	case "end", "G":
		m.page.top = strings.Count(m.page.body, "\n") * 100
	}
	return nil
}

// filterKey handles a key while a filter is typed.
func (m *Model) filterKey(k tea.KeyPressMsg) tea.Cmd {
	typed := []rune(m.words[m.section])
	switch s := k.String(); s {
	case "enter", "down", "tab":
		m.filtering = false
		m.questions.arrived = m.now()
		return nil
	case "esc", "ctrl+c":
		m.filtering = false
		typed = nil
	case "backspace":
		typed = typed[:max(len(typed)-1, 0)]
	case "ctrl+u":
		typed = nil
	default:
		if k.Text == "" || len(typed) > maxFilter {
			return nil
		}
		typed = append(typed, []rune(k.Text)...)
	}
	return m.setFilter(string(typed))
}

// maxFilter bounds a filter, in characters.
const maxFilter = 200

func (m *Model) setFilter(typed string) tea.Cmd {
	m.words[m.section] = typed
	m.table().filter(strings.Fields(typed))
	m.scroll = 0
	switch m.section {
	case questionsSection:
		m.questions.arrived = m.now()
	case decisionsSection:
		if s := &m.decisions; !s.known {
			return m.loadRecords(false)
		}
		m.decisions.pages = maxPages
		return m.loadRecords(true)
	case choicesSection:
		return m.moreChoices()
	}
	return nil
}

const help = `Sections
  1 2 3 4, tab   questions, decisions, choices, rules
  j k, arrows    move the cursor
  g G            to the first row, to the last one
  pgdn pgup      a screen further
  J K, space     scroll what is below the list
  /              filter: words that a row has; esc clears it
  e, enter       explain
  r              read again
  q              quit

Questions
  a   allow once
  A   always allow: choose what, where, how long
  d   deny once
  D   always deny: choose what, where, how long
  u   take the last change of what is remembered back

An answer is for the question with the cursor, which never
moves by itself: a new question is added at the end, and one
that has ended stays until the next key. In the first 300 ms
no key answers a question that has come to the cursor.

Decisions
  space          stop, and go on
  /verdict:deny  ask the daemon for these alone; likewise
                 by: agent: tool: session: project: path: host:

Choices
  x   forget
  c   change its line, where and how long it holds
  u   take the last change back

A line is typed; tab goes to the next field of a form.
In a shell: permd remember export, permd remember import FILE
`
