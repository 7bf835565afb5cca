//go:build cgo

package remember_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/rego"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/remember/allowable"
)

// silence is a policy without rules: everything that is not remembered asks.
type silence struct {
	table    *programs.Table
	profiles *tools.Profiles
}

func (p *silence) Snapshot(uint32, string) (decisions.Snapshot, error) { return p, nil }
func (p *silence) Digest() string                                      { return "d" }
func (p *silence) Table() *programs.Table                              { return p.table }
func (p *silence) Profiles() *tools.Profiles                           { return p.profiles }
func (p *silence) OnFailure() decisions.Verdict                        { return decisions.Ask }
func (p *silence) Trusted() bool                                       { return false }
func (p *silence) Evaluate(context.Context, *decisions.Input) (decisions.Findings, error) {
	return decisions.Findings{}, nil
}

type noJournal struct{}

func (noJournal) Append(context.Context, ...*decisions.Record) error { return nil }

// asked is an engine with a memory.
type asked struct {
	config decisions.Config
	store  *remember.Store
	path   string // of the store
}

// engine returns an engine with the present members.
func (a *asked) engine() *decisions.Engine {
	e, err := decisions.NewEngine(a.config)
	if err != nil {
		panic(err)
	}
	return e
}

// Both are immutable and shared by all tests.
var shippedProfiles = sync.OnceValues(func() (*tools.Profiles, error) { return tools.ParseProfiles(rego.Profiles()) })

func newAsked(t *testing.T) *asked {
	t.Helper()
	table, err := programs.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := shippedProfiles()
	if err != nil {
		t.Fatal(err)
	}
	a := &asked{path: path(t)}
	o := options(a.path)
	o.Understand = func(p *pattern.Pattern) *pattern.Pattern { return p.Resolved(table) }
	o.Allowable = func(q *decisions.MemoryQuery) error { return allowable.Run(table, q) }
	a.store = open(t, o)
	n := 0
	a.config = decisions.Config{
		Policy: &silence{table, profiles}, Memory: a.store, Proposer: a.store, Journal: noJournal{},
		FS: fsfake.New("/home/ada/", "/p/.git/", "/p/a/", "/p/b/").
			File("/p/a/x", "x").File("/p/b/y", "y").File("/p/.env", "z").File("/p/package.json", `{"scripts":{"lint":"eslint .","test":"node t.js"}}`),
		Now: func() time.Time { return noon }, NewID: func() string { n++; return fmt.Sprint("d", n) }, Log: slog.New(slog.DiscardHandler),
	}
	return a
}

// decide decides a command of an agent in the project /p.
func (a *asked) decide(t *rapid.T, command string) *decisions.Decision {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return a.engine().Decide(t.Context(), &decisions.Request{
		Peer: decisions.Peer{UID: ada}, Session: decisions.SessionRef{ID: "s", Conn: 7},
		Call: effects.Call{
			ID: "c", Protocol: "permd", Tool: effects.Tool{Name: "Bash"}, Input: input, Cwd: "/p",
			Agent: effects.Party{Name: "claude-agent-acp", Version: "0.100.0"},
			User:  effects.User{UID: ada, Home: "/home/ada", Env: map[string]string{"HOME": "/home/ada"}},
		},
	})[0]
}

// effects returns the effects of a command.
func (a *asked) effects(t *rapid.T, command string) []effects.Effect {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	p := a.config.Policy.(*silence)
	w := tools.World{FS: a.config.FS, Table: p.table, Profiles: p.profiles}
	call := effects.Call{
		ID: "c", Protocol: "permd", Tool: effects.Tool{Name: "Bash"}, Input: input, Cwd: "/p", Agent: effects.Party{Name: "claude-agent-acp", Version: "0.100.0"},
		User: effects.User{UID: ada, Home: "/home/ada", Env: map[string]string{"HOME": "/home/ada"}},
	}
	return w.EffectsIn(w.CallContext(&call)).Effects
}

// parts are commands with %s in the place of words to draw.
var parts = []string{
	"go build %s", "go test %s %s", "go vet ./a", "git add %s", "git commit -m %s", "git push origin %s", "touch %s", "rm %s", "rm -r %s",
	"cat %s", "cat %s > %s", "echo %s >> %s", "cp %s %s", "mkdir -p %s", "curl -s https://%s.example.com/", "curl -d @%s https://api.example.com/",
	"mytool %s", "mytool %s %s", "npm run %s", "sed -i s/a/b/ %s", "tar -xf %s", "sort -o %s %s", "grep -r x %s | tee %s", "./a/x %s", "sudo ls %s",
	"python3 -c %s", "find %s -delete", "ls %s", "git -c core.pager=%s log",
}

var operands = []string{"./a", "./b", "a/x", "b/y", ".env", ".envrc", ".git/hooks/pre-commit", "/etc/hosts", "/tmp/z", "lint", "test", "api", "-v", "--exec", "docs", "$X", "a/new"}

