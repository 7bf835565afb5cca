package reviewweb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// maxShown bounds the questions of a page; the others follow when these are answered.
const maxShown = 50

// questionView is one question that waits.
type questionView struct {
	admin.Question
	Base, Form string
}

// Count is where it is said what a width would have matched. It says nothing yet.
func (q questionView) Count(width string) widthCount {
	return widthCount{DecisionID: q.DecisionID, Width: width}
}

// goneView is a question that no longer waits.
type goneView struct{ ID, Text string }

// scopeWords say where an answer is remembered.
var scopeWords = map[string]string{
	"": "choose where", "session": "in this session", "session+children": "in this session and those below it", "project": "in this project", "user": "everywhere",
}

func (s *Server) questionViews(list []admin.Question) []questionView {
	views := make([]questionView, 0, min(len(list), maxShown))
	for _, q := range list[:min(len(list), maxShown)] {
		q.Widths = slices.Clone(q.Widths)
		for i := range q.Widths {
			if width := &q.Widths[i]; !strings.Contains(width.Label, "(in this ") {
				width.Label += " (" + cmp.Or(scopeWords[width.Scope], width.Scope) + ")"
			}
		}
		q.RejectWidths = slices.Clone(q.RejectWidths)
		for i := range q.RejectWidths {
			width := &q.RejectWidths[i]
			width.Scope = cmp.Or(scopeWords[width.Scope], width.Scope)
		}
		views = append(views, questionView{q, s.guard.base, s.guard.form})
	}
	return views
}

func (s *Server) questionsPage(w http.ResponseWriter, r *http.Request) {
	now := s.watch.look(r.Context())
	v := s.view(now, "questions", "Questions")
	v.Watch = "page=questions"
	s.render(w, http.StatusOK, "questions", struct {
		view
		Questions []questionView
		More      int
	}{v, s.questionViews(now.Waiting), max(0, len(now.Waiting)-maxShown)})
}

// questionNews adds the questions that a page does not show yet, and those that no longer wait.
func (s *Server) questionNews(ctx context.Context, n *news, now state, known []string) {
	if now.Down {
		return // nothing is known of them
	}
	known = known[:min(len(known), maxShown)]
	for _, q := range s.questionViews(now.Waiting) {
		if !slices.Contains(known, q.DecisionID) && !s.watch.isOwn(q.DecisionID) {
			n.New = append(n.New, q)
		}
	}
	for _, id := range known {
		if !slices.ContainsFunc(now.Waiting, func(q admin.Question) bool { return q.DecisionID == id }) && !s.watch.isOwn(id) {
			n.Gone = append(n.Gone, goneView{id, s.whatBecame(ctx, id)})
		}
	}
	if len(n.New) > 0 {
		q := &n.New[0]
		n.Say = "New question: " + cli.Clip(display.Display(q.Reason), 120)
		if len(q.Effects) > 0 {
			n.Say = "New question: " + cli.Clip(display.Display(q.Effects[0]), 120)
		}
	}
}

// whatBecame says what became of a question that no longer waits.
func (s *Server) whatBecame(ctx context.Context, id string) string {
	var rec decisions.Record
	if err := s.daemon.call(ctx, admin.MethodShow, map[string]string{"decisionId": id}, &rec); err == nil && rec.Answer != nil {
		return fmt.Sprintf("It was %s at %s%s.", rec.Answer.Word(), rec.Answer.Time.Local().Format("15:04:05"), account.AnsweredBy(rec.Answer))
	}
	return "It no longer waits: its client has gone or waits no longer, its turn was cancelled, or it was decided by a choice or by rules."
}

// maxExpiry bounds the time limit of a choice, in seconds: ten years.
const maxExpiry = 10 * 365 * 24 * 3600

// expiry reads a time limit in seconds, 0 for none.
func expiry(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maxExpiry {
		return 0, errors.New("the time limit is not one of the list")
	}
	return n, nil
}

// answer gives the person's answer to a question.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, id string) {
	v := s.view(s.watch.state(), "questions", "Answer")
	o := outcome{view: v, ID: "q-" + id, Back: "questions"}
	f := r.PostForm
	refused := s.watch.answering(id)
	counts := false
	defer func() {
		if !counts {
			refused()
		}
	}()
	var err error
	switch f.Get("answer") {
	case "allow":
		a := admin.Approval{DecisionID: id, Width: f.Get("width"), Via: author.Web}
		if a.Width != "" {
			a.Scope = f.Get("scope")
			if a.ExpiresIn, err = expiry(f.Get("expires")); err != nil {
				o.Problem = err.Error()
				s.result(w, r, http.StatusBadRequest, o)
				return
			}
		}
		var done admin.Approved
		if err = s.daemon.call(r.Context(), admin.MethodQuestionsAllow, a, &done); err == nil {
			o.Done, o.Details, o.Undo = allowed(&done)
		}
	case "deny":
		no := admin.Denial{DecisionID: id, Width: f.Get("never"), Via: author.Web}
		if no.Width != "" {
			no.Scope = f.Get("scope")
			if no.ExpiresIn, err = expiry(f.Get("expires")); err != nil {
				o.Problem = err.Error()
				s.result(w, r, http.StatusBadRequest, o)
				return
			}
		}
		var done admin.Denied
		if err = s.daemon.call(r.Context(), admin.MethodQuestionsDeny, no, &done); err == nil {
			o.Done, o.Details, o.Undo = denied(&done)
		}
	default:
		o.Problem = "There was no answer in the form. Nothing was changed."
		s.result(w, r, http.StatusBadRequest, o)
		return
	}
	if err == nil {
		counts = true
		s.result(w, r, http.StatusOK, o)
		return
	}
	status := http.StatusInternalServerError
	o.Problem = "The answer does not count: " + message(err)
	switch e, refused := errors.AsType[*client.Error](err); {
	case refused && e.Code == admin.CodeNoDecision:
		status, counts = http.StatusConflict, true // its page says what became of it
		o.Problem = "Your answer does not count. " + s.whatBecame(r.Context(), id)
	case refused && e.Code == socket.CodeParams:
		status = http.StatusBadRequest
	case errors.Is(err, client.ErrUnreachable):
		status = http.StatusServiceUnavailable
		o.Problem = "The daemon did not confirm the answer. Load the page again when it runs: a question that is still there was not answered."
	}
	s.result(w, r, status, o)
}

// allowed says what a yes has done.
func allowed(done *admin.Approved) (text string, details, undo []string) {
	switch {
	case done.Told && len(done.Stored) == 0:
		text = "Allowed once. The client that waited has the answer; nothing is remembered."
	case done.Told:
		text = "Allowed. The client that waited has the answer."
	case !done.Until.IsZero():
		text = "Allowed once, in its session, until " + done.Until.Local().Format("15:04:05") + ": tell the agent to try again. Nothing is remembered."
	default:
		text = "Allowed."
	}
	return text, stored(done.Stored, done.NotLogged), done.Undo
}

// denied says what a no has done.
func denied(done *admin.Denied) (text string, details, undo []string) {
	text = "Denied."
	switch {
	case done.TakenBack:
		text = "Taken back: the call is not allowed any more."
	case len(done.Stored) == 0:
		text = "Denied. Nothing is remembered."
	}
	return text, stored(done.Stored, done.NotLogged), done.Undo
}

// stored says what an answer has left.
func stored(list []decisions.StoredChoice, notLogged bool) (said []string) {
	said = choices.Stored(list)
	if notLogged {
		said = append(said, "The answer is not in the decision log, which could not be written.")
	}
	return said
}
