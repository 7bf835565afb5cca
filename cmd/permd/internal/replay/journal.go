package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/differences"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/internal/xdg"
)

// past is a record that was decided again.
type past struct {
	rec  *decisions.Record
	now  *decisions.Decision     // nil if it was not
	made *decisions.Deliberation // of now
	why  string                  // it was not

	// then is what the rules of then decide today, or what is in the record if that is not known.
	then *decisions.Decision
	// unsure is set if now may differ from then for other reasons than the rules.
	unsure bool
}

// replayed is the journal of this machine with the arguments that are kept.
type replayed struct {
	*cli.Streams
	dirs xdg.Dirs
	root string
	kept *arguments.Kept
	off  bool // no arguments are kept, as far as that is known
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
	set, err := account.ReadSettings(dirs, mounts.New())
	return &replayed{s, dirs, root, kept, err == nil && set.NoArguments}, nil
}

// replay decides all records that a filter selects again and passes them on, the oldest
// first, one at a time.
func (j *replayed) replay(ctx context.Context, f decisions.RecordFilter, by *decider, each func(*past)) error {
	log, err := records.OpenFile(j.root)
	if err != nil {
		return err
	}
	defer log.Close()
	workers, err := by.forks()
	if err != nil {
		return err
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
		page := make([]past, 0, len(recs))
		for _, rec := range recs {
			if rec.IsCall() {
				page = append(page, past{rec: rec})
			}
		}
		pages <- page
		return ctx.Err()
	})
	close(pages)
	all.Wait()
	return errors.Join(err, ctx.Err())
}

// forks returns deciders by the same rules, as many as can be used at the same time.
func (d *decider) forks() (list []*decider, err error) {
	list = make([]*decider, max(1, runtime.GOMAXPROCS(0)))
	for i := range list {
		if list[i], err = d.fork(); err != nil {
			return nil, err
		}
	}
	return list, nil
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
	Digest    string `json:"digest"`
	Decisions int    `json:"decisions"`
	Same      int    `json:"same"`
	Different int    `json:"different"`
	// Unsure are those of Different that may differ for other reasons than the rules, since it
	// is not known what the rules of then would decide today.
	Unsure    int           `json:"unsure,omitzero"`
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
	case p.now.Verdict == p.then.Verdict:
		r.Same++
	default:
		r.Different++
		if p.unsure {
			r.Unsure++
		}
		was := p.then.Verdict
		rule := differences.Rule(p.now, p.then)
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

// CheckFolder returns an error if a folder of rules is none; "" is the usual one. To the policy, a
// folder that is not there is one without rules.
func CheckFolder(folder string) error {
	if folder == "" {
		return nil
	}
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cli.Failf(cli.ExitUsage, "name a folder with rules", "there is no folder %s", folder)
	case err != nil:
		return fmt.Errorf("looking for the rules: %w", err)
	case !info.IsDir():
		return cli.Failf(cli.ExitUsage, "name a folder with rules, such as one with only that file", "%s is no folder", folder)
	}
	return nil
}

// Replay decides the selected records of the journal by the rules of a folder again, or by
// those on the disk for "".
func Replay(ctx context.Context, s *cli.Streams, root string, f decisions.RecordFilter, folder string) (*Report, error) {
	j, err := openJournal(s, root)
	if err != nil {
		return nil, err
	}
	if err := CheckFolder(folder); err != nil {
		return nil, err
	}
	by, err := newDecider(ctx, j.dirs, folder, root != "")
	if err != nil {
		return nil, err
	}
	r := &Report{Digest: by.rules.Digest(), Groups: []*Group{}, Undecided: []*NotDecided{}}
	c := &comparison{j: j}
	defer c.close()
	var failed error
	err = j.replay(ctx, f, by, func(p *past) {
		if err := c.before(ctx, p); failed == nil {
			failed = err
		}
		r.add(p)
	})
	if err := errors.Join(err, failed); err != nil {
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
	w := cli.Folded(s.Out, 4)
	for _, g := range r.Groups {
		fmt.Fprintf(w, "%s -> %s  %s, by %s\n", g.From, g.To, cli.Plural(g.Count, "call"), g.Rule)
		fmt.Fprintf(w, "    such as %s  %s\n", cli.Short(g.Example.DecisionID), g.Example.Call)
	}
	fmt.Fprintf(w, "%s: %d would be decided as they were, %d otherwise\n", cli.Plural(r.Decisions, "decision"), r.Same, r.Different)
	if r.Unsure > 0 {
		fmt.Fprintf(w, "of these, %d may be decided otherwise for other reasons than the rules, such as files or rules of projects that have changed: what the rules of then would decide today is not known\n", r.Unsure)
	}
	for _, n := range r.Undecided {
		fmt.Fprintf(w, "%s cannot be decided again: %s\n", cli.Plural(n.Count, "decision"), n.Why)
	}
	return nil
}
