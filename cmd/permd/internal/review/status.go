package review

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/permd/permd/cmd/permd/internal/daemon"
	"github.com/permd/permd/socket/admin"
)

// statusEvery is how often the page asks how the daemon is.
const statusEvery = 5 * time.Second

// statusMsg says what keeps the daemon from working as it should.
type statusMsg struct {
	problems []string
	err      error
}

// askStatus asks how the daemon is, if it was not asked for statusEvery.
func (m *Model) askStatus() tea.Cmd {
	if m.askingStatus || m.now().Sub(m.askedStatus) < statusEvery {
		return nil
	}
	m.askingStatus, m.askedStatus = true, m.now()
	d := m.daemon
	return func() tea.Msg {
		var st daemon.Status
		err := d.Call(admin.MethodStatus, struct{}{}, &st)
		return statusMsg{st.Problems(), err}
	}
}

// setStatus takes what was asked. Who cannot be reached is said by questions, which are asked more often.
func (m *Model) setStatus(msg *statusMsg) {
	m.askingStatus = false
	if msg.err == nil {
		m.problems = msg.problems
	}
}
