package review

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// answeredMsg says what the daemon made of an answer.
type answeredMsg struct {
	id      string
	said    string   // what has happened, "" if that is not known
	changes []string // what permd/choices.undo takes back
	err     error
}

// words are an error for a person.
func words(err error) string {
	return strings.TrimPrefix(err.Error(), "invalid params: ")
}

// answerable returns the question with the cursor, if a key may answer it now; else it says why not.
func (m *Model) answerable(held bool) *question {
	q := m.questions.row()
	switch {
	case q == nil:
		m.note = "no question waits"
	case m.lost != "":
		m.note = "the daemon is not reachable: nothing was answered"
	case q.ended != "":
		m.note = "this question has ended (" + q.ended + "): nothing was answered"
	case q.sending:
		m.note = "an answer is on its way"
	case held:
		m.note = "the key is held down: nothing was answered"
	case m.now().Sub(m.questions.arrived) < unread:
		m.questions.arrived = m.now() // so that a key that is held down answers nothing
		m.note = "this question has just come: look at it, then answer"
	default:
		return q
	}
	return nil
}

// ready reports whether a key would answer the question with the cursor now.
func (m *Model) ready() bool {
	q := m.questions.row()
	return q != nil && m.lost == "" && q.ended == "" && !q.sending && m.now().Sub(m.questions.arrived) >= unread
}

// send sends an answer to one question.
func (m *Model) send(id string, call func(d caller) answeredMsg) tea.Cmd {
	if q := m.of(id); q == nil || q.ended != "" || q.sending {
		m.note = "the question no longer waits: nothing was answered"
		return nil
	} else {
		q.sending = true
	}
	m.questions.answers++
	d := m.daemon
	return func() tea.Msg {
		msg := call(d)
		msg.id = id
		return msg
	}
}

// allowSeen does what allows a question, at once if the page has shown all that the call would do.
func (m *Model) allowSeen(q *question, do func() tea.Cmd) tea.Cmd {
	unseen := len(fold(q.what(), m.width)) - m.scroll - m.pane
	if unseen <= 0 {
		return do()
	}
	asked := q.Question
	m.confirm = &confirm{text: fmt.Sprintf("allow it, with %s not seen? (n, and space shows more)", cli.Plural(unseen, "line")), asked: &asked, yes: do}
	return nil
}

// allow answers with yes, and with a width remembers it.
func (m *Model) allow(a admin.Approval) tea.Cmd {
	a.Via = author.Review
	return m.send(a.DecisionID, func(d caller) (msg answeredMsg) {
		var done admin.Approved
		if msg.err = d.Call(admin.MethodQuestionsAllow, a, &done); msg.err != nil {
			msg.said = saidBefore(d, a.DecisionID, msg.err)
			return msg
		}
		said := choices.Approved(&done)
		if done.NotLogged {
			said = append(said, notLogged)
		}
		msg.said, msg.changes = strings.Join(said, "; "), done.Undo
		return msg
	})
}

// saidBefore says what a question was answered before an answer that does not count, "" if it is not
// known.
func saidBefore(d caller, id string, err error) string {
	var rec decisions.Record
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != admin.CodeNoDecision ||
		d.Call(admin.MethodShow, map[string]string{"decisionId": id}, &rec) != nil || rec.Answer == nil {
		return ""
	}
	return fmt.Sprintf("was %s at %s%s", rec.Answer.Word(), rec.Answer.Time.Local().Format("15:04:05"), account.AnsweredBy(rec.Answer))
}

// deny answers with no, and with a width remembers it.
func (m *Model) deny(no admin.Denial) tea.Cmd {
	no.Via = author.Review
	return m.send(no.DecisionID, func(d caller) (msg answeredMsg) {
		var done admin.Denied
		if msg.err = d.Call(admin.MethodQuestionsDeny, no, &done); msg.err != nil {
			msg.said = saidBefore(d, no.DecisionID, msg.err)
			return msg
		}
		said := choices.Denied(&done)
		if done.NotLogged {
			said = append(said, notLogged)
		}
		msg.said, msg.changes = strings.Join(said, "; "), done.Undo
		return msg
	})
}

const notLogged = "the answer is not in the decision log, which could not be written"

// answered takes over what became of an answer.
func (m *Model) answered(msg *answeredMsg) {
	m.questions.answers++
	var ended, note string
	refused, isRefused := errors.AsType[*client.Error](msg.err)
	switch {
	case msg.err == nil:
		ended, note = msg.said, msg.said
	case isRefused && refused.Code == admin.CodeNoDecision:
		ended = cmp.Or(msg.said, "was decided meanwhile, or its client has gone")
		note = "the question " + ended + ": your answer does not count"
	case isRefused:
		note = "the answer was not taken: " + words(refused)
	default:
		m.reached(msg.err)
		ended = "its answer is not known"
		note = "the daemon did not say whether the answer counts; permd log list does, when it is back"
	}
	m.note = note
	if q := m.of(msg.id); q != nil {
		if q.sending = false; ended != "" {
			q.ended = ended
		}
	}
	m.changedBy(msg.changes)
}

// limits are the time limits that a form offers.
var limits = []struct {
	name  string
	limit time.Duration
}{{"1 hour", time.Hour}, {"8 hours", 8 * time.Hour}, {"1 day", 24 * time.Hour}, {"7 days", 7 * 24 * time.Hour}, {"30 days", 30 * 24 * time.Hour}}

