package records

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/socket/admin"
)

// afterwards is how many decisions of the same session are shown after one.
const afterwards = 3

// Circumstances prints the fields of a record other than its decision, and what followed.
func (l *Log) Circumstances(ctx context.Context, s *cli.Streams, r *decisions.Record) error {
	if n := r.LeftOut; n > 0 {
		fmt.Fprintf(s.Out, "  and %s more, which the journal does not store\n", cli.Plural(n, "effect"))
	}
	if o := r.Decision.Outcome; o != "" {
		fmt.Fprintf(s.Out, "  outcome %s: %s\n", o, OutcomeText(o))
	}
	w := tabwriter.NewWriter(cli.Folded(s.Out, 12), 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value = strings.TrimSpace(value); value != "" {
			// Escape what a client sent: it may hold terminal sequences.
			fmt.Fprintf(w, "  %s\t%s\n", name, display.Display(value))
		}
	}
	line("time", r.Time.Local().Format("2006-01-02 15:04:05.000"))
	line("tool", r.Tool)
	line("declared", r.Declared)
	line("asked before", r.Reconsiders)
	line("claimed user", r.ClaimedUser)
	line("claimed trace", r.ClaimedTrace)
	line("claimed kind", r.ClaimedKind)
	line("claimed title", r.ClaimedTitle)
	for _, p := range r.ClaimedPaths {
		line("claimed path", p)
	}
	if r.MorePaths > 0 {
		line("more paths", strconv.Itoa(r.MorePaths))
	}
	line("claimed status", r.ClaimedStatus)
	line("claimed options", strings.Join(r.ClaimedOptions, ", "))
	line("claimed _meta", strings.Join(r.ClaimedMeta, ", "))
	line("agent", r.Agent.Name+" "+r.Agent.Version)
	line("client", r.Client.Name+" "+r.Client.Version)
	line("protocol", r.Protocol)
	session := r.Session.ID
	if above := r.Session.Ancestors; len(above) > 0 {
		session += ", below " + strings.Join(above, ", ")
	}
	line("session", session)
	line("project", r.Project)
	line("cwd", r.Cwd)
	line("peer", fmt.Sprintf("uid %d, pid %d", r.Peer.UID, r.Peer.PID))
	switch a := r.Answer; {
	case a != nil:
		line("answer", fmt.Sprintf("%s, by the person at %s, after %s", a.Verdict, a.Time.Local().Format(time.DateTime), a.Time.Sub(r.Time).Round(100*time.Millisecond)))
		line("author", account.AuthorInFull(a.Author, a.Verdict))
		if a.Allowed != nil {
			line("before", "allow, at "+a.Allowed.Local().Format(time.DateTime)+"; taken back before a call had used it")
			line("author", account.AuthorInFull(a.AllowedBy, decisions.Allow))
		}
		line("remembered", strings.Join(a.Choices, " "))
	case Unanswered(r):
		line("answer", "none in permd")
		again, err := l.AskedAgain(ctx, r)
		if err != nil {
			return fmt.Errorf("reading what followed: %w", err)
		}
		line("asked again", again)
	}
	if r.Ran != nil {
		line("then run", r.Ran.Local().Format(time.DateTime)+", as was reported; that is no yes: a harness that asks nobody runs it too")
	}
	if e := r.Ended; e != nil {
		as := e.As
		if as == "unknown" {
			as = "not known: it was sent, and may have run"
		}
		line("ended", fmt.Sprintf("%s, as was reported at %s", as, e.Time.Local().Format(time.DateTime)))
	}
	line("took", time.Duration(r.LatencyNS).Round(time.Microsecond).String())
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return l.after(ctx, s, r)
}

// Unanswered reports whether a question has no answer of a person.
func Unanswered(r *decisions.Record) bool {
	return r.Answer == nil && r.Decision.Verdict == decisions.Ask && r.Decision.Outcome == ""
}

// AskedAgain returns the id of the decision that has taken a question's place, "" if there is none
// among the next 1,000 of its session.
func (l *Log) AskedAgain(ctx context.Context, r *decisions.Record) (id string, err error) {
	if r.Session.ID == "" || r.Seq == 0 {
		return "", nil
	}
	next, err := l.Page(ctx, decisions.RecordFilter{Session: r.Session.ID, After: r.Seq, Limit: admin.MaxList})
	if err != nil {
		return "", err
	}
	for _, n := range next.Records {
		if n.Reconsiders == r.Decision.ID {
			return n.Decision.ID, nil
		}
	}
	return "", nil
}

// after prints the next decisions of the record's session.
func (l *Log) after(ctx context.Context, s *cli.Streams, r *decisions.Record) error {
	if r.Session.ID == "" || r.Seq == 0 {
		return nil
	}
	next, err := l.Page(ctx, decisions.RecordFilter{Session: r.Session.ID, After: r.Seq, Limit: afterwards})
	if err != nil {
		return fmt.Errorf("reading what followed: %w", err)
	}
	if len(next.Records) == 0 {
		return nil
	}
	fmt.Fprintln(s.Out, "  afterwards in the session:")
	t := cli.Table{Flexible: []int{3}}
	for _, r := range next.Records {
		what := Summary(r)
		if r.Unreadable != "" {
			what = "unreadable"
		}
		t.Row(" ", r.Time.Local().Format(time.TimeOnly), VerdictAndOutcome(r), what)
	}
	return t.Write(s.Out)
}

// outcomes describes each outcome.
var outcomes = map[decisions.Outcome]string{
	decisions.Passed:         "no rule denies it or asks about it, and actions of the client on the agent's behalf need no allow",
	decisions.Approved:       "the agent asked for the same just before and was allowed",
	decisions.RanUnprompted:  "ran without a request; the verdict is what permd would have answered",
	decisions.Gated:          "the agent did not ask about the call, but the client did about its actions, which were decided there",
	decisions.RanDespiteDeny: "reported as completed although it was denied; the verdict is what permd would answer now",
	decisions.Refused:        "denied, since its id stands for another call or for one that has run",
	decisions.Unmet:          "it lacks what its tool requires, and the caller was told so",
	decisions.Invalid:        "its input does not fit its tool, and the caller was told so",
}

// OutcomeText describes an outcome.
func OutcomeText(o decisions.Outcome) string {
	return cmp.Or(outcomes[o], "not known to this version")
}
