package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/socket/admin"
)

const (
	recordsPage = 100 // how many decisions are asked for at a time
	maxPages    = 20  // how many pages are read for one key, where a filter selects few
	followPause = 250 * time.Millisecond
)

type record = decisions.Record

// log is the section of decisions, the newest first.
type log struct {
	rows[record]
	selected  decisions.RecordFilter // what the daemon selects
	local     bool                   // words select besides
	version   int                    // of the filter: what was asked for with an earlier one is dropped
	older     int64                  // where older decisions begin, 0 if there are none
	pages     int                    // that may still be read for the last key
	loading   bool
	following bool
	paused    bool
	news      bool // newer ones were made, and are not in the list
	known     bool
}

// recordsMsg is a page of decisions.
type recordsMsg struct {
	got     admin.Records
	err     error
	older   bool
	version int
}

// loadRecords asks for the newest decisions, or for older ones than the list has.
func (m *Model) loadRecords(older bool) tea.Cmd {
	s := &m.decisions
	if s.loading || older && s.older == 0 {
		return nil
	}
	s.loading = true
	f, version, d := s.selected, s.version, m.daemon
	f.Limit = recordsPage
	if older {
		f.Before = s.older
	} else {
		s.pages = maxPages
	}
	return func() tea.Msg {
		var got admin.Records
		err := d.Call(admin.MethodList, f, &got)
		return recordsMsg{got, err, older, version}
	}
}

func (m *Model) setRecords(msg *recordsMsg) tea.Cmd {
	s := &m.decisions
	s.loading = false
	m.reached(msg.err)
	switch {
	case msg.version != s.version:
		return m.loadRecords(false)
	case msg.err != nil:
		return nil
	}
	list := make([]record, 0, len(msg.got.Records))
	for _, r := range slices.Backward(msg.got.Records) {
		if r != nil {
			list = append(list, *r)
		}
	}
	s.known = true
	if msg.older {
		s.set(append(s.all, list...))
	} else {
		following := s.position() <= 0
		s.news = false
		s.set(list)
		if following {
			s.moveTo(0)
		}
	}
	s.older = msg.got.Next
	s.pages--
	if s.older != 0 && s.pages > 0 && s.length()-max(s.position(), 0) < m.height {
		return m.loadRecords(true)
	}
	return nil
}

// followedMsg says that decisions were made, or that none were for a while.
type followedMsg struct {
	made    bool
	err     error
	version int
}

// follow waits for decisions, while they are looked at. The daemon answers when there are any.
func (m *Model) follow() tea.Cmd {
	s := &m.decisions
	if m.section != decisionsSection || s.following || s.paused || s.news || !s.known || m.lost != "" {
		return nil
	}
	s.following = true
	f, version, d := s.selected, s.version, m.daemon
	f.Limit = 1
	if len(s.all) > 0 {
		f.After = s.all[0].Seq
	}
	return func() tea.Msg {
		var got admin.Records
		err := d.Call(admin.MethodFollow, f, &got)
		return followedMsg{len(got.Records) > 0, err, version}
	}
}

// followed adds new decisions to the list if the cursor is at the newest one, and otherwise only
// notes that there are some.
func (m *Model) followed(msg *followedMsg) tea.Cmd {
	s := &m.decisions
	s.following = false
	if msg.err != nil {
		m.reached(msg.err)
		return nil // the next tick follows again
	}
	if !msg.made || msg.version != s.version {
		return m.follow()
	}
	s.news = true
	if s.paused || m.section != decisionsSection || s.position() > 0 {
		return nil
	}
	return m.after(followPause, newestMsg{})
}

// newestMsg asks for the newest decisions.
type newestMsg struct{}

// newest shows the newest decisions, if the cursor is on the first one.
func (m *Model) newest() tea.Cmd {
	s := &m.decisions
	if s.paused || !s.news || s.position() > 0 {
		return nil
	}
	return m.loadRecords(false)
}

func (s *log) title(*Model) string { return "decisions" }

func (s *log) more() bool { return s.older != 0 }

func (s *log) state(*Model) string {
	switch {
	case s.paused:
		return "paused; space goes on"
	case s.news && s.position() > 0:
		return "there are newer decisions; g shows them"
	case s.local && s.older != 0:
		return fmt.Sprintf("%d decisions looked through; G looks further back", len(s.all))
	}
	return ""
}

