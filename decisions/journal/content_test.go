//go:build cgo

package journal_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/tally"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/lexpath"
)

// holds is the second version of what a filter selects by content.
func holds(f *decisions.RecordFilter, rec *decisions.Record) bool {
	onPath, onHost := f.Path == "", f.Host == ""
	for _, d := range rec.Details {
		onPath = onPath || strings.Contains(d.Path, f.Path)
		onHost = onHost || strings.HasSuffix("."+d.Host, "."+strings.ToLower(f.Host))
	}
	return onPath && onHost && (f.Project == "" || lexpath.In(f.Project, rec.Project))
}

// mixed are random records, most of which share bodies: a journal with them, the last ones
// in its spool.
func mixed(t *testing.T, rnd *rand.Rand, n int) (*journal.Journal, []*decisions.Record) {
	t.Helper()
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	var all []*decisions.Record
	for i := range n {
		rec := record(i)
		rec.Time = noon.Add(time.Duration(i) * 7 * time.Minute)
		if rnd.IntN(40) == 0 { // the clock was wrong
			rec.Time = rec.Time.Add(time.Duration(rnd.IntN(200)-100) * time.Hour)
		}
		rec.Session.ID, rec.Tool, rec.Agent.Name = pick("s1", "s2", fmt.Sprint("s", i)), pick("Bash", "Read"), pick("a", "b", "", "c\u202e\x1b[31m")
		rec.Project = pick("", "/home/x/p", "/home/x/p/in", "/home/x/p2", "/home/ü\"\\")
		rec.Decision.Verdict, rec.Decision.By = decisions.Verdict(pick("allow", "allow", "ask", "deny")), decisions.DecidedBy(pick("policy", "memory"))
		if rnd.IntN(50) == 0 {
			rec.Decision.Reason = strings.Repeat("long ", 14<<10)
		}
		rec.Details = nil
		for range rnd.IntN(4) {
			rec.Details = append(rec.Details, decisions.EffectDetail{
				Words: [][]string{nil, {"git", "status"}, {"/usr/bin/make"}, {"rm", "x"}}[rnd.IntN(4)],
				Path:  pick("", "/home/x/.ssh/id", "/tmp/\x07\"\\\u2028<&>", "/home/x/p/a.go", "/home/x/.netrc/***", "/home/x/"+strings.Repeat("long/", 700)), Host: pick("", "github.com", "api.github.com", "notgithub.com", "host"),
			})
		}
		mustAppend(t, j, rec)
		if rec.Decision.Verdict == decisions.Ask && rnd.IntN(2) == 0 {
			a := decisions.HumanAnswer{Time: rec.Time.Add(time.Second), Verdict: decisions.Verdict(pick("allow", "deny"))}
			if rnd.IntN(3) > 0 {
				a.Author = &author.Identity{Via: author.Via(pick("client", "command", "web")), UID: rnd.Uint32(), PID: rnd.Int32(), Process: pick("", "node", "\"\u202e\x1b<")}
			}
			if err := j.Answer(t.Context(), rec.Decision.ID, a); err != nil {
				t.Fatal(err)
			}
			rec.Answer = &a
		}
		if rnd.IntN(3) == 0 {
			takeBack(t, j, all[:max(0, len(all)-rnd.IntN(20))], rnd)
			e := decisions.Ending{Time: rec.Time.Add(time.Minute), As: "ran"}
			if err := j.Ended(t.Context(), rec.Decision.ID, e); err != nil {
				t.Fatal(err)
			}
			rec.Ended = &e
		}
		if rec.Decision.Verdict == decisions.Ask && rnd.IntN(3) == 0 {
			at := rec.Time.Add(2 * time.Second)
			if err := j.Ran(t.Context(), rec.Decision.ID, at); err != nil {
				t.Fatal(err)
			}
			rec.Ran = &at
		}
		all = append(all, rec)
		if i == n*2/3 {
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			j = open(t, o)
		}
	}
	return j, all
}

// takeBack takes back the yes to one of some questions, which may lie in the database or the spool.
func takeBack(t *testing.T, j *journal.Journal, of []*decisions.Record, rnd *rand.Rand) {
	t.Helper()
	for range min(len(of), 5) {
		rec := of[rnd.IntN(len(of))]
		if rec.Answer == nil || rec.Answer.Verdict != decisions.Allow || rec.Ended != nil {
			continue
		}
		e := decisions.Ending{Time: rec.Time.Add(time.Minute), As: decisions.EndedTakenBack}
		var by *author.Identity // an earlier version says nothing of it
		if rnd.IntN(3) > 0 {
			by = &author.Identity{Via: author.Lock, UID: 7, PID: 8, Process: "permd"}
			e.As += ` {"via":"lock","uid":7,"pid":8,"process":"permd"}`
		}
		if err := j.Ended(t.Context(), rec.Decision.ID, e); err != nil {
			t.Fatal(err)
		}
		rec.Answer = &decisions.HumanAnswer{Time: e.Time, Verdict: decisions.Deny, Allowed: &rec.Answer.Time, Author: by, AllowedBy: rec.Answer.Author}
		return
	}
}

