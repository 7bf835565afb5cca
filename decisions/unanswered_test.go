package decisions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
)

// brokenFS is a file system of which one look has an error.
type brokenFS struct {
	effects.FS
	fails int // which look, from 0; -1 for none
	err   error
	looks int
}

func (f *brokenFS) fail() bool {
	f.looks++
	return f.looks-1 == f.fails
}

func (f *brokenFS) Lstat(p string) (fs.FileMode, error) {
	if f.fail() {
		return 0, &fs.PathError{Op: "lstat", Path: p, Err: f.err}
	}
	return f.FS.Lstat(p)
}

func (f *brokenFS) Readlink(p string) (string, error) {
	if f.fail() {
		return "", &fs.PathError{Op: "readlink", Path: p, Err: f.err}
	}
	return f.FS.Readlink(p)
}

func (f *brokenFS) ReadFile(p string, limit int64) ([]byte, error) {
	if f.fail() {
		return nil, &fs.PathError{Op: "open", Path: p, Err: f.err}
	}
	return f.FS.ReadFile(p, limit)
}

func (f *brokenFS) Names(p string, limit int) ([]fs.DirEntry, error) {
	if f.fail() {
		return nil, &fs.PathError{Op: "open", Path: p, Err: f.err}
	}
	return f.FS.Names(p, limit)
}

func (f *brokenFS) Owner(p string) (uint32, error) {
	if f.fail() {
		return 0, &fs.PathError{Op: "lstat", Path: p, Err: f.err}
	}
	return f.FS.Owner(p)
}

func (f *brokenFS) Identity(p string) (paths.Identity, error) {
	if f.fail() {
		return paths.Identity{}, &fs.PathError{Op: "lstat", Path: p, Err: f.err}
	}
	return f.FS.(paths.Identifier).Identity(p)
}

// TestUnanswered lets each look of calls that are allowed fail in turn, whatever the
// place that looks makes of it: a call of which something is not known asks.
func TestUnanswered(t *testing.T) {
	for _, command := range []string{
		"ls", "cat a/b", "rm -r a", "git status", "make test", "npm run x", "cp -r a c && cd a && cat b", "cat a/*", "sqlite3 -safe -readonly a/b 'select 1'",
		"cat l/b > out", ". a/bin/activate", "grep -r x .", "diff a b",
	} {
		t.Run(command, func(t *testing.T) {
			dir := repository(t)
			for _, err := range []error{&effects.NoAnswerError{Mount: "/mnt/x"}, syscall.EIO, syscall.ESTALE, syscall.ENOTCONN, syscall.EMFILE} {
				for n := 0; ; n++ {
					p, _, _, e := newFakes(t)
					f := &brokenFS{FS: paths.OSFS{}, fails: n, err: err}
					e.fs = f
					p.unknownAsks = true
					d := e.Decide(t.Context(), bashIn(dir, command))[0]
					if f.looks <= n {
						break
					}
					if d.Verdict != Ask {
						t.Errorf("look %d with %v: %s", n, err, d.Verdict)
					}
				}
			}
		})
	}
	p, _, _, e := newFakes(t)
	p.unknownAsks = true
	for _, err := range []error{syscall.EACCES, syscall.ENOENT, syscall.ENOTDIR} {
		// The working folder has no .git: these are answers.
		f := &brokenFS{FS: paths.OSFS{}, fails: -1, err: err}
		e.fs = f
		if d := e.Decide(t.Context(), bash(t, "ls"))[0]; d.Verdict != Allow {
			t.Errorf("%v: %s, %s", err, d.Verdict, d.Reason)
		}
	}
}

