package review

import (
	tea "charm.land/bubbletea/v2"

	"github.com/permd/permd/socket/admin"
)

// key handles a key. What had ended before stays on the page for it, and goes then.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	m.note = ""
	switch {
	case m.page != nil:
		return m.pageKey(k)
	case m.form != nil:
		return m.formKey(k)
	case m.confirm != nil:
		return m.confirmKey(k)
	case m.filtering:
		return m.filterKey(k)
	}
	var ended, forgotten []string
	switch m.section {
	case questionsSection:
		ended = m.endedIDs()
	case choicesSection:
		forgotten = m.forgottenIDs()
	}
	cmd := m.listKey(k)
	m.dropEnded(ended)
	m.dropForgotten(forgotten)
	return cmd
}

// listKey handles a key while a list is shown.
func (m *Model) listKey(k tea.KeyPressMsg) tea.Cmd {
	switch s := k.String(); s {
	case "q", "ctrl+c":
		return tea.Quit
	case "1", "2", "3", "4":
		return m.goTo(int(s[0] - '1'))
	case "tab":
		return m.goTo((m.section + 1) % sections)
	case "shift+tab":
		return m.goTo((m.section + sections - 1) % sections)
	case "?":
		m.page = &text{title: "keys", body: help}
	case "/":
		m.filtering = true
	case "esc":
		if m.words[m.section] != "" {
			return m.setFilter("")
		}
	case "e", "enter":
		return m.explain()
	case "u":
		return m.takeBack()
	case "r":
		return m.again()
	default:
		if m.moveKey(s) {
			return m.moved()
		}
		return m.sectionKey(k)
	}
	return nil
}

// moveKey moves the cursor, or what is below the list.
func (m *Model) moveKey(key string) bool {
	t, at := m.table(), m.questions.at
	switch key {
	case "down", "j":
		t.move(1)
	case "up", "k":
		t.move(-1)
	case "pgdown", "ctrl+f":
		t.move(m.listHeight())
	case "pgup", "ctrl+b":
		t.move(-m.listHeight())
	case "home", "g":
		t.moveTo(0)
	case "end", "G":
		t.moveTo(t.length() - 1)
	case "J", "shift+down":
		m.scroll++
		return true
	case "K", "shift+up":
		m.scroll = max(m.scroll-1, 0)
		return true
	default:
		return false
	}
	m.scroll = 0
	if m.questions.at != at {
		m.questions.arrived = m.now()
	}
	return true
}

// moved reads on where the cursor is near the end of what was read.
func (m *Model) moved() tea.Cmd {
	switch m.section {
	case decisionsSection:
		s := &m.decisions
		if s.length()-max(s.position(), 0) <= m.height {
			s.pages = maxPages
			return m.loadRecords(true)
		}
		return m.newest()
	case choicesSection:
		return m.moreChoices()
	}
	return nil
}

// sectionKey handles the keys that each section has for itself.
func (m *Model) sectionKey(k tea.KeyPressMsg) tea.Cmd {
	switch m.section {
	case questionsSection:
		return m.questionKey(k)
	case decisionsSection:
		if k.String() == "space" {
			m.decisions.paused = !m.decisions.paused
			if m.decisions.paused {
				return nil
			}
			return tea.Batch(m.newest(), m.follow())
		}
	case choicesSection:
		switch k.String() {
		case "x":
			m.forget()
			return nil
		case "c":
			m.changeForm()
			return nil
		}
	}
	switch k.String() {
	case "space":
		m.scroll += max(m.pane-1, 1)
	case "a", "A", "d", "D":
		m.note = "answers are given among the questions: 1 shows them"
	}
	return nil
}

func (m *Model) questionKey(k tea.KeyPressMsg) tea.Cmd {
	switch key := k.String(); key {
	case "space":
		if m.below > 0 {
			m.scroll += max(m.pane-1, 1)
		} else {
			m.scroll = 0
		}
	case "a", "A", "d", "D":
		q := m.answerable(k.IsRepeat)
		if q == nil {
			return nil
		}
		switch shown := *q; key {
		case "a":
			return m.allowSeen(q, func() tea.Cmd { return m.allow(admin.Approval{DecisionID: shown.DecisionID}) })
		case "A":
			return m.allowSeen(q, func() tea.Cmd { m.allowForm(&shown); return nil })
		case "d":
			return m.deny(admin.Denial{DecisionID: q.DecisionID})
		case "D":
			m.denyForm(q)
		}
	}
	return nil
}

// again reads a section anew.
func (m *Model) again() tea.Cmd {
	switch m.section {
	case questionsSection:
		return m.ask()
	case decisionsSection:
		m.decisions.moveTo(0)
		return m.loadRecords(false)
	case choicesSection:
		return m.loadChoices("")
	case rulesSection:
		return m.count()
	}
	return nil
}