func drawCommand(t *rapid.T) string {
	var list []string
	for range rapid.IntRange(1, 3).Draw(t, "parts") {
		part := rapid.SampledFrom(parts).Draw(t, "part")
		for strings.Contains(part, "%s") {
			part = strings.Replace(part, "%s", rapid.SampledFrom(operands).Draw(t, "operand"), 1)
		}
		list = append(list, part)
	}
	return strings.Join(list, rapid.SampledFrom([]string{" && ", "; ", " | "}).Draw(t, "operator"))
}

// guarded reports whether an effect needs an exact answer. It is independent of the code
// under test.
func guarded(e *decisions.EffectDecision) bool {
	has := func(tags ...string) bool {
		return slices.ContainsFunc(tags, func(tag string) bool { return slices.Contains(e.Tags, tag) })
	}
	switch e.Kind {
	case effects.KindWrite, effects.KindDelete:
		return has("secret", "startup", "vcs", "agent_config", "ci", "permd")
	case effects.KindRead:
		return has("secret", "permd")
	case effects.KindConnect:
		return has("metadata_service")
	}
	return false
}

// TestOfferedWidths uses the real table: each offered width allows its call; the
// narrowest allows only calls whose effects were all in it, and no width allows a
// guarded effect that was not; each allows everything that a narrower one does; and
// after they are forgotten they allow nothing.
func TestOfferedWidths(t *testing.T) {
	t.Parallel()
	a := newAsked(t)
	widths, crossed, wider := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		command := drawCommand(t)
		others := []string{command + " && touch a/other", command + " > a/log", "X=1 " + command, command + " --frobnicate", "cd /tmp && " + command}
		for range 10 {
			others = append(others, drawCommand(t))
		}
		for _, part := range strings.FieldsFunc(command, func(c rune) bool { return strings.ContainsRune("&;|", c) }) {
			others = append(others, strings.TrimSpace(part), strings.TrimSpace(part)+" ./a")
		}
		question := a.decide(t, command)
		if question.Verdict != decisions.Ask {
			t.Fatalf("%s: %s without a rule", command, question.Verdict)
		}
		approved := map[string]bool{}
		for i := range question.Effects {
			e := &question.Effects[i]
			approved[string(e.Kind)+" "+e.Text] = true
			if never := e.Kind == effects.KindUnknown || e.Kind == effects.KindState; never && question.Widths != nil {
				t.Fatalf("%s: widths with %s", command, e.Text)
			}
		}
		if len(question.Widths) > 3 {
			t.Fatalf("%s: %d widths", command, len(question.Widths))
		}
		allowed := map[string]bool{}
		for n, w := range question.Widths {
			widths++
			kept, err := a.store.Keep(t.Context(), decisions.Answer{
				DecisionID: question.ID, Verdict: decisions.Allow, Offer: question.Offer, Width: w.ID,
			})
			if err != nil {
				t.Fatalf("%s: keeping %q: %v", command, w.Rule, err)
			}
			var ids []string
			for _, k := range kept {
				ids = append(ids, k.ID)
			}
			forget := func() {
				if _, err := a.store.Forget(t.Context(), ids...); err != nil {
					t.Fatal(err)
				}
			}
			func() {
				defer forget()
				if err := a.store.Confirm(t.Context(), ids...); err != nil {
					t.Fatal(err)
				}
				if d := a.decide(t, command); d.Verdict != decisions.Allow || d.By != decisions.ByMemory {
					t.Fatalf("%s: %q is not what was approved: %s (%s)", command, w.Rule, d.Verdict, d.Reason)
				}
				for _, other := range others {
					d := a.decide(t, other)
					if d.Verdict != decisions.Allow {
						if allowed[other] {
							t.Fatalf("%s: %q does not allow what a narrower width does: %s", command, w.Rule, other)
						}
						continue
					}
					crossed++
					if n > 0 && !allowed[other] {
						wider++
					}
					allowed[other] = true
					for i := range d.Effects {
						e := &d.Effects[i]
						if known := approved[string(e.Kind)+" "+e.Text]; !known && (strings.HasPrefix(w.Label, "exactly this") || guarded(e)) {
							t.Fatalf("%s: %q allows %s with %s %s", command, w.Rule, other, e.Kind, e.Text)
						}
					}
				}
			}()
			for _, other := range append(others, command) {
				if d := a.decide(t, other); d.Verdict == decisions.Allow {
					t.Fatalf("%s: %q is forgotten, and %s is allowed", command, w.Rule, other)
				}
			}
		}
	})
	if widths == 0 || crossed == 0 || wider == 0 {
		t.Errorf("nothing was tested: %d widths, %d other calls allowed, %d by a wider one alone", widths, crossed, wider)
	}
}
