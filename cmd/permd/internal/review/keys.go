package review

import (
	tea "charm.land/bubbletea/v2"

	"github.com/permd/permd/socket/admin"
)

// key handles a key. What had ended before stays on the page for it, and goes then.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	ended := m.endedIDs()
	m.note = ""
	cmd := m.listKey(k)
	m.dropEnded(ended)
	return cmd
}

// listKey handles a key while a list is shown.
func (m *Model) listKey(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "q", "ctrl+c":
		return tea.Quit
	case "down", "j":
		m.move(1)
	case "up", "k":
		m.move(-1)
	case "a":
		if q := m.answerable(); q != nil && !k.IsRepeat {
			return m.allow(q, admin.Approval{})
		}
	case "d":
		if q := m.answerable(); q != nil && !k.IsRepeat {
			return m.deny(q)
		}
	}
	return nil
}

func (m *Model) move(by int) {
	at := m.questions.at
	m.questions.move(by)
	if m.questions.at != at {
		m.arrived = m.now()
	}
}