// randomFilter is a filter of what the records have.
func randomFilter(rnd *rand.Rand, all []*decisions.Record) (f decisions.RecordFilter) {
	some := func() *decisions.Record { return all[rnd.IntN(len(all))] }
	for _, set := range []func(){
		func() { f.Verdict = some().Decision.Verdict }, func() { f.By = some().Decision.By }, func() { f.Session = some().Session.ID },
		func() { f.Agent = some().Agent.Name }, func() { f.Tool = some().Tool }, func() { f.Since = some().Time }, func() { f.Until = some().Time },
		func() { f.Project = some().Project },
		func() { f.Host = []string{"github.com", "GitHub.com", "com", "host", "nowhere"}[rnd.IntN(5)] },
		func() {
			f.Path = []string{".ssh", "\"", "\\", "\u2028", "<&", "/home/x/p/a.go", "nowhere", "***", "long/long", "go/home"}[rnd.IntN(10)]
		},
	} {
		if rnd.IntN(5) == 0 {
			set()
		}
	}
	return f
}

// named waits until the index of names has all complete spans of n decisions.
func named(t *testing.T, j *journal.Journal, n int) {
	t.Helper()
	spans := (n + 1) / 1024
	eventually.Holds(t, "the index of names is complete", func() bool { return j.Named(t) == spans })
}

// TestPages walks lists to their end, in both directions and in small parts: each record
// that a filter selects comes once, in order, and no other one.
func TestPages(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	j, all := mixed(t, rnd, 900)
	filters := 60
	if testing.Short() {
		filters = 10
	}
	testPages(t, rnd, j, all, filters)
}

// TestPagesNamed does the same where most decisions are in the index of names.
func TestPagesNamed(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 8))
	records, filters := 2600, 50
	if testing.Short() {
		records, filters = 1300, 10
	}
	j, all := mixed(t, rnd, records)
	named(t, j, len(all))
	testPages(t, rnd, j, all, filters)
}

func testPages(t *testing.T, rnd *rand.Rand, j *journal.Journal, all []*decisions.Record, filters int) {
	t.Helper()
	for range filters {
		f := randomFilter(rnd, all)
		f.Limit, f.Oldest = 1+rnd.IntN(200), rnd.IntN(2) == 0
		j.SetScan(1+rnd.Int64N(300), time.Duration(rnd.IntN(2))*time.Second)
		var want, have []int64
		for _, rec := range all {
			if selects(&f, rec) && holds(&f, rec) {
				want = append(want, rec.Seq)
			}
		}
		for at, turns := f, 0; ; turns++ {
			p, err := j.Page(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			var seqs []int64
			for _, rec := range p.Records {
				seqs = append(seqs, rec.Seq)
			}
			if f.Oldest {
				have = append(have, seqs...)
				at.After = p.Next
			} else {
				have = append(seqs, have...)
				at.Before = p.Next
			}
			if len(seqs) > f.Limit || (p.Next == 0) != (p.Left == 0) || p.Left < 0 || turns > len(all)+1 {
				t.Fatalf("%+v: %d records, next %d, left %d, after %d pages", at, len(seqs), p.Next, p.Left, turns)
			}
			if p.Next == 0 {
				break
			}
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Fatalf("%+v: %s", f, diff)
		}
	}
}

// TestTally compares counts by each group, in parts, with those of all records.
func TestTally(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	records, filters := 900, 25
	if testing.Short() {
		records, filters = 300, 3
	}
	j, all := mixed(t, rnd, records)
	testTally(t, rnd, j, all, filters)
}

// TestTallyNamed does the same where most decisions are in the index of names.
func TestTallyNamed(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(9, 10))
	records, filters := 2600, 6
	if testing.Short() {
		records, filters = 1300, 3
	}
	j, all := mixed(t, rnd, records)
	named(t, j, len(all))
	testTally(t, rnd, j, all, filters)
}

