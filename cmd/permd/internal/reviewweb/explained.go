package reviewweb

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/explain"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
)

const (
	// againLimit is how long a page waits until a call was decided again.
	againLimit = 15 * time.Second
	// afterwards is how many decisions of the same session are shown after one.
	afterwards = 5
)

// fact is a line of what is known.
type fact struct{ Name, Value string }

// decisionView is the page of one decision.
type decisionView struct {
	view
	Record  *decisions.Record
	Words   string
	X       *explain.Explanation
	Facts   []fact
	Claims  []fact
	Next    []row
	Waits   bool // for the person
	Why     string
	CanTry  bool // its call may be decided again
	Outcome string
}

func (s *Server) decisionPage(w http.ResponseWriter, r *http.Request, id string) {
	ctx := r.Context()
	v := s.view(s.watch.look(ctx), "decisions", "Decision")
	log, done, err := s.log(ctx)
	if err != nil {
		s.fail(w, r, v, err)
		return
	}
	defer done()
	rec, err := s.find(ctx, log, id)
	switch {
	case err != nil:
		s.fail(w, r, v, err)
		return
	case rec == nil:
		s.result(w, r, http.StatusNotFound, outcome{view: v, Problem: "The log has no decision of that id. It may have been removed because of its age or the log's size.", Back: "decisions"})
		return
	case rec.Unreadable != "":
		s.result(w, r, http.StatusInternalServerError, outcome{view: v, Problem: "This decision cannot be read: " + rec.Unreadable + ". Its row of the database is damaged; permd doctor says where the database is.", Back: "decisions"})
		return
	}
	p := decisionView{view: v, Record: rec, Words: records.VerdictAndOutcome(rec), Facts: factsOf(rec), Claims: claimsOf(rec)}
	p.Title = records.Summary(rec)
	p.Waits = slices.ContainsFunc(v.Now.Waiting, func(q admin.Question) bool { return q.DecisionID == rec.Decision.ID })
	if o := rec.Decision.Outcome; o != "" {
		p.Outcome = fmt.Sprintf("%s: %s", o, records.OutcomeText(o))
	}
	if records.Unanswered(rec) {
		if id, err := log.AskedAgain(ctx, rec); err == nil && id != "" { // else the page is without
			p.Facts = append(p.Facts, fact{"Asked again", id})
		}
	}
	s.explainTo(ctx, &p, r.URL.Query().Get("again") != "")
	if rec.Session.ID != "" && rec.Seq > 0 {
		next, err := log.Page(ctx, decisions.RecordFilter{Session: rec.Session.ID, After: rec.Seq, Limit: afterwards})
		if err == nil { // else the page is without
			for _, n := range next.Records {
				p.Next = append(p.Next, rowOf(n))
			}
		}
	}
	s.render(w, http.StatusOK, "decision", p)
}

// explainTo adds the explanation. If the daemon no longer knows how it decided, and the person
// asks for it, the call is decided again by the rules of then.
func (s *Server) explainTo(ctx context.Context, p *decisionView, again bool) {
	if c := s.reachable(ctx); c != nil {
		if x, err := explain.Fetch(ctx, c, p.Record.Decision.ID); err == nil {
			p.X = x
		}
	}
	if p.X == nil {
		p.X = explain.Record(ctx, p.Record, nil)
	}
	if p.X.Known {
		return
	}
	if !again {
		p.CanTry = true
		return
	}
	ctx, cancel := context.WithTimeout(ctx, againLimit)
	defer cancel()
	x, why, err := s.o.Again(ctx, p.Record)
	switch {
	case err != nil:
		p.Why = message(err)
	case why != "" || !x.Known:
		p.Why = why
	default:
		p.X = x
	}
}

// factsOf returns what permd itself knows of a request.
func factsOf(r *decisions.Record) (list []fact) {
	add := func(name, value string) {
		if value = strings.TrimSpace(value); value != "" {
			list = append(list, fact{name, value})
		}
	}
	add("Time", r.Time.Local().Format("2006-01-02 15:04:05.000"))
	add("Decided by", string(r.Decision.By))
	add("Agent", r.Agent.Name+" "+r.Agent.Version)
	add("Client", r.Client.Name+" "+r.Client.Version)
	add("Tool", r.Tool)
	add("Project", r.Project)
	add("Folder", r.Cwd)
	add("Session", r.Session.ID)
	add("Protocol", r.Protocol)
	add("Peer", fmt.Sprintf("uid %d, pid %d", r.Peer.UID, r.Peer.PID))
	switch a := r.Answer; {
	case a != nil:
		add("Answer", fmt.Sprintf("%s, at %s, after %s", a.Verdict, a.Time.Local().Format(time.DateTime), a.Time.Sub(r.Time).Round(100*time.Millisecond)))
		add("Answered by", account.AuthorInFull(a.Author, a.Verdict))
		add("Remembered", strings.Join(a.Choices, " "))
	case records.Unanswered(r):
		add("Answer", "none in permd")
	}
	if r.Ran != nil {
		add("Then run", r.Ran.Local().Format(time.DateTime)+", as was reported; that is no yes")
	}
	if r.Ended != nil {
		add("Ended", fmt.Sprintf("%s, as was reported at %s", r.Ended.As, r.Ended.Time.Local().Format(time.DateTime)))
	}
	add("Took", time.Duration(r.LatencyNS).Round(time.Microsecond).String())
	add("Rules", cli.Short(r.Decision.Policy.Digest))
	add("Id", r.Decision.ID)
	return list
}

// claimsOf returns what the agent says of its call.
func claimsOf(r *decisions.Record) (list []fact) {
	add := func(name, value string) {
		if value = strings.TrimSpace(value); value != "" {
			list = append(list, fact{name, value})
		}
	}
	add("Title", r.ClaimedTitle)
	add("Kind", r.ClaimedKind)
	add("Status", r.ClaimedStatus)
	add("User", r.ClaimedUser)
	add("Trace", r.ClaimedTrace)
	add("Asked before", r.Reconsiders)
	add("Options", strings.Join(r.ClaimedOptions, ", "))
	add("_meta", strings.Join(r.ClaimedMeta, ", "))
	for _, path := range r.ClaimedPaths {
		add("Path", path)
	}
	if r.MorePaths > 0 {
		add("More paths", strconv.Itoa(r.MorePaths))
	}
	return list
}
