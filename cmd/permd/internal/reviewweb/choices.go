package reviewweb

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// choicesOfPage is how many choices a page lists.
const choicesOfPage = 100

// choiceView is a choice with what is said of it.
type choiceView struct {
	admin.Choice
	Parts []admin.ChoicePart
	Where string
	Marks []string
}

func viewOfChoice(c *admin.Choice) choiceView {
	return choiceView{*c, choices.Parts(c), choices.Scope(c), marksOf(c)}
}

// Narrow is the command that gives the choice the line that it was used for.
func (v choiceView) Narrow() string { return choices.NarrowCommand(&v.Choice) }

// marksOf says what is to be known of a choice before it is relied on.
func marksOf(c *admin.Choice) (marks []string) {
	switch {
	case c.Changed != "":
		marks = append(marks, "of an earlier permd: "+c.Changed)
	case c.Unconfirmed:
		marks = append(marks, "not confirmed, so not used")
	case c.Matches == 0:
		marks = append(marks, "never used")
	case c.Matches == 1:
		marks = append(marks, "used once")
	default:
		marks = append(marks, fmt.Sprintf("used %d times", c.Matches))
	}
	if c.Refused != "" {
		marks = append(marks, "does not apply: "+c.Refused)
	}
	if c.DeniedBy != "" {
		marks = append(marks, "of no use: org denies it")
	}
	if c.UsedFor != nil {
		marks = append(marks, choices.UsedFor(c))
	}
	if c.CoveredBy != "" {
		marks = append(marks, "covered by "+c.CoveredBy)
	}
	if c.Dormant {
		marks = append(marks, "dormant")
	}
	if !c.Expires.IsZero() {
		marks = append(marks, "until "+c.Expires.Local().Format("2006-01-02 15:04"))
	}
	if c.BoundTo != "" {
		marks = append(marks, "bound to "+c.BoundTo)
	}
	return marks
}

// choiceFilter is what a person has typed to select choices.
type choiceFilter struct{ Kind, Verdict, Scope, State, Agent, Tool, Project, Text string }

// Any reports whether something is typed.
func (f choiceFilter) Any() bool { return f != choiceFilter{} }

// query is the filter for the daemon.
func (f *choiceFilter) query() admin.ChoiceFilter {
	q := admin.ChoiceFilter{Kind: f.Kind, Verdict: decisions.Verdict(f.Verdict), Scope: f.Scope, Agent: f.Agent, Tool: f.Tool, Project: f.Project, Text: f.Text}
	switch f.State {
	case "dormant":
		q.Dormant = true
	case "covered":
		q.Covered = true
	case "wider":
		q.Wider = true
	case "useless":
		q.Useless = true
	case "unconfirmed":
		q.Unconfirmed = true
	case "expiring":
		q.ExpiringIn = int64(expiringSoon / time.Second)
	}
	return q
}

// expiringSoon is how soon a choice ends that is called expiring.
const expiringSoon = 7 * 24 * time.Hour

func (s *Server) choicesPage(w http.ResponseWriter, r *http.Request) {
	v := s.view(s.watch.look(r.Context()), "choices", "Choices")
	q := r.URL.Query()
	f := choiceFilter{q.Get("kind"), q.Get("verdict"), q.Get("scope"), q.Get("state"), q.Get("agent"), q.Get("tool"), q.Get("project"), q.Get("text")}
	var page admin.Choices
	err := s.daemon.call(r.Context(), admin.MethodChoicesList, admin.ChoiceQuery{After: q.Get("after"), Limit: choicesOfPage, Newest: true, ChoiceFilter: f.query()}, &page)
	if e, ok := errors.AsType[*client.Error](err); ok && e.Code == socket.CodeParams {
		s.refuse(w, &refusal{http.StatusBadRequest, "There is no such filter", message(err)})
		return
	}
	if err != nil {
		s.fail(w, r, v, fmt.Errorf("listing choices: %w", err))
		return
	}
	list, confirm := make([]choiceView, 0, len(page.Choices)), false
	for i := range page.Choices {
		list = append(list, viewOfChoice(&page.Choices[i]))
		confirm = confirm || page.Choices[i].Unconfirmed || page.Choices[i].Changed != ""
	}
	more := ""
	if page.Next != "" {
		q.Set("after", page.Next)
		more = q.Encode()
	}
	s.render(w, http.StatusOK, "choices", struct {
		view
		Filter         choiceFilter
		Kinds          []effects.Kind
		Scopes, States []string
		Choices        []choiceView
		Confirm        bool // one of them can be
		All, Found     int
		More           string
	}{v, f, pattern.Kinds, scopes, states, list, confirm, page.All, page.Total, more})
}