func (s *log) empty() string {
	if !s.known {
		return "reading the log"
	}
	return "no decisions"
}

func (s *log) filter(words []string) {
	var f decisions.RecordFilter
	var local []string
	for _, w := range words {
		name, value, _ := strings.Cut(w, ":")
		switch {
		case value == "":
			local = append(local, w)
		case name == "verdict" && (value == "allow" || value == "ask" || value == "deny"):
			f.Verdict = decisions.Verdict(value)
		case name == "by":
			f.By = decisions.DecidedBy(value)
		case name == "agent":
			f.Agent = value
		case name == "tool":
			f.Tool = value
		case name == "session":
			f.Session = value
		case name == "project":
			f.Project = value
		case name == "path":
			f.Path = value
		case name == "host":
			f.Host = value
		default:
			local = append(local, w)
		}
	}
	s.match, s.local = matching(local, func(r *record) string { return recordLine(r, time.Time{}, narrow) + " " + recordDetails(r) }), len(local) > 0
	if f != s.selected {
		s.selected, s.older, s.known = f, 0, false
		s.version++
		s.all = nil
	}
	s.choose()
}

func (s *log) line(m *Model, place int) (text, as string) {
	r := &s.all[s.shown[place]]
	if r.Unreadable != "" {
		return recordLine(r, m.now(), m.width), "ended"
	}
	return recordLine(r, m.now(), m.width), string(r.Decision.Verdict)
}

// recordLine is a decision in one line, for a screen of so many columns: with its day if that is not today.
func recordLine(r *record, now time.Time, width int) string {
	at := r.Time.Local().Format("15:04:05")
	if r.Time.Local().Format(time.DateOnly) != now.Local().Format(time.DateOnly) {
		at = r.Time.Local().Format("01-02 15:04")
	}
	pad := 14
	if width < narrow {
		pad = 5
	}
	if r.Unreadable != "" {
		return fmt.Sprintf("%s  %-*s  %s", at, pad, "unreadable", display.Display(r.Unreadable))
	}
	return fmt.Sprintf("%s  %-*s  %s  (%s)", at, pad, records.VerdictAndOutcome(r), records.Summary(r), display.Display(cmp.Or(r.Agent.Name, r.Client.Name, r.Protocol)))
}

func (s *log) details(*Model) string {
	if r := s.row(); r != nil {
		return recordDetails(r)
	}
	return ""
}

func recordDetails(r *record) string {
	var b strings.Builder
	d := &r.Decision
	if r.Unreadable != "" {
		fmt.Fprintf(&b, "this row of the log is damaged: %s\ndecision %s, %s\n", display.Display(r.Unreadable), display.Display(d.ID), r.Time.Local().Format(time.DateTime))
		return b.String()
	}
	fmt.Fprintf(&b, "%s: %s\n", d.Verdict, safe(d.Reason))
	for i := range d.Effects {
		e := &d.Effects[i]
		fmt.Fprintf(&b, "%s %s\n", cli.Marks[e.Verdict], safe(e.Text))
		for _, rule := range e.Rules {
			fmt.Fprintf(&b, "    %s %s (%s)\n", rule.Layer, display.Display(cmp.Or(rule.Title, rule.ID)), display.Display(rule.At))
		}
		if e.ChoiceID != "" {
			fmt.Fprintf(&b, "    choice %s\n", display.Display(e.ChoiceID))
		}
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(&b, "and %s\n", cli.Plural(r.LeftOut, "effect"))
	}
	fmt.Fprintf(&b, "%s, decided by %s\n", r.Time.Local().Format(time.DateTime), d.By)
	fmt.Fprintf(&b, "%s, %s\n", display.Display(cmp.Or(r.Agent.Name, "?")), display.Display(r.Tool))
	if r.Project != "" {
		fmt.Fprintf(&b, "in %s\n", display.Display(r.Project))
	}
	if a := r.Answer; a != nil {
		fmt.Fprintf(&b, "the person answered %s at %s%s\n", a.Verdict, a.Time.Local().Format("15:04:05"), account.AnsweredBy(a))
	}
	fmt.Fprintf(&b, "decision %s\n", display.Display(d.ID))
	return b.String()
}
