package reviewweb

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/daemon"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/tally"
	"github.com/permd/permd/socket/admin"
)

const (
	overviewDays = 14
	// sampled is how many of the latest decisions, and of the latest questions, are read for
	// what the journal has no counts of.
	sampled = 200
	maxBars = 6
)

// overview is the first page.
type overview struct {
	view
	Status   *daemon.Status // nil while the daemon does not answer
	Problems []string
	Days     columns
	Deciders []bar
	Saved    int64 // questions that memory has answered
	Total    int64
	Asked    []bar
	AskedOf  int
	Slowest  []row
	Took     []string // of the slowest
	Median   string
	Sampled  int
	Rows     []row
	Costs    costs
}

func (s *Server) overviewPage(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	o := overview{view: s.view(s.watch.look(ctx), "overview", "Overview")}
	var st daemon.Status
	if err := s.daemon.call(ctx, admin.MethodStatus, struct{}{}, &st); err == nil {
		o.Status, o.Problems = &st, st.Problems()
	}
	now := time.Now()
	starts := make([]time.Time, 0, overviewDays+1)
	for day := -overviewDays + 1; day <= 1; day++ {
		starts = append(starts, cli.Midnight(now, day))
	}
	groups, err := s.tally(ctx, starts)
	if err != nil {
		s.fail(w, r, o.view, err)
		return
	}
	o.count(groups, starts)
	if err := s.sample(ctx, &o); err != nil {
		s.fail(w, r, o.view, err)
		return
	}
	o.Costs = s.costsNow(ctx)
	s.render(w, http.StatusOK, "overview", o)
}

// tally counts the decisions of the days.
func (s *Server) tally(ctx context.Context, starts []time.Time) ([]tally.Group, error) {
	log, done, err := s.log(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	f := decisions.RecordFilter{Since: starts[0], Until: starts[len(starts)-1]}
	var all []tally.Group
	for {
		got, err := log.Tally(ctx, f, []tally.By{tally.Day, tally.DecidedBy}, starts)
		if err != nil {
			return nil, fmt.Errorf("counting decisions: %w", err)
		}
		all = append(all, got.Groups...)
		if got.Next == 0 {
			return all, nil
		}
		f.Before = got.Next
	}
}

// count makes the plots of counts.
func (o *overview) count(groups []tally.Group, starts []time.Time) {
	days := make([]day, len(starts)-1)
	byName := map[string]*day{}
	for i := range days {
		days[i].At = starts[i]
		byName[starts[i].Format(time.DateOnly)] = &days[i]
	}
	by := map[string]int64{}
	for i := range groups {
		g := &groups[i]
		name := g.Name
		if at, err := time.Parse(time.RFC3339, name); err == nil { // the start of a day
			name = at.Local().Format(time.DateOnly)
		}
		switch d := byName[name]; {
		case g.By == tally.DecidedBy:
			by[g.Name] += g.All()
			o.Total += g.All()
			if g.Name == string(decisions.ByMemory) {
				o.Saved += g.Allow + g.Deny
			}
		case d != nil:
			d.Allow, d.Ask, d.Deny = d.Allow+g.Allow, d.Ask+g.Ask, d.Deny+g.Deny
		}
	}
	o.Days, o.Deciders = newColumns(days), barsOf(by)
}

// sample reads the latest decisions for what has no counts.
func (s *Server) sample(ctx context.Context, o *overview) error {
	recs, _, err := s.records(ctx, decisions.RecordFilter{Limit: sampled})
	if err != nil {
		return err
	}
	const latest, slow = 8, 5
	o.Rows = rowsOf(recs[max(0, len(recs)-latest):])
	readable := slices.DeleteFunc(slices.Clone(recs), func(r *decisions.Record) bool { return r.Unreadable != "" })
	slices.SortFunc(readable, func(a, b *decisions.Record) int { return cmp.Compare(b.LatencyNS, a.LatencyNS) })
	took := func(r *decisions.Record) string { return time.Duration(r.LatencyNS).Round(time.Microsecond).String() }
	for _, r := range readable[:min(slow, len(readable))] {
		o.Slowest, o.Took = append(o.Slowest, rowOf(r)), append(o.Took, took(r))
	}
	if n := len(readable); n > 0 {
		o.Median, o.Sampled = took(readable[n/2]), n
	}
	asked, _, err := s.records(ctx, decisions.RecordFilter{Limit: sampled, Verdict: decisions.Ask})
	if err != nil {
		return err
	}
	what := map[string]int64{}
	for _, r := range asked {
		if r.Unreadable == "" {
			what[records.Summary(r)]++
		}
	}
	o.Asked, o.AskedOf = barsOf(what), len(asked)
	return nil
}

// bar is one line of a plot: what, how often, and its part of the longest bar.
type bar struct {
	Name  string
	N     int64
	Width int // percent
}

// barsOf returns the largest counts, as bars.
func barsOf(counts map[string]int64) []bar {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	bars := make([]bar, 0, maxBars)
	for _, name := range names[:min(maxBars, len(names))] {
		bars = append(bars, bar{name, counts[name], int(max(1, counts[name]*100/counts[names[0]]))})
	}
	return bars
}