var (
	scopes = []string{"session", "session+children", "project", "user"}
	states = []string{"dormant", "covered", "wider", "useless", "unconfirmed", "expiring"}
)

func (s *Server) choicePage(w http.ResponseWriter, r *http.Request, id string) {
	v := s.view(s.watch.look(r.Context()), "choices", "Choice")
	var got admin.Choices
	err := s.daemon.call(r.Context(), admin.MethodChoicesShow, map[string][]string{"choiceIds": {id}}, &got)
	if e, ok := errors.AsType[*client.Error](err); ok && e.Code == admin.CodeNoChoice {
		s.result(w, r, http.StatusNotFound, outcome{view: v, Problem: "There is no choice of that id: it was forgotten, has expired, or never existed.", Back: "choices"})
		return
	}
	if err != nil {
		s.fail(w, r, v, err)
		return
	}
	c := viewOfChoice(&got.Choices[0])
	line := ""
	if len(c.Parts) == 1 && c.Parts[0].Line {
		line = c.Parts[0].Rule
	}
	v.Title = "Choice: " + cli.Clip(display.Display(c.Parts[0].Rule), 80)
	s.render(w, http.StatusOK, "choice", struct {
		view
		Choice   choiceView
		Line     string // that can be changed, "" if none can
		Commands []string
	}{v, c, line, choices.Commands(&c.Choice)[:1]}) // it has a button to confirm
}

// changeChoices forgets, confirms or changes the choices of a form.
func (s *Server) changeChoices(w http.ResponseWriter, r *http.Request, action string) {
	o := outcome{view: s.view(s.watch.state(), "choices", "Choices"), Back: "choices"}
	ids := r.PostForm["id"]
	if len(ids) == 0 || len(ids) > admin.MaxList {
		o.Problem = "No choice was selected. Nothing was changed."
		s.result(w, r, http.StatusBadRequest, o)
		return
	}
	var done admin.Choices
	var err error
	var verb string
	switch action {
	case "forget":
		verb = "forgotten"
		err = s.daemon.call(r.Context(), admin.MethodChoicesForget, map[string][]string{"choiceIds": ids}, &done)
	case "confirm":
		verb = "confirmed"
		err = s.daemon.call(r.Context(), admin.MethodChoicesConfirm, map[string][]string{"choiceIds": ids}, &done)
	case "change":
		verb = "changed"
		var change admin.ChangedChoices
		if change, err = changeOf(ids, r.PostForm); err == nil {
			err = s.daemon.call(r.Context(), admin.MethodChoicesChange, change, &done)
		}
	default:
		s.refuse(w, &refusal{http.StatusNotFound, "There is no such page", "Nothing was changed."})
		return
	}
	switch e, refused := errors.AsType[*client.Error](err); {
	case errors.Is(err, client.ErrUnreachable):
		o.Problem = "The daemon did not confirm it. Look at the list when it runs again."
		s.result(w, r, http.StatusServiceUnavailable, o)
		return
	case refused && e.Code == admin.CodeNoChoice:
		o.Problem = "Nothing was changed: " + e.Message + ". It was forgotten meanwhile, or has expired."
		s.result(w, r, http.StatusConflict, o)
		return
	case err != nil:
		o.Problem = "Nothing was changed: " + strings.TrimPrefix(message(err), "invalid params: ")
		s.result(w, r, http.StatusBadRequest, o)
		return
	}
	o.Done = cli.Plural(len(done.Choices), "choice") + " " + verb + "."
	if done.Pending {
		o.Details = append(o.Details, "It holds, but could not be stored yet: a restart may bring it back.")
	}
	for i := range done.Choices {
		c := &done.Choices[i]
		o.Details = append(o.Details, fmt.Sprintf("%s %s %s (%s)", c.Verdict, c.Kind, cli.Clip(choices.Parts(c)[0].Rule, 120), choices.Scope(c)))
	}
	o.Undo = done.Undo
	s.result(w, r, http.StatusOK, o)
}

