package review

import (
	"cmp"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// View implements [tea.Model].
func (m *Model) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	v.KeyboardEnhancements.ReportEventTypes = true // a key that is held down is no answer
	v.WindowTitle = "permd review"
	return v
}

// painted gives a line, which is as wide as it may be, the style of what it is about.
func painted(line, as string, cursor bool) string {
	s := lipgloss.NewStyle()
	switch as {
	case "allow":
		s = s.Foreground(lipgloss.Green)
	case "ask":
		s = s.Foreground(lipgloss.Yellow)
	case "deny":
		s = s.Foreground(lipgloss.Red)
	case "ended":
		s = s.Faint(true)
	case "head":
		s = s.Bold(true)
	case "warning":
		s = s.Foreground(lipgloss.Yellow).Bold(true)
	}
	if cursor {
		s = s.Bold(true)
	}
	return s.Render(line)
}

// lines returns the screen, exactly as many lines as it has, none of them wider than it is.
func (m *Model) lines() []string {
	out := []string{painted(fit(m.head(), m.width), "head", false)}
	foot := m.foot()
	room := max(m.height-len(out)-len(foot), 0)
	switch {
	case m.page != nil:
		out = append(out, m.pageLines(room)...)
	case m.form != nil:
		out = append(out, m.formLines(room)...)
	default:
		out = append(out, m.listLines(room)...)
	}
	for len(out)+len(foot) < m.height {
		out = append(out, "")
	}
	out = append(out, foot...)
	return out[:min(len(out), m.height)]
}

// head is the first line: the sections, with the one that is shown in brackets.
func (m *Model) head() string {
	if m.page != nil {
		return m.page.title
	}
	line := ""
	for i, t := range m.tables() {
		name := fmt.Sprintf("%d %s", i+1, t.title(m))
		switch {
		case i == m.section:
			name = "[" + name + "]"
		case m.width < 50 && i != questionsSection:
			name = fmt.Sprint(i + 1)
		case m.width < 50:
			name = strings.Replace(name, "questions ", "q ", 1)
		}
		line += name + cli.Either(m.width < 50, " ", "  ")
	}
	return line
}

// foot is what is said below: what is wrong, what the last key has done, and keys.
func (m *Model) foot() []string {
	var out []string
	add := func(text, as string, most int) {
		for i, line := range fold(text, m.width) {
			if i < most {
				out = append(out, painted(line, as, false))
			}
		}
	}
	most := max(m.height/8, 1)
	if m.lost != "" {
		add("The daemon is not reachable; trying again. "+m.lost, "warning", most)
	}
	if m.lost == "" && m.page == nil && m.form == nil && m.confirm == nil {
		add(strings.Join(m.problems, "\n"), "warning", most)
	}
	switch {
	case m.confirm != nil:
		add("y n: "+m.confirm.text, "warning", max(m.height/2, 1))
	case m.filtering:
		add("/"+m.words[m.section]+"_", "", most)
	case m.note != "":
		add(m.note, "warning", 2*most)
	}
	if m.height >= 8 && m.confirm == nil && !m.filtering {
		add(someKeys(m.keys(), m.width), "ended", 1)
	}
	return out[max(len(out)-max(m.height-2, 0), 0):]
}

// keys are the keys that do something now.
func (m *Model) keys() string {
	switch {
	case m.page != nil:
		return "j k space scroll  q back"
	case m.form != nil:
		if f := m.form; f.fields[f.at].typed != nil {
			return "tab field  " + cli.Either(m.now().Sub(f.opened) >= unread, "enter does it  ", "") + "esc back"
		}
		return "j k field  h l choose  " + cli.Either(m.now().Sub(m.form.opened) >= unread, "enter does it  ", "") + "esc back"
	}
	own := ""
	switch m.section {
	case questionsSection:
		if m.ready() {
			own = "a allow once  A always  d deny  D always  "
		}
	case decisionsSection:
		own = "space " + cli.Either(m.decisions.paused, "goes on  ", "pause  ")
	case choicesSection:
		own = "x forget  c change  u undo  "
	}
	return own + "e explain  / filter  ? help  q quit"
}

