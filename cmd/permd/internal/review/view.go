package review

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// View implements [tea.Model].
func (m *Model) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	v.KeyboardEnhancements.ReportEventTypes = true // a key that is held down is no answer
	v.WindowTitle = "permd review"
	return v
}

// lines returns the screen, exactly as many lines as it has.
func (m *Model) lines() []string {
	out := []string{fit(fmt.Sprintf("permd review  [1 questions %d]", m.waiting()), m.width)}
	if m.lost != "" {
		out = append(out, fit("the daemon is not reachable, trying again: "+m.lost, m.width))
	}
	list := max(min(m.questions.length(), m.height/3), 1)
	from, to := m.questions.window(list)
	if m.questions.length() == 0 {
		out = append(out, fit("no question waits", m.width))
	}
	for i := from; i < to; i++ {
		q := &m.questions.all[m.questions.shown[i]]
		mark, style := "  ", lipgloss.NewStyle()
		if q.ended != "" {
			style = style.Faint(true)
		}
		if q.DecisionID == m.questions.at {
			mark, style = "> ", style.Bold(true)
		}
		out = append(out, style.Render(fit(mark+q.line(m.now()), m.width)))
	}
	if q := m.questions.row(); q != nil {
		out = append(out, fold(q.details(m.now()), m.width)...)
	}
	if m.note != "" {
		out = append(out, fit(m.note, m.width))
	}
	if m.ready(m.questions.row()) {
		out = append(out, fit("a allow once  d deny  q quit", m.width))
	}
	return out[:min(len(out), max(m.height, 1))]
}
