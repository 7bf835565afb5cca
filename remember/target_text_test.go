//go:build cgo

package remember_test

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/targets"
)

// allowNarrowest answers a question with its narrowest width, for the project.
func (a *asked) allowNarrowest(t testing.TB, d *decisions.Decision) {
	t.Helper()
	if len(d.Widths) == 0 {
		t.Fatalf("nothing is offered: %s, %s", d.Verdict, d.Reason)
	}
	if _, err := a.store.Keep(t.Context(), decisions.Answer{DecisionID: d.ID, Verdict: decisions.Allow, Offer: d.Offer, Width: d.Widths[0].ID, Scope: "project"}); err != nil {
		t.Fatal(err)
	}
}

// TestAllowOfTargets: the person allowed the targets of a file for always, and a rule
// lets the agent write files of the project. A call that writes what the targets are
// taken from, or what is taken in its place, asks.
func TestAllowOfTargets(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/p/Makefile": "include rules.mk\nlint:\n\ttrue\n", "/p/rules.mk": "", "/p/Rakefile": "task :lint\n",
		"/p/justfile": "lint:\n  true\n", "/p/package.json": `{"scripts": {"lint": "eslint ."}}`, "/p/sub/f": "x",
	}
	for _, c := range []struct {
		allowed    string
		asks, stay []string
	}{
		{
			"make lint",
			[]string{
				"echo x > Makefile && make lint", "echo x > GNUmakefile && make lint", "cp f makefile; make lint", "tee GNUmakefile < rules.mk | make lint",
				"mv sub/f GNUmakefile; make lint", "echo x >> rules.mk; make lint", "cd up && echo x > GNUmakefile && make lint", "echo x > /link/Makefile && make lint",
				"ln -s sub/f GNUmakefile; make lint", "make lint & echo x > Makefile",
			},
			[]string{"make lint", "echo x > out && make lint", "make lint 2>&1 | tail", "mkdir -p build && make lint", "cp sub/f sub/GNUmakefile && make lint"},
		},
		{
			"npm run lint",
			[]string{"cp /tmp/x sub/package.json && cd sub && npm run lint", "echo x > package.json; npm run lint"},
			[]string{"npm run lint", "cd sub && npm run lint", "cp /tmp/x sub/package.json && npm run lint"},
		},
		{
			"rake lint",
			[]string{"echo x > rakelib/x.rake; rake lint", "mkdir rakelib; cp sub/f rakelib; rake lint", "echo x > rakefile; rake lint"},
			[]string{"rake lint", "echo x > sub/y && rake lint"},
		},
		{
			"just lint",
			[]string{"cp /tmp/x sub/justfile && cd sub && just lint"},
			[]string{"just lint", "cd sub && just lint"},
		},
	} {
		for _, cwd := range []string{"/p", "/link"} {
			a, allow := rejecting(t, files)
			a.fs().Link("/link", "/p").Link("/p/up", ".")
			a.allowNarrowest(t, a.in(t, cwd, c.allowed))
			allow(func(e *effects.Effect) bool {
				return e.File != nil || e.Run != nil && (e.Run.Readonly || e.Run.Known && !targets.Runs(e.Run.Program))
			})
			for _, command := range c.asks {
				wantVerdict(t, a.in(t, cwd, command), decisions.Ask, cwd+" "+command)
			}
			for _, command := range c.stay {
				if cwd == "/link" && strings.HasPrefix(command, "cd ") {
					continue // a run is bound to the name by which its folder was given
				}
				wantVerdict(t, a.in(t, cwd, command), decisions.Allow, cwd+" "+command)
			}
			if c.allowed == "make lint" {
				a.fs().File("/p/rules.mk", "lint: evil\n")
				wantVerdict(t, a.in(t, cwd, "make lint"), decisions.Ask, "what the makefile includes has changed")
			}
		}
	}
}