// someKeys are the first of the keys, which stand two spaces apart, as far as a line has room, and the one
// that shows all.
func someKeys(keys string, width int) string {
	const all = "? help"
	room := width - 2 // as fold leaves it
	if strings.Contains(keys, all) {
		room -= len("  " + all)
	}
	line, full := "", false
	for key := range strings.SplitSeq(keys, "  ") {
		longer := line + cli.Either(line == "", "", "  ") + key
		if key == all {
			room += len("  " + all)
		}
		if full = full || len(longer) > room; !full || key == all {
			line = longer
		}
	}
	return cmp.Or(line, keys)
}

// narrow is below how many columns a screen leaves out what can be left out.
const narrow = 60

// listHeight is how many rows the list has.
func (m *Model) listHeight() int {
	switch room := m.height - 3; {
	case room < 6:
		return max(room/3, 1)
	case m.section == questionsSection:
		return max(min(m.questions.length(), room/3), 1)
	default:
		return room / 2
	}
}

// listLines are the rows of a section, and below what is known of the one with the cursor.
func (m *Model) listLines(room int) []string {
	var out []string
	t := m.table()
	state := t.state(m)
	if words := m.words[m.section]; words != "" && !m.filtering {
		state = "filter: " + words + cli.Either(state == "", "", "; ") + state
	}
	if state != "" && room > 3 {
		out = append(out, painted(fit(state, m.width), "ended", false))
	}
	height := min(m.listHeight(), room)
	from, to := t.window(height)
	if t.length() == 0 && room > len(out) {
		empty := t.empty()
		if m.words[m.section] != "" {
			empty = "nothing has these words"
		}
		out = append(out, fit("  "+empty, m.width))
	}
	for i := from; i < to && len(out) < room; i++ {
		line, as := t.line(m, i)
		cursor := i == t.position()
		out = append(out, painted(fit(cli.Either(cursor, "> ", "  ")+line, m.width), as, cursor))
	}
	m.pane, m.below = room-len(out)-1, 0
	if t.length() == 0 || m.pane < 1 {
		return out
	}
	details := fold(t.details(m), m.width)
	m.scroll = max(min(m.scroll, len(details)-m.pane), 0)
	end := min(m.scroll+m.pane, len(details))
	m.below = len(details) - end
	more := fmt.Sprintf("%d of %d%s", max(t.position(), 0)+1, t.length(), cli.Either(t.more(), "+", ""))
	if m.below > 0 || m.scroll > 0 {
		more += fmt.Sprintf("; lines %d to %d of %d: %s", m.scroll+1, end, len(details), cli.Either(m.section == decisionsSection, "J K", "space, J K"))
	}
	out = append(out, painted(fit(rule(more, m.width), m.width), "ended", false))
	return append(out, details[m.scroll:end]...)
}

// rule is a line across the screen that says something.
func rule(text string, width int) string {
	return "── " + text + " " + strings.Repeat("─", max(width-len([]rune(text))-4, 0))
}

func (m *Model) pageLines(room int) []string {
	body := fold(m.page.body, m.width)
	m.page.top = max(min(m.page.top, len(body)-room), 0)
	return body[m.page.top:min(m.page.top+room, len(body))]
}

// formLines are the fields, the one with the cursor among them, and what would be done.
func (m *Model) formLines(room int) []string {
	f := m.form
	preview := fold(f.preview(), m.width)
	var fields []string
	for i := range f.fields {
		fl := &f.fields[i]
		line := cli.Either(i == f.at, "> ", "  ") + fl.name + ": "
		if fl.typed != nil {
			line += fl.typed.shown(i == f.at)
		} else {
			line += fmt.Sprintf("%s (%d of %d)", fl.options[fl.at], fl.at+1, len(fl.options))
		}
		if m.height < 8 && i != f.at {
			continue
		}
		for n, part := range fold(line, m.width) {
			if m.height >= 8 || n < 2 {
				fields = append(fields, painted(part, "", i == f.at))
			}
		}
	}
	fields = fields[:min(len(fields), room)]
	var out []string
	if room > len(fields)+2 {
		out = append(out, fit(f.title, m.width))
	}
	left := max(room-len(out)-len(fields), 0)
	if left > len(preview) {
		preview = append(preview, "")
	}
	if len(preview) > left && left > 0 {
		preview = append(preview[:left-1], fit("…", m.width))
	}
	out = append(out, preview[:min(len(preview), left)]...)
	return append(out, fields...)
}