func limitNames() (names []string) {
	for _, l := range limits {
		names = append(names, l.name)
	}
	return names
}

func seconds(limit int) int64 { return int64(limits[limit].limit / time.Second) }

// allowForm lets the person choose what a yes is remembered as.
func (m *Model) allowForm(q *question) {
	if len(q.Widths) == 0 {
		m.note = "only once, not remembered: " + display.Display(q.NotRemembered)
		return
	}
	m.answerForm(q, "always allow", decisions.Allow, q.Widths, func(asked *admin.Question, w *decisions.Width) string {
		return strings.Join(asked.Effects, "\n") + "\nis allowed, and from now on\n    " + strings.ReplaceAll(strings.TrimSuffix(w.Rule, "\n"), "\n", "\n    ")
	}, func(id, width, scope string, limit int64) tea.Cmd {
		return m.allow(admin.Approval{DecisionID: id, Width: width, Scope: scope, ExpiresIn: limit})
	})
}

// denyForm lets the person choose what a no is remembered as.
func (m *Model) denyForm(q *question) {
	if len(q.RejectWidths) == 0 {
		m.note = "nothing of it can be remembered here: d denies it once, permd remember add --reject remembers a line"
		return
	}
	m.answerForm(q, "always deny", decisions.Deny, q.RejectWidths, func(asked *admin.Question, w *decisions.Width) string {
		return strings.Join(asked.Effects, "\n") + "\nis denied, and from now on every call with\n    " + strings.ReplaceAll(w.Label, "\n", "\n    ")
	}, func(id, width, scope string, limit int64) tea.Cmd {
		return m.deny(admin.Denial{DecisionID: id, Width: width, Scope: scope, ExpiresIn: limit})
	})
}

// answerForm lets the person choose one of the widths of a question, where it holds and how long.
func (m *Model) answerForm(
	q *question, title string, verdict decisions.Verdict, widths []decisions.Width,
	preview func(asked *admin.Question, w *decisions.Width) string, send func(id, width, scope string, limit int64) tea.Cmd,
) {
	asked := q.Question
	var labels []string
	for i := range widths {
		labels = append(labels, choices.OneLine(widths[i].Label))
	}
	scopes := []string{"", "session", "session+children", "project", "user"}
	named := make([]string, len(scopes))
	f := &form{title: title, asked: &asked, opened: m.now(), previews: map[string]previewsMsg{}}
	for i, s := range scopes {
		named[i] = scopeWords[s]
	}
	f.fields = []field{{name: "remember", options: labels}, {name: "where", options: named}, {name: "ends", options: append([]string{"never"}, limitNames()...)}}
	f.preview = func() string {
		w := &widths[f.fields[0].at]
		// Without a scope, that of the offer holds.
		f.fields[1].options[0] = "as offered: " + scopeWords[w.Scope]
		if w.Scope == "" {
			f.fields[1].options[0] = "choose one"
		}
		return preview(&asked, w) + "\n" + f.count(w.ID)
	}
	f.asks = func() admin.PreviewParams {
		return admin.PreviewParams{DecisionIDs: []string{asked.DecisionID}, Scope: scopes[f.fields[1].at], Verdict: verdict}
	}
	f.send = func() tea.Cmd {
		w := &widths[f.fields[0].at]
		scope := scopes[f.fields[1].at]
		if w.Scope == "" && scope == "" {
			m.note = "choose where it holds"
			m.form, f.at = f, 1
			return nil
		}
		limit := int64(0)
		if n := f.fields[2].at; n > 0 {
			limit = seconds(n - 1)
		}
		return send(asked.DecisionID, w.ID, scope, limit)
	}
	m.form = f
}

// explainedMsg is a text about what the cursor was on.
type explainedMsg struct {
	title, text string
	err         error
}

// explain shows why a decision was made, or a choice in full.
func (m *Model) explain() tea.Cmd {
	d := m.daemon
	if c := m.choices.row(); m.section == choicesSection && c != nil {
		id := c.ID
		return func() tea.Msg {
			var got admin.Choices
			err := d.Call(admin.MethodChoicesShow, map[string][]string{"choiceIds": {id}}, &got)
			var b strings.Builder
			for i := range got.Choices {
				renderChoice(&b, &got.Choices[i])
			}
			return explainedMsg{"choice " + id, b.String(), err}
		}
	}
	id := ""
	switch m.section {
	case questionsSection:
		if q := m.questions.row(); q != nil {
			id = q.DecisionID
		}
	case decisionsSection:
		if r := m.decisions.row(); r != nil && r.Unreadable == "" {
			id = r.Decision.ID
		}
	case rulesSection:
		if r := m.rules.row(); r != nil {
			id = r.latest
		}
	}
	if id == "" {
		m.note = "nothing to explain"
		return nil
	}
	m.note = "asking why"
	return func() tea.Msg {
		explained, err := d.Explain(id)
		return explainedMsg{"decision " + id, explained, err}
	}
}

func (m *Model) explained(msg *explainedMsg) {
	m.note = ""
	m.reached(msg.err)
	switch {
	case msg.err == nil && m.form == nil && m.confirm == nil && !m.filtering:
		m.page = &text{title: msg.title, body: msg.text}
	case msg.err != nil:
		m.note = fmt.Sprintf("cannot be explained: %s", words(msg.err))
	}
}
