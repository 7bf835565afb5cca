package review

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

const (
	firstChoices = 100 // how many choices are asked for at first
	moreChoices  = 1000
)

// choice is a remembered choice on the page.
type choice struct {
	admin.Choice
	ended string // what became of it, "" while it is in force
}

// memory is the section of choices, the oldest first, as permd remember list has them.
type memory struct {
	rows[choice]
	next    string // the id after which the list goes on, "" if it is whole
	loading bool
	version int // of what is remembered: a list that was asked for before a change is out of date
	filters bool
	known   bool
}

// choicesMsg is a part of the list.
type choicesMsg struct {
	got     admin.Choices
	err     error
	after   string
	version int
}

// loadChoices asks for the choices after an id.
func (m *Model) loadChoices(after string) tea.Cmd {
	s := &m.choices
	if s.loading {
		return nil
	}
	s.loading = true
	limit, version, d := firstChoices, s.version, m.daemon
	if after != "" || len(s.all) > firstChoices {
		limit = moreChoices
	}
	return func() tea.Msg {
		var got admin.Choices
		err := d.Call(admin.MethodChoicesList, map[string]any{"after": after, "limit": limit}, &got)
		return choicesMsg{got, err, after, version}
	}
}

func (m *Model) setChoices(msg *choicesMsg) tea.Cmd {
	s := &m.choices
	s.loading = false
	m.reached(msg.err)
	switch {
	case msg.err != nil:
		return nil
	case msg.version != s.version:
		return m.loadChoices("")
	}
	list := make([]choice, len(msg.got.Choices))
	for i := range list {
		list[i].Choice = msg.got.Choices[i]
	}
	if msg.after != "" {
		list = append(slices.Clone(s.all), list...)
	}
	s.known = true
	s.next = msg.got.Next
	s.set(list)
	return m.moreChoices()
}

// moreChoices goes on with the list where the cursor is near its end, or a filter selects of it.
func (m *Model) moreChoices() tea.Cmd {
	s := &m.choices
	if s.next == "" || !s.filters && s.length()-max(s.position(), 0) > 2*m.height {
		return nil
	}
	return m.loadChoices(s.next)
}

func (s *memory) title(*Model) string { return "choices" }

func (s *memory) more() bool { return s.next != "" }

func (s *memory) state(*Model) string {
	if s.loading && s.filters {
		return "reading the choices"
	}
	return ""
}

func (s *memory) empty() string {
	if !s.known {
		return "reading the choices"
	}
	return "nothing is remembered"
}

func (s *memory) filter(words []string) {
	s.filters = len(words) > 0
	s.match = matching(words, func(c *choice) string { return c.line() + " " + c.ID + " " + c.Of })
	s.choose()
}

// inOneLine says what a choice is about and where it holds.
func inOneLine(c *admin.Choice) string {
	var rules []string
	for _, p := range choices.Parts(c) {
		rules = append(rules, p.Kind+" "+cli.Clip(p.Rule, 200))
	}
	return fmt.Sprintf("%s %s (%s)", c.Verdict, strings.Join(rules, " + "), choices.Scope(c))
}

func (c *choice) line() string {
	if c.ended != "" {
		return inOneLine(&c.Choice) + ": " + c.ended
	}
	short := c.Choice
	if c.Scope == "project" && path.IsAbs(c.Of) {
		short.Of = path.Base(c.Of) // the details have all of it
	}
	line := inOneLine(&short) + ", " + choices.Use(&short)
	if !c.Expires.IsZero() {
		line += ", ends " + c.Expires.Local().Format("01-02 15:04")
	}
	return line
}

func (s *memory) line(_ *Model, place int) (text, as string) {
	c := &s.all[s.shown[place]]
	if c.ended != "" {
		return c.line(), "ended"
	}
	return c.line(), string(c.Verdict)
}

func (s *memory) details(*Model) string {
	c := s.row()
	if c == nil {
		return ""
	}
	var b strings.Builder
	if c.ended != "" {
		fmt.Fprintf(&b, "! %s\n", c.ended)
	}
	renderChoice(&b, &c.Choice)
	return b.String()
}