// TestUnansweredIsNotCovered: what was not answered has a cause, so that no rule that
// covers unknown effects allows it (TestPrecedenceAgainstOracle).
func TestUnansweredIsNotCovered(t *testing.T) {
	var r effects.Result
	const why = "the file system does not answer: /mnt/x"
	if !addUnanswered(&r, why) || len(r.Effects) != 1 || r.Effects[0].Kind != effects.KindUnknown || r.Effects[0].Cause != effects.CauseUnanswered {
		t.Errorf("effects %+v", r.Effects)
	}
	// One that is there for the same reason, as of a path, gets the cause; others do not.
	before := []effects.Effect{{Kind: effects.KindUnknown, Why: "not known"}, {Kind: effects.KindUnknown, Why: why}, {Kind: effects.KindUnknown, Why: why, Cause: effects.CauseTooLarge}}
	r.Effects = before
	if addUnanswered(&r, why) || len(r.Effects) != 3 || r.Effects[0].Cause != "" || r.Effects[1].Cause != effects.CauseUnanswered || r.Effects[2].Cause != effects.CauseTooLarge || before[1].Cause != "" {
		t.Errorf("effects %+v, before %+v", r.Effects, before)
	}
}

// TestNoAnswerIsSaid names the file system in the question.
func TestNoAnswerIsSaid(t *testing.T) {
	p, _, _, e := newFakes(t)
	p.unknownAsks = true
	req := bash(t, "cat /mnt/x/a")
	for n := 0; ; n++ {
		f := &brokenFS{FS: paths.OSFS{}, fails: n, err: &effects.NoAnswerError{Mount: "/mnt/x"}}
		e.fs = f
		d := e.Decide(t.Context(), req)[0]
		if f.looks <= n {
			break
		}
		said := 0
		for _, eff := range d.Effects {
			if strings.Contains(eff.Text, "the file system does not answer: /mnt/x") {
				said++
			}
		}
		if said == 0 {
			t.Errorf("look %d: %+v", n, d.Effects)
		}
	}
}

// slowPolicy takes some time for each effect.
type slowPolicy struct {
	*fakePolicy
	clock *time.Time
	takes time.Duration
	asked int
}

func (p *slowPolicy) Snapshot(uint32, string) (Snapshot, error) { return p, nil }

func (p *slowPolicy) Evaluate(ctx context.Context, in *Input) (Findings, error) {
	if err := ctx.Err(); err != nil {
		return Findings{}, err
	}
	p.asked++
	*p.clock = p.clock.Add(p.takes)
	return p.fakePolicy.Evaluate(ctx, in)
}