// changeOf reads what a form changes of choices.
func changeOf(ids []string, f url.Values) (admin.ChangedChoices, error) {
	c, changes, err := possibleChange(ids, f)
	if err == nil && !changes {
		err = errors.New("the form names no other line, scope or time limit")
	}
	return c, err
}

// possibleChange is changeOf for a form that may change nothing yet.
func possibleChange(ids []string, f url.Values) (c admin.ChangedChoices, changes bool, err error) {
	c = admin.ChangedChoices{IDs: ids, Scope: f.Get("scope"), Dir: f.Get("dir")}
	if line := strings.TrimSpace(f.Get("line")); line != strings.TrimSpace(f.Get("former")) {
		if c.Line = line; line == "" {
			return c, false, errors.New("the line is empty")
		}
	}
	switch limit := f.Get("expires"); limit {
	case "":
	case "never":
		c.Forever = true
	default:
		c.ExpiresIn, err = expiry(limit)
	}
	if c.Scope != "project" {
		c.Dir = ""
	}
	return c, c.Line != "" || c.Scope != "" || c.ExpiresIn != 0 || c.Forever, err
}

// pastView is a change with what it was about.
type pastView struct {
	admin.PastChange
	Lines []string
}

func (s *Server) changesPage(w http.ResponseWriter, r *http.Request) {
	v := s.view(s.watch.look(r.Context()), "choices", "Changes of choices")
	var past admin.Past
	if err := s.daemon.call(r.Context(), admin.MethodChoicesHistory, struct{}{}, &past); err != nil {
		s.fail(w, r, v, err)
		return
	}
	list := make([]pastView, 0, len(past.Changes))
	for _, c := range past.Changes {
		p := pastView{PastChange: c}
		for i := range c.Choices {
			p.Lines = append(p.Lines, pastLine(&c.Choices[i]))
		}
		list = append(list, p)
	}
	s.render(w, http.StatusOK, "changes", struct {
		view
		Changes []pastView
	}{v, list})
}

func pastLine(c *admin.PastChoice) string {
	return fmt.Sprintf("%s %s %s %s (%s)", cli.Either(c.Ended, "−", "+"), c.Verdict, c.Kind, cli.Clip(choices.Parts(&c.Choice)[0].Rule, 120), choices.Scope(&c.Choice))
}

// takeBack undoes a change.
func (s *Server) takeBack(w http.ResponseWriter, r *http.Request, id string) {
	o := outcome{view: s.view(s.watch.state(), "choices", "Changes of choices"), Back: "changes"}
	var done admin.Undone
	err := s.daemon.call(r.Context(), admin.MethodChoicesUndo, admin.Undo{ID: id}, &done)
	switch {
	case errors.Is(err, client.ErrUnreachable):
		o.Problem = "The daemon did not confirm it. Look at the list of changes when it runs again."
		s.result(w, r, http.StatusServiceUnavailable, o)
		return
	case err != nil:
		o.Problem = "Nothing was taken back: " + message(err)
		s.result(w, r, http.StatusConflict, o)
		return
	}
	o.Done = fmt.Sprintf("Taken back: %s of %s.", done.What, done.Time.Local().Format("2006-01-02 15:04:05"))
	add := func(what string, list []admin.PastChoice) {
		for i := range list {
			c := &list[i]
			line := fmt.Sprintf("%s: %s %s %s (%s)", what, c.Verdict, c.Kind, cli.Clip(choices.Parts(&c.Choice)[0].Rule, 120), choices.Scope(&c.Choice))
			if c.Why != "" {
				line += ": " + c.Why
			}
			if c.Erased && c.Verdict == decisions.Allow {
				line += "; a text of it was erased, and is not back"
			}
			o.Details = append(o.Details, line)
		}
	}
	add("forgotten", done.Ended)
	add("holds again", done.Restored)
	add("stays forgotten", done.NotRestored)
	o.Undo = []string{done.ID}
	s.result(w, r, http.StatusOK, o)
}