// renderChoice writes a choice in full, with the commands for what this page does not do with it.
func renderChoice(b *strings.Builder, c *admin.Choice) {
	choices.Render(b, c)
	for _, line := range choices.Commands(c) {
		fmt.Fprintf(b, "in a shell: %s\n", line)
	}
}

// dropForgotten removes what was forgotten before a key was typed.
func (m *Model) dropForgotten(ids []string) {
	if len(ids) > 0 {
		m.choices.set(slices.DeleteFunc(slices.Clone(m.choices.all), func(c choice) bool { return c.ended != "" && slices.Contains(ids, c.ID) }))
	}
}

func (m *Model) forgottenIDs() (ids []string) {
	for i := range m.choices.all {
		if m.choices.all[i].ended != "" {
			ids = append(ids, m.choices.all[i].ID)
		}
	}
	return ids
}

// forgottenMsg says what was forgotten.
type forgottenMsg struct {
	id   string
	got  admin.Choices
	err  error
	line string
}

// forget asks whether the choice with the cursor is to be forgotten.
func (m *Model) forget() {
	c := m.choices.row()
	if c == nil || c.ended != "" {
		m.note = "no choice to forget"
		return
	}
	id, line, d := c.ID, inOneLine(&c.Choice), m.daemon
	m.confirm = &confirm{text: "forget " + line + "?", yes: func() tea.Cmd {
		return func() tea.Msg {
			var got admin.Choices
			err := d.Call(admin.MethodChoicesForget, map[string][]string{"choiceIds": {id}}, &got)
			return forgottenMsg{id, got, err, line}
		}
	}}
}

func (m *Model) forgotten(msg *forgottenMsg) {
	m.reached(msg.err)
	ended := ""
	switch {
	case gone(msg.err):
		ended, m.note = "had ended before", "the choice had ended before: nothing was forgotten"
	case msg.err != nil && m.lost == "":
		m.note = "not forgotten: " + words(msg.err)
	case msg.err != nil:
		m.note = "the daemon did not say whether it is forgotten"
	case msg.got.Pending:
		ended = "forgotten"
		m.choices.version++
		m.note = "forgotten from now on, but that could not be stored, and a restart may undo it: make space on the disk"
	default:
		ended, m.note = "forgotten", "forgotten: "+msg.line
		m.changedBy(msg.got.Undo)
	}
	for i := range m.choices.all {
		if c := &m.choices.all[i]; c.ID == msg.id && ended != "" {
			c.ended = ended
		}
	}
	m.choices.choose()
}

// changedBy notes a change, so that u takes it back, and says so.
func (m *Model) changedBy(ids []string) {
	m.choices.version++
	if len(ids) > 0 {
		m.changes = append(m.changes, ids)
		m.note += "; u takes it back"
	}
}

// gone reports whether an error says that a choice does not exist.
func gone(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && e.Code == admin.CodeNoChoice
}

// changedMsg says what choices have taken the place of one.
type changedMsg struct {
	id  string
	got admin.Choices
	err error
}

// changed takes over what a choice has become.
func (m *Model) changed(msg *changedMsg) {
	m.reached(msg.err)
	switch {
	case msg.err != nil && m.lost == "":
		m.note = "not changed: " + words(msg.err)
		return
	case msg.err != nil:
		m.note = "the daemon did not say whether it is changed"
		return
	}
	var list []choice
	for i := range m.choices.all {
		c := m.choices.all[i]
		if c.ID != msg.id {
			list = append(list, c)
			continue
		}
		for n := range msg.got.Choices {
			list = append(list, choice{Choice: msg.got.Choices[n]})
		}
		if m.choices.at == msg.id && len(msg.got.Choices) > 0 {
			m.choices.at = msg.got.Choices[0].ID
		}
	}
	m.choices.set(list)
	for n := range msg.got.Choices {
		m.note = "now: " + inOneLine(&msg.got.Choices[n])
	}
	m.changedBy(msg.got.Undo)
}