func testTally(t *testing.T, rnd *rand.Rand, j *journal.Journal, all []*decisions.Record, filters int) {
	t.Helper()
	var starts []time.Time
	for n := range 8 {
		starts = append(starts, noon.Add(time.Duration(n*24-40)*time.Hour))
	}
	day := func(at time.Time) []string {
		for n := 1; n < len(starts); n++ {
			if !at.Before(starts[n-1]) && at.Before(starts[n]) {
				return []string{starts[n-1].Format(time.RFC3339)}
			}
		}
		return nil
	}
	of := map[tally.By]func(*decisions.Record) []string{
		tally.Agent:     func(r *decisions.Record) []string { return []string{r.Agent.Name} },
		tally.Tool:      func(r *decisions.Record) []string { return []string{r.Tool} },
		tally.Verdict:   func(r *decisions.Record) []string { return []string{string(r.Decision.Verdict)} },
		tally.DecidedBy: func(r *decisions.Record) []string { return []string{string(r.Decision.By)} },
		tally.Project:   func(r *decisions.Record) []string { return []string{r.Project} },
		tally.Day:       func(r *decisions.Record) []string { return day(r.Time) },
		tally.Answer: func(r *decisions.Record) []string {
			switch {
			case r.Decision.Verdict != decisions.Ask:
				return nil
			case r.Answer != nil:
				return []string{string(r.Answer.Verdict)}
			case r.Ran != nil:
				return []string{"ran"}
			}
			return []string{""}
		},
		tally.Host: func(r *decisions.Record) (list []string) {
			for _, d := range r.Details {
				if d.Host != "" && !slices.Contains(list, d.Host) {
					list = append(list, d.Host)
				}
			}
			return list
		},
		tally.Program: func(r *decisions.Record) (list []string) {
			for _, d := range r.Details {
				if len(d.Words) > 0 && !slices.Contains(list, filepath.Base(d.Words[0])) {
					list = append(list, filepath.Base(d.Words[0]))
				}
			}
			if list == nil {
				return []string{""}
			}
			return list
		},
	}
	ways := [][]tally.By{
		{tally.Agent, tally.Tool, tally.Verdict, tally.DecidedBy, tally.Day}, {tally.Project, tally.Program, tally.Host}, {tally.Day, tally.Program},
	}
	for by := range of {
		ways = append(ways, []tally.By{by})
	}
	for _, by := range ways {
		for range filters {
			f := randomFilter(rnd, all)
			j.SetScan(1+rnd.Int64N(300), time.Duration(rnd.IntN(2))*time.Second)
			want, have := map[string]tally.Group{}, map[string]tally.Group{}
			for _, rec := range all {
				if !selects(&f, rec) || !holds(&f, rec) {
					continue
				}
				for _, way := range by {
					for _, name := range of[way](rec) {
						key := string(way) + " " + name
						g := want[key]
						g.By, g.Name = way, name
						g.Add(rec.Decision.Verdict, 1)
						want[key] = g
					}
				}
			}
			for at := f; ; {
				got, err := j.Tally(t.Context(), at, by, starts)
				if err != nil {
					t.Fatal(err)
				}
				for _, g := range got.Groups {
					key := string(g.By) + " " + g.Name
					sum := have[key]
					have[key] = tally.Group{By: g.By, Name: g.Name, Allow: sum.Allow + g.Allow, Ask: sum.Ask + g.Ask, Deny: sum.Deny + g.Deny}
				}
				if at.Before = got.Next; got.Next == 0 {
					break
				}
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Fatalf("by %s of %+v: %s", by, f, diff)
			}
		}
	}
}

// TestTallyAgain counts while decisions come and retention removes some: what is known
// from before is never counted where it is gone.
func TestTallyAgain(t *testing.T) {
	t.Parallel()
	j := open(t, journal.Options{Path: path(t), MaxBytes: 1 << 20})
	removed := int64(0)
	for n := range 24 {
		var recs []*decisions.Record
		for i := range 100 {
			rec := record(n*100 + i)
			rec.Agent.Name, rec.Decision.Reason = fmt.Sprint(i%3), strings.Repeat(fmt.Sprint(n, i), 300)
			recs = append(recs, rec)
		}
		if err := j.Append(t.Context(), recs...); err != nil {
			t.Fatal(err)
		}
		f := decisions.RecordFilter{}
		if n%2 == 0 {
			f.Since, f.Until = noon.Add(500*time.Second), noon.Add(3000*time.Second)
		}
		eventually.Holds(t, "the count is that of the list", func() bool {
			want, err := j.Count(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			got, err := j.Tally(t.Context(), f, []tally.By{tally.Agent}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range got.Groups {
				want -= g.All()
			}
			return want == 0 // retention may have been between them
		})
		if n >= 20 {
			eventually.Holds(t, "more was removed", func() bool { return j.Status().Retention.Removed > removed })
			removed = j.Status().Retention.Removed
		}
	}
}
