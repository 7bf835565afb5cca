package reviewweb

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/client"
)

const (
	// rowsOfPage is how many decisions a page lists.
	rowsOfPage = 50
	// searchLimit is how long a page looks for decisions that are found by reading records. It
	// shows what was found, and goes on from there when asked.
	searchLimit = 2 * time.Second
)

// row is a decision in a list.
type row struct {
	ID, Words, What, Agent, Project, Reason string
	Time                                    time.Time
	Verdict                                 decisions.Verdict
	Unreadable                              string
}

func rowOf(r *decisions.Record) row {
	o := row{
		ID: r.Decision.ID, Words: records.VerdictAndOutcome(r), What: records.Summary(r), Agent: r.Agent.Name,
		Reason: r.Decision.Reason, Time: r.Time, Verdict: r.Decision.Verdict, Unreadable: r.Unreadable,
	}
	if r.Project != "" {
		o.Project = filepath.Base(r.Project)
	}
	if r.Unreadable != "" {
		o.Words, o.What, o.Verdict = "unreadable", "", ""
	}
	return o
}

// rowsOf returns records as rows, the newest first.
func rowsOf(recs []*decisions.Record) []row {
	rows := make([]row, 0, len(recs))
	for _, r := range slices.Backward(recs) {
		rows = append(rows, rowOf(r))
	}
	return rows
}

// newestRows returns the newest decisions.
func (s *Server) newestRows(ctx context.Context) ([]row, error) {
	recs, _, err := s.records(ctx, decisions.RecordFilter{Limit: rowsOfPage})
	return rowsOf(recs), err
}

// records returns the newest records that a filter selects, up to its limit, and where older
// ones begin, 0 if there are none.
func (s *Server) records(ctx context.Context, f decisions.RecordFilter) (recs []*decisions.Record, next int64, err error) {
	log, done, err := s.log(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	limit, until := f.Limit, time.Now().Add(searchLimit)
	for {
		got, err := log.Page(ctx, f)
		if err != nil {
			return nil, 0, fmt.Errorf("reading the journal: %w", err)
		}
		recs = append(slices.Clone(got.Records), recs...)
		if got.Next == 0 || len(recs) >= limit || time.Now().After(until) {
			return recs, got.Next, nil
		}
		f.Before, f.Limit = got.Next, limit-len(recs)
	}
}

// logFilter is what a person has typed to select decisions.
type logFilter struct {
	Verdict, By, Agent, Tool, Project, Path, Host, Session, Since, Until string
	Unasked                                                              bool
}

// Any reports whether something is typed.
func (l logFilter) Any() bool { return l != logFilter{} }

var verdicts = []string{string(decisions.Allow), string(decisions.Ask), string(decisions.Deny)}

// filterOf reads a filter from an address.
func filterOf(q url.Values, now time.Time) (l logFilter, f decisions.RecordFilter, err error) {
	l = logFilter{
		q.Get("verdict"), q.Get("by"), q.Get("agent"), q.Get("tool"), q.Get("project"), q.Get("path"), q.Get("host"), q.Get("session"),
		strings.TrimSpace(q.Get("since")), strings.TrimSpace(q.Get("until")), q.Get("unasked") != "",
	}
	f = decisions.RecordFilter{
		Limit: rowsOfPage, Verdict: decisions.Verdict(l.Verdict), By: decisions.DecidedBy(l.By), Agent: l.Agent, Tool: l.Tool,
		Project: l.Project, Path: l.Path, Host: l.Host, Session: l.Session, Unapproved: l.Unasked,
	}
	for _, at := range []struct {
		text string
		to   *time.Time
	}{{l.Since, &f.Since}, {l.Until, &f.Until}} {
		if at.text == "" {
			continue
		}
		var m cli.Moment
		if err := m.Set(at.text); err != nil {
			return l, f, fmt.Errorf("%q is no time: write 7d, today or 2026-11-28", at.text)
		}
		*at.to = m.At(now)
	}
	if l.Verdict != "" && !slices.Contains(verdicts, l.Verdict) || l.By != "" && !slices.Contains(records.Deciders, l.By) {
		return l, f, fmt.Errorf("the filter names no verdict, or nobody who decides")
	}
	return l, f, nil
}

func (s *Server) decisionsPage(w http.ResponseWriter, r *http.Request) {
	v := s.view(s.watch.look(r.Context()), "decisions", "Decisions")
	q := r.URL.Query()
	l, f, err := filterOf(q, time.Now())
	p := struct {
		view
		Filter   logFilter
		Deciders []string
		Rows     []row
		Older    string // the query of the next page
		Live     bool
		Held     bool // the person has stopped the list
		Problem  string
		Searched bool
		Verdicts []string
	}{view: v, Filter: l, Deciders: records.Deciders, Verdicts: verdicts, Held: q.Get("hold") != ""}
	if err != nil {
		p.Problem = err.Error()
		s.render(w, http.StatusBadRequest, "decisions", p)
		return
	}
	before := q.Get("before")
	if before != "" {
		if f.Before, err = strconv.ParseInt(before, 10, 64); err != nil || f.Before < 1 {
			p.Problem = "The page that is asked for does not exist."
			s.render(w, http.StatusBadRequest, "decisions", p)
			return
		}
	}
	recs, next, err := s.records(r.Context(), f)
	if err != nil {
		s.fail(w, r, v, err)
		return
	}
	p.Rows = rowsOf(recs)
	p.Live = before == "" && !l.Any() && !p.Held
	if p.Live {
		p.Watch = "page=decisions"
	}
	if next > 0 {
		q.Set("before", strconv.FormatInt(next, 10))
		q.Del("hold")
		p.Older, p.Searched = q.Encode(), len(recs) < rowsOfPage
	}
	s.render(w, http.StatusOK, "decisions", p)
}

// find returns the record that an id, or the beginning of one, names; nil if there is none.
func (s *Server) find(ctx context.Context, log *records.Log, id string) (*decisions.Record, error) {
	const minID, maxID = 4, 64
	if len(id) < minID || len(id) > maxID {
		return nil, nil
	}
	rec, err := log.Get(ctx, id)
	if err != nil || rec != nil {
		return rec, err
	}
	ids, err := log.IDs(ctx, nil, id, 2)
	if err != nil || len(ids) != 1 {
		return nil, err
	}
	return log.Get(ctx, ids[0])
}

// reachable returns the connection to the daemon, nil if there is none.
func (s *Server) reachable(ctx context.Context) *client.Client {
	c, err := s.daemon.client(ctx)
	if err != nil {
		return nil
	}
	return c
}