// TestAllowOfTargetsInBatch: the file is written by an earlier call of the request.
func TestAllowOfTargetsInBatch(t *testing.T) {
	t.Parallel()
	a, allow := rejecting(t, map[string]string{"/p/Makefile": "lint:\n\ttrue\n"})
	a.fs().Link("/link", "/p")
	a.allowNarrowest(t, a.in(t, "/link", "make lint"))
	allow(func(e *effects.Effect) bool { return e.File != nil || e.Run != nil && e.Run.Readonly })
	for path, want := range map[string]decisions.Verdict{
		"/p/GNUmakefile": decisions.Ask, "/link/GNUmakefile": decisions.Ask, "/p/Makefile": decisions.Ask, "/p/other": decisions.Allow,
	} {
		var reqs []*decisions.Request
		for _, c := range []effects.Call{
			{Tool: effects.Tool{Name: "Write"}, Input: []byte(`{"file_path":"` + path + `","content":"x"}`)},
			{Tool: effects.Tool{Name: "Bash"}, Input: []byte(`{"command":"make lint"}`)},
		} {
			c.ID, c.Protocol, c.Cwd = "c", "permd", "/link"
			c.Agent = effects.Party{Name: "claude-agent-acp", Version: "0.100.0"}
			c.User = effects.User{UID: ada, Home: "/home/ada", Env: map[string]string{"HOME": "/home/ada"}}
			reqs = append(reqs, &decisions.Request{Peer: decisions.Peer{UID: ada}, Session: decisions.SessionRef{ID: "s", Conn: 7}, Call: c})
		}
		decided := a.engine().Decide(t.Context(), reqs...)
		wantVerdict(t, decided[0], decisions.Allow, "writing "+path)
		wantVerdict(t, decided[1], want, "make lint after writing "+path)
	}
}

// TestYesToTargets: the person says yes once to a run of targets, and meanwhile the agent
// writes what they are taken from, or would be taken from first.
func TestYesToTargets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command, written string
		holds            bool
	}{
		"the makefile":             {"make lint", "/p/Makefile", false},
		"one that comes first":     {"make lint", "/p/GNUmakefile", false},
		"what it includes":         {"make lint", "/p/rules.mk", false},
		"what that includes":       {"make lint", "/p/more.mk", false},
		"one that it computes":     {"make -C odd lint", "/p/odd/Makefile", false},
		"another file":             {"make lint", "/p/sub/Makefile", true},
		"a nearer package":         {"cd sub && npm run lint", "/p/sub/package.json", false},
		"the package":              {"cd sub && npm run lint", "/p/package.json", false},
		"a package that is not it": {"npm run lint", "/p/sub/package.json", true},
	} {
		a, _ := rejecting(t, map[string]string{
			"/p/Makefile": "include rules.mk\nlint:\n\ttrue\n", "/p/rules.mk": "include more.mk\n", "/p/odd/Makefile": "include $(X)\n",
			"/p/package.json": `{"scripts": {"lint": "x"}}`, "/p/sub/f": "x",
		})
		a.config.Digest = func(file string, _ int64) (string, int64, error) {
			text, err := a.fs().ReadFile(file, 1<<20)
			return "sum of " + string(text), int64(len(text)), err
		}
		req := &decisions.Request{
			Peer: decisions.Peer{UID: ada}, Session: decisions.SessionRef{ID: "s", Conn: 7},
			Call: effects.Call{
				ID: "c", Protocol: "permd", Tool: effects.Tool{Name: "Bash"}, Input: []byte(`{"command":"` + c.command + `"}`), Cwd: "/p",
				Agent: effects.Party{Name: "claude-agent-acp", Version: "0.100.0"},
				User:  effects.User{UID: ada, Home: "/home/ada", Env: map[string]string{"HOME": "/home/ada"}},
			},
		}
		e := a.engine()
		asked := e.Decide(t.Context(), req)[0]
		if asked.Verdict != decisions.Ask || e.Holds(t.Context(), req, asked) != nil {
			t.Fatalf("%s: %s, and a yes does not count", name, asked.Verdict)
		}
		a.fs().File(c.written, "lint:\n\tevil\n")
		if err := e.Holds(t.Context(), req, asked); (err == nil) != c.holds {
			t.Errorf("%s: a yes counts: %v", name, !c.holds)
		}
	}
}

// fs is the file system, which the test may change.
func (a *asked) fs() *fsfake.FS { return a.config.FS.(*fsfake.FS) }
