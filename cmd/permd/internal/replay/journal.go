package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/xdg"
)

// past is a record that was decided again.
type past struct {
	rec  *decisions.Record
	now  *decisions.Decision     // nil if it was not
	made *decisions.Deliberation // of now
	why  string                  // it was not
}

// replayed is the journal of this machine with the arguments that are kept.
type replayed struct {
	*cli.Streams
	dirs xdg.Dirs
	root string
	kept *arguments.Kept
}

// openJournal reads the arguments; the journal is read when it is replayed.
func openJournal(s *cli.Streams, root string) (*replayed, error) {
	dirs, err := account.Dirs(root)
	if err != nil {
		return nil, err
	}
	kept, err := arguments.Read(arguments.Dir(dirs.Data))
	if err != nil {
		return nil, err
	}
	return &replayed{s, dirs, root, kept}, nil
}

// replay decides all records that a filter selects again and passes them on, the oldest
// first, one at a time.
func (j *replayed) replay(ctx context.Context, f decisions.RecordFilter, by *decider, each func(*past)) error {
	log, err := records.OpenFile(j.root)
	if err != nil {
		return err
	}
	defer log.Close()
	workers := make([]*decider, max(1, runtime.GOMAXPROCS(0)))
	for i := range workers {
		if workers[i], err = by.fork(); err != nil {
			return err
		}
	}
	// One page is decided while the next one is read.
	pages := make(chan []past, 1)
	var all sync.WaitGroup
	all.Go(func() {
		for page := range pages {
			j.decide(ctx, workers, page)
			for i := range page {
				each(&page[i])
			}
		}
	})
	err = log.Each(ctx, j.Streams, f, func(recs []*decisions.Record) error {
		page := make([]past, len(recs))
		for i, rec := range recs {
			page[i].rec = rec
		}
		pages <- page
		return ctx.Err()
	})
	close(pages)
	all.Wait()
	return errors.Join(err, ctx.Err())
}

// decide decides the records of a page.
func (j *replayed) decide(ctx context.Context, workers []*decider, page []past) {
	var all sync.WaitGroup
	part := max(1, (len(page)+len(workers)-1)/len(workers))
	for i := range workers {
		some := page[min(len(page), i*part):min(len(page), (i+1)*part)]
		all.Go(func() {
			for k := range some {
				p := &some[k]
				if ctx.Err() != nil {
					p.why = "stopped"
					continue
				}
				call, recent := j.kept.Of(p.rec.Decision.ID)
				p.now, p.made, p.why = workers[i].Record(ctx, p.rec, call, recent)
			}
		})
	}
	all.Wait()
}

// Report is what a replay of the journal finds. Its JSON form is stable.
type Report struct {
	// Digest identifies the rules outside of projects.
	Digest    string        `json:"digest"`
	Decisions int           `json:"decisions"`
	Same      int           `json:"same"`
	Different int           `json:"different"`
	Groups    []*Group      `json:"groups"`     // the largest first
	Undecided []*NotDecided `json:"notDecided"` // the largest first
}

// Group is decisions that would differ in the same way.
type Group struct {
	From    decisions.Verdict `json:"from"`
	To      decisions.Verdict `json:"to"`
	Rule    string            `json:"rule"` // that decides now, or what does
	Count   int               `json:"count"`
	Example Example           `json:"example"`
}

// Example is one decision of several.
type Example struct {
	DecisionID string    `json:"decisionId"`
	Time       time.Time `json:"time"`
	Call       string    `json:"call"`
	Reason     string    `json:"reason"`
}

// NotDecided is decisions that cannot be decided again.
type NotDecided struct {
	Why   string `json:"why"`
	Count int    `json:"count"`
}

// add counts a record.
func (r *Report) add(p *past) {
	r.Decisions++
	switch {
	case p.now == nil:
		for _, n := range r.Undecided {
			if n.Why == p.why {
				n.Count++
				return
			}
		}
		r.Undecided = append(r.Undecided, &NotDecided{p.why, 1})
	case p.now.Verdict == p.rec.Decision.Verdict:
		r.Same++
	default:
		r.Different++
		was := p.rec.Decision.Verdict
		rule := decidingRule(p.now)
		for _, g := range r.Groups {
			if g.From == was && g.To == p.now.Verdict && g.Rule == rule {
				g.Count++
				return
			}
		}
		r.Groups = append(r.Groups, &Group{was, p.now.Verdict, rule, 1, Example{p.rec.Decision.ID, p.rec.Time, records.Summary(p.rec), p.now.Reason}})
	}
}

func (r *Report) sort() {
	slices.SortStableFunc(r.Groups, func(a, b *Group) int { return cmp.Compare(b.Count, a.Count) })
	slices.SortStableFunc(r.Undecided, func(a, b *NotDecided) int { return cmp.Compare(b.Count, a.Count) })
}

// Loosened are the groups of calls that were asked or denied and would now be allowed.
func (r *Report) Loosened() []*Group {
	var list []*Group
	for _, g := range r.Groups {
		if g.To == decisions.Allow {
			list = append(list, g)
		}
	}
	return list
}

// decidingRule names the rule that decides, or what does where none is named.
func decidingRule(d *decisions.Decision) string {
	for i := range d.Effects {
		e := &d.Effects[i]
		if e.Verdict == d.Verdict && len(e.Rules) > 0 {
			return fmt.Sprintf("%s at %s", e.Rules[0].ID, e.Rules[0].At)
		}
	}
	for i := range d.Effects {
		if e := &d.Effects[i]; e.Verdict == d.Verdict {
			return e.Reason
		}
	}
	return d.Reason
}

// Replay decides the selected records of the journal by the rules of a folder again, or by
// those on the disk for "".
func Replay(ctx context.Context, s *cli.Streams, root string, f decisions.RecordFilter, folder string) (*Report, error) {
	j, err := openJournal(s, root)
	if err != nil {
		return nil, err
	}
	by, err := newDecider(ctx, j.dirs, folder, root != "")
	if err != nil {
		return nil, err
	}
	r := &Report{Digest: by.rules.Digest(), Groups: []*Group{}, Undecided: []*NotDecided{}}
	if err := j.replay(ctx, f, by, r.add); err != nil {
		return nil, err
	}
	r.sort()
	return r, nil
}

// Print prints the report.
func (r *Report) Print(s *cli.Streams) error {
	if s.JSON {
		return cli.PrintJSON(s.Out, r)
	}
	for _, g := range r.Groups {
		fmt.Fprintf(s.Out, "%s -> %s  %s, by %s\n", g.From, g.To, cli.Plural(g.Count, "call"), g.Rule)
		fmt.Fprintf(s.Out, "    such as %s  %s\n", cli.Short(g.Example.DecisionID), g.Example.Call)
	}
	fmt.Fprintf(s.Out, "%s: %d would be decided as they were, %d otherwise\n", cli.Plural(r.Decisions, "decision"), r.Same, r.Different)
	for _, n := range r.Undecided {
		fmt.Fprintf(s.Out, "%s cannot be decided again: %s\n", cli.Plural(n.Count, "decision"), n.Why)
	}
	return nil
}