// TestDeadline has rules that are slow for each of many effects, and for each of many
// calls.
func TestDeadline(t *testing.T) {
	var long strings.Builder
	for i := range 40 {
		fmt.Fprintf(&long, "cat f%d; ", i)
	}
	fakes, _, j, _ := newFakes(t)
	clock := time.Unix(1_700_000_000, 0)
	p := &slowPolicy{fakePolicy: fakes, clock: &clock, takes: 300 * time.Millisecond}
	e, err := NewEngine(Config{
		Policy: p, Memory: &fakeMemory{}, Journal: j, FS: paths.OSFS{}, Log: slog.New(slog.DiscardHandler), NewID: func() string { return "d" },
		Now: func() time.Time { return clock },
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := e.Decide(t.Context(), bash(t, "cat f"))[0]; d.Verdict != Allow {
		t.Fatalf("a call in time: %s, %s", d.Verdict, d.Reason)
	}
	p.asked = 0
	if d := e.Decide(t.Context(), bash(t, long.String()))[0]; d.Verdict != Ask || d.By != ByFailure {
		t.Errorf("many effects: %s by %s", d.Verdict, d.By)
	}
	if p.asked > 7 {
		t.Errorf("many effects: the rules were asked %d times", p.asked)
	}
	p.asked = 0
	var reqs []*Request
	for range 20 {
		reqs = append(reqs, bash(t, "cat f"))
	}
	all := e.Decide(t.Context(), reqs...)
	if all[0].Verdict != Allow {
		t.Errorf("the first call: %s, %s", all[0].Verdict, all[0].Reason)
	}
	for i, d := range all[7:] {
		if d.Verdict != Ask || d.By != ByFailure || d.Policy.Digest == "" || !strings.Contains(d.Reason, "too long") {
			t.Errorf("call %d: %s by %s: %s", i+7, d.Verdict, d.By, d.Reason)
		}
	}
	if p.asked > 7 {
		t.Errorf("many calls: the rules were asked %d times", p.asked)
	}
	fakes.onFailure = Deny
	if d := e.Decide(t.Context(), reqs...)[19]; d.Verdict != Deny || d.By != ByFailure {
		t.Errorf("where org denies on failure: %s by %s", d.Verdict, d.By)
	}
	if got := len(j.recs); got != 1+1+20+20 {
		t.Errorf("the journal holds %d decisions", got)
	}
}

// TestNoLooksAfterTheDeadline: what is not looked at in time is not known.
func TestNoLooksAfterTheDeadline(t *testing.T) {
	_, _, _, e := newFakes(t)
	clock := time.Unix(1_700_000_000, 0)
	e.now = func() time.Time { clock = clock.Add(300 * time.Millisecond); return clock }
	f := &brokenFS{FS: paths.OSFS{}, fails: -1}
	e.fs = f
	d := e.Decide(t.Context(), bash(t, "cat a/b/c/d/e f/g/h/i k/l/m/n o/p/q/r"))[0]
	if d.Verdict != Ask || f.looks > 7 {
		t.Errorf("%s after %d looks", d.Verdict, f.looks)
	}
}

// restPolicy fails, or takes too long, for what a call merely may do.
type restPolicy struct {
	*fakePolicy
	restErr  error
	restHook func()
	rest     int
}

func (p *restPolicy) Snapshot(uint32, string) (Snapshot, error) { return p, nil }

func (p *restPolicy) Evaluate(ctx context.Context, in *Input) (Findings, error) {
	if !in.OnlyDeny {
		return p.fakePolicy.Evaluate(ctx, in)
	}
	p.rest++
	if p.restHook != nil {
		p.restHook()
	}
	if p.restErr != nil {
		return Findings{}, p.restErr
	}
	return Findings{}, ctx.Err()
}

// TestRestNotEvaluated has a call that is allowed, which may run another command
// (TestDeniesInOtherWords): if it cannot be found out whether that is denied, the call
// is not allowed, and the next one like it is evaluated again.
func TestRestNotEvaluated(t *testing.T) {
	for name, onFailure := range map[string]Verdict{"ask": Ask, "deny": Deny} {
		t.Run(name, func(t *testing.T) {
			fakes, _, _, _ := newFakes(t)
			clock := time.Unix(1_700_000_000, 0)
			p := &restPolicy{fakePolicy: fakes}
			e, err := NewEngine(Config{
				Policy: p, Memory: &fakeMemory{}, Journal: &fakeJournal{}, FS: paths.OSFS{}, Log: slog.New(slog.DiscardHandler), NewID: func() string { return "d" },
				Now: func() time.Time { return clock },
			})
			if err != nil {
				t.Fatal(err)
			}
			fakes.onFailure = onFailure
			req := bash(t, "mytool --exec 'git push'")
			check := func(what string, want Verdict, by DecidedBy) {
				t.Helper()
				p.rest = 0
				d := e.Decide(t.Context(), req)[0]
				if d.Verdict != want || want != Allow && d.By != by {
					t.Errorf("%s: %s by %s, want %s: %s", what, d.Verdict, d.By, want, d.Reason)
				}
				if p.rest == 0 && want != Allow {
					t.Errorf("%s: nothing of what may happen was evaluated", what)
				}
			}
			p.restErr = errors.New("a rule failed")
			check("a rule that fails", onFailure, ByFailure)
			p.restErr, p.restHook = nil, func() { clock = clock.Add(time.Minute) }
			check("a rule that takes too long", onFailure, ByFailure)
			p.restHook = nil
			check("a rule that answers", Allow, "")
		})
	}
}
