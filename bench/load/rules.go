package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
)

// editions is how many sets of rules there are. They take turns.
const editions = 6

// edition returns the person's rules of one edition. Each allows "edtool N" for one N
// only, and denies and asks about two others, so that an answer by the rules of another
// edition is a wrong answer.
func edition(n int) string {
	return fmt.Sprintf(`package permd.user

import rego.v2

allow contains "tests may run" if {
	input.effect.kind == "run"
	input.effect.program == "go"
	input.effect.subcommand in {"test", "vet", "build"}
}

ask contains "production" if {
	input.effect.kind == "connect"
	endswith(input.effect.host, ".prod.example.com")
}

deny contains "no force-push" if {
	input.effect.program == "git"
	input.effect.subcommand == "push"
	"--force" in input.effect.flags
}

allow contains "allowed by edition %[1]d" if {
	input.effect.program == "edtool"
	input.effect.args[0] == "%[1]d"
}

deny contains "denied by edition %[1]d" if {
	input.effect.program == "edtool"
	input.effect.args[0] == "%[2]d"
}

ask contains "asked by edition %[1]d" if {
	input.effect.program == "edtool"
	input.effect.args[0] == "%[3]d"
}
`, n, (n+1)%editions, (n+2)%editions)
}

// broken is a file that cannot be compiled: the rules before it stay in force.
const broken = "package permd.user\n\nimport rego.v2\n\ndeny contains \"x\" if input.effect.nonsense\n"

// brokenOf is how many of the changes are one that is broken: one of so many.
const brokenOf = 7

// rules are the person's rules, which change all the time. Its numbers count the changes;
// change n is edition n modulo editions.
type rules struct {
	daemon *daemon
	oracle *oracle

	// written is the newest change that may be in force, loaded the newest that the
	// daemon has said is in force.
	written, loaded atomic.Int64
	refused         atomic.Int64 // broken files that the daemon did not load
}

// window are the changes that may decide a request: those from first to last.
type window struct{ first, last int64 }

// has reports whether one of the changes is of that edition.
func (w window) has(edition int) bool {
	for n := w.first; n <= w.last && n < w.first+editions; n++ {
		if int(n%editions) == edition {
			return true
		}
	}
	return false
}

func newRules(d *daemon, o *oracle) *rules { return &rules{daemon: d, oracle: o} }

func (r *rules) path() string {
	return filepath.Join(r.daemon.dir, "home", ".config", "permd", "policy.d", "user.rego")
}

// begin loads each edition once, so that the oracle knows their digests.
func (r *rules) begin(ctx context.Context) error {
	return r.with(ctx, func(c *changer) error {
		for n := range int64(editions) {
			if err := r.load(ctx, c, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// changer has the connections over which rules are changed and tried.
type changer struct {
	admin, decide *client.Client
}

func (r *rules) with(ctx context.Context, do func(*changer) error) error {
	admin, err := client.Dial(ctx, r.daemon.admin(), client.Options{})
	if err != nil {
		return err
	}
	defer admin.Close()
	decide, err := client.Dial(ctx, r.daemon.socket(), client.Options{})
	if err != nil {
		return err
	}
	defer decide.Close()
	if err := decide.Call(ctx, native.MethodSession, declaration(rulesSession, r.daemon.project), nil); err != nil {
		return fmt.Errorf("declaring a session: %w", err)
	}
	return do(&changer{admin, decide})
}

// rulesSession is the session in which changed rules are tried.
const rulesSession = "rules"

// change writes and loads new rules, again and again.
func (r *rules) change(ctx context.Context, every time.Duration) error {
	return r.with(ctx, func(c *changer) error {
		for n := 1; ; n++ {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(every):
			}
			var err error
			if n%brokenOf == 0 {
				err = r.spoil(ctx, c)
			} else {
				err = r.load(ctx, c, r.written.Load()+1)
			}
			if err != nil {
				return err
			}
		}
	})
}

// load puts the rules of change n into force, and makes sure that they are.
func (r *rules) load(ctx context.Context, c *changer, n int64) error {
	r.written.Store(n) // from here on the daemon may see it
	now := int(n % editions)
	if err := r.daemon.save(r.path(), edition(now)); err != nil {
		return err
	}
	if err := c.admin.Call(ctx, admin.MethodReload, struct{}{}, nil); err != nil {
		return fmt.Errorf("reloading: %w", err)
	}
	var got native.DecideResult
	if err := c.decide.Call(ctx, native.MethodDecide, map[string]any{"sessionId": rulesSession, "calls": []any{map[string]any{
		"callId": "1", "tool": map[string]string{"name": "Bash"}, "input": map[string]string{"command": fmt.Sprintf("edtool %d", now)},
	}}}, &got); err != nil {
		return fmt.Errorf("asking after a reload: %w", err)
	}
	d := got.Decisions[0]
	if want := fmt.Sprintf("allowed by edition %d", now); d.Verdict != decisions.Allow || d.Reason != want {
		return fmt.Errorf("after a reload the answer is %s (%s), want %s", d.Verdict, d.Reason, want)
	}
	if err := r.oracle.learn(now, d.Policy.Digest); err != nil {
		return err
	}
	r.loaded.Store(n)
	return nil
}

// spoil writes a file that the daemon must not load.
func (r *rules) spoil(ctx context.Context, c *changer) error {
	if err := r.daemon.save(r.path(), broken); err != nil {
		return err
	}
	err := c.admin.Call(ctx, admin.MethodReload, struct{}{}, nil)
	if err == nil {
		return errors.New("a broken file was loaded")
	}
	if _, refused := errors.AsType[*client.Error](err); !refused {
		return fmt.Errorf("reloading a broken file: %w", err)
	}
	r.refused.Add(1)
	return nil
}

// since returns the changes that may have decided a request that was sent when first was
// the newest in force.
func (r *rules) since(first int64) window { return window{first, r.written.Load()} }
