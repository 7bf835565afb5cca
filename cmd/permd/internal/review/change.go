package review

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/socket/admin"
)

// changeForm lets the person choose what line a choice has, where and until when it holds.
func (m *Model) changeForm() {
	c := m.choices.row()
	if c == nil || c.ended != "" {
		m.note = "no choice to change"
		return
	}
	line, d := inOneLine(&c.Choice), m.daemon
	ends := "never ends"
	if !c.Expires.IsZero() {
		ends = "ends " + c.Expires.Local().Format(time.DateTime)
	}
	f := &form{title: "change", opened: m.now(), previews: map[string]previewsMsg{}}
	f.fields = []field{
		{name: "where", options: []string{"as it is", "in the project (one of the user: that of " + display.Display(m.dir) + ")", "everywhere"}},
		{name: "ends", options: append([]string{"as it is", "never"}, limitNames()...)},
	}
	former := ""
	if parts := choices.Parts(&c.Choice); len(parts) == 1 && parts[0].Line {
		former = parts[0].Rule
		f.fields = append(f.fields, field{name: "line", typed: newTyped(former)})
	}
	id, dir := c.ID, m.dir
	// change is what the fields say, and whether that is anything.
	change := func() (to admin.ChangedChoices, changes bool) {
		to = admin.ChangedChoices{IDs: []string{id}, Dir: dir, Scope: []string{"", "project", "user"}[f.fields[0].at]}
		switch n := f.fields[1].at; n {
		case 0:
		case 1:
			to.Forever = true
		default:
			to.ExpiresIn = seconds(n - 2)
		}
		if former != "" {
			if line := f.fields[2].typed.String(); line != strings.TrimSpace(former) {
				to.Line = line
			}
		}
		return to, to.Scope != "" || to.Forever || to.ExpiresIn != 0 || to.Line != ""
	}
	f.asks = func() admin.PreviewParams {
		to, _ := change()
		return admin.PreviewParams{Change: &to}
	}
	f.preview = func() string {
		_, changes := change()
		return f.become(line+"\n"+ends, changes)
	}
	f.send = func() tea.Cmd {
		to, changes := change()
		switch {
		case former != "" && f.fields[2].typed.String() == "":
			m.note = "the line is empty: x forgets the choice"
			m.form = f
			return nil
		case !changes:
			m.note = "nothing to change"
			return nil
		}
		return func() tea.Msg {
			var got admin.Choices
			err := d.Call(admin.MethodChoicesChange, to, &got)
			return changedMsg{id, got, err}
		}
	}
	m.form = f
}

// paste puts what was pasted where text is typed.
func (m *Model) paste(text string) {
	if f := m.form; f != nil && f.fields[f.at].typed != nil {
		f.fields[f.at].typed.insert(text)
	}
}
