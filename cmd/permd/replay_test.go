package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/internal/testload"

	"github.com/permd/permd/cmd/permd/internal/replay"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/client"
)

// replayCalls makes calls of several tools, some of them several times.
func replayCalls(r *rand.Rand, n int) (list []client.ToolCall) {
	parts := []string{
		"git status", "npm test", "go build ./...", "go test ./a", "ls -la", "cat a/a.go", "rm -rf build", "git push -f", "frob x", "make lint",
		"sed -n 1p a/a.go", "echo hi > out.txt", "curl https://x.dev/a", "cp a/a.go b.go", "cat .env", "timeout 5 go vet ./a", "cat ~/.ssh/id_rsa", "X=1 go version",
	}
	others := []client.ToolCall{
		{Tool: client.Tool{Name: "Read"}, Input: map[string]any{"file_path": "a/a.go"}},
		{Tool: client.Tool{Name: "Write"}, Input: map[string]any{"file_path": "docs/x.md", "content": "x"}},
		{Tool: client.Tool{Name: "WebFetch"}, Input: map[string]any{"url": "https://docs.example/x", "prompt": "?"}},
		{Tool: client.Tool{Name: "mcp__shop__get_item"}, Input: map[string]any{"id": 7}},
	}
	for i := range n {
		c := others[r.IntN(len(others))]
		if r.IntN(4) > 0 {
			words := parts[r.IntN(len(parts))]
			for range r.IntN(3) {
				words += []string{" && ", "; ", " | "}[r.IntN(3)] + parts[r.IntN(len(parts))]
			}
			c = client.ToolCall{Tool: client.Tool{Name: "Bash"}, Input: map[string]any{"command": words}}
		}
		c.ID = fmt.Sprint(i)
		list = append(list, c)
	}
	return list
}

// replayed decides calls one by one in the project. What one leaves of the shell does not
// count for the next, since it would depend on what is decided of the first.
func (d *testDaemon) replayed(t *testing.T, project string, calls []client.ToolCall) (list []*decisions.Decision) {
	t.Helper()
	c := d.dial(t)
	if _, err := client.DeclareSession(t.Context(), c, &client.Session{ID: "s", Cwd: project, Agent: &effects.Party{Name: "claude-agent-acp"}, AtShell: true}); err != nil {
		t.Fatal(err)
	}
	for _, call := range calls {
		ds, err := client.Decide(t.Context(), c, "s", call)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, ds...)
	}
	return list
}

// waitKept waits until the arguments of decisions are on the disk.
func (d *testDaemon) waitKept(t *testing.T, ids ...string) {
	t.Helper()
	eventually.Holds(t, "arguments are kept", func() bool {
		text := ""
		files, _ := filepath.Glob(d.data("arguments/*.jsonl"))
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				return false
			}
			text += string(b)
		}
		return !slices.ContainsFunc(ids, func(id string) bool { return !strings.Contains(text, id) })
	}, d.output.String)
}

func idsOf(list []*decisions.Decision) (ids []string) {
	for _, d := range list {
		ids = append(ids, d.ID)
	}
	return ids
}

// replays runs permd policy replay.
func (d *testDaemon) replays(t *testing.T, wantCode int, args ...string) *replay.Report {
	t.Helper()
	out, errs, code := printed(d.command(append([]string{"policy", "replay", "--json"}, args...)...))
	if code != wantCode {
		t.Fatalf("replay %q: exit code %d, want %d: %s%s", args, code, wantCode, errs, out)
	}
	r := new(replay.Report)
	if err := json.Unmarshal([]byte(out), r); err != nil && code != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

// TestReplay: under the same rules nothing differs, and under others what differs is what
// a daemon with these rules decides otherwise.
func TestReplay(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	rules := filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml")
	writeFile(t, rules, "allow:\n  run: [\"go build *\", frob x]\n  use: [\"shop:get_*\"]\n")
	d.start(t)
	project := d.project(t, map[string]string{"go.mod": "module canary\n", "a/a.go": "package a\n", "Makefile": "lint:\n\ttrue\n", "package.json": `{"scripts":{"test":"true"}}`})
	seed := testload.Seed(t)
	n, least := 150, 3 // differences of so many kinds
	if testing.Short() {
		n, least = 30, 1
	}
	calls := replayCalls(rand.New(rand.NewPCG(seed, 1)), n)
	was := d.replayed(t, project, calls)
	d.waitKept(t, idsOf(was)...)
	same := d.replays(t, 0)
	if same.Decisions != len(was) || same.Same != len(was) || same.Different != 0 {
		t.Errorf("replayed by the same rules: %+v", same)
	}

	writeFile(t, rules, "allow:\n  run: [frob x, npm test]\n  connect: [docs.example]\ndeny:\n  run: [\"git status *\"]\n  read: [\"./a/**\"]\n")
	d.reload(t)
	now := d.replayed(t, project, calls)
	want := map[string]int{}
	for i := range now {
		if now[i].Verdict != was[i].Verdict {
			want[string(was[i].Verdict+" "+now[i].Verdict)]++
		}
	}
	ids := idsOf(was)
	log := d.replays(t, 4, "--until", d.recordTime(t, now[0].ID))
	got := map[string]int{}
	for _, g := range log.Groups {
		got[string(g.From+" "+g.To)] += g.Count
		if !slices.Contains(ids, g.Example.DecisionID) || g.Rule == "" {
			t.Errorf("the example of a group is %+v", g)
		}
	}
	if !maps.Equal(got, want) || len(want) < least || log.Same+log.Different != len(was) {
		t.Errorf("replayed by other rules: %v, want %v: %+v", got, want, log)
	}
	if before := len(d.records(t)); before != len(d.records(t)) || before < len(was) {
		t.Errorf("a replay has written to the log")
	}
}

// recordTime is when a decision was made, as --until takes it.
func (d *testDaemon) recordTime(t *testing.T, id string) string {
	t.Helper()
	for _, r := range d.records(t) {
		if r.Decision.ID == id {
			return r.Time.Format("2006-01-02T15:04:05.999999999Z07:00")
		}
	}
	t.Fatalf("no decision %s", id)
	return ""
}

// objects decodes what a command prints with --json.
func objects[T any](t *testing.T, d *testDaemon, args ...string) (list []*T) {
	t.Helper()
	for line := range strings.Lines(d.permd(t, append(args, "--json")...)) {
		v := new(T)
		if err := json.Unmarshal([]byte(line), v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		list = append(list, v)
	}
	return list
}

// TestWhyAsked pastes each of the rules that are proposed: it must end the questions that it
// is for, and no other.
func TestWhyAsked(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it pastes each proposal; TestWhyAskedAfterDeny is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	folder := filepath.Join(d.home, ".config", "permd", "policy.d")
	writeFile(t, filepath.Join(folder, "rules.yaml"), "deny:\n  run: [\"go version *\"]\n")
	d.start(t)
	project := d.project(t, map[string]string{"go.mod": "module canary\n", "a/a.go": "package a\n", "Makefile": "lint:\n\ttrue\n", "package.json": `{"scripts":{"test":"true"}}`})
	seed := testload.Seed(t)
	calls := replayCalls(rand.New(rand.NewPCG(seed, 2)), 80)
	was := d.replayed(t, project, calls)
	d.waitKept(t, idsOf(was)...)
	asked := func(dec *decisions.Decision) (texts []string) {
		for _, e := range dec.Effects {
			if e.Verdict == decisions.Ask {
				texts = append(texts, e.Text)
			}
		}
		return texts
	}
	list := objects[replay.Question](t, d, "why-asked", "--limit", "1000")
	proposed, tried := 0, 0
	for _, q := range list {
		n, dangerous := 0, false
		for _, dec := range was {
			if dec.Verdict != decisions.Ask || !slices.Equal(asked(dec), q.Asked) {
				continue
			}
			n++
			dangerous = dangerous || slices.ContainsFunc(dec.Effects, func(e decisions.EffectDecision) bool {
				return e.Kind == effects.KindUnknown || slices.Contains(e.Tags, "secret")
			})
		}
		if n != q.Count || len(q.IDs) == 0 || (q.Rules == "") == (q.WhyNone == "") || dangerous && q.Rules != "" {
			t.Errorf("%d questions, dangerous %t: %+v", n, dangerous, q)
		}
		if q.Rules == "" {
			continue
		}
		if proposed++; tried == 4 {
			continue
		}
		tried++
		writeFile(t, filepath.Join(folder, "pasted", "rules.yaml"), q.Rules)
		d.reload(t)
		for i, now := range d.replayed(t, project, calls) {
			same := slices.Equal(asked(was[i]), q.Asked)
			switch {
			case was[i].Verdict == decisions.Ask && same && now.Verdict != decisions.Allow:
				t.Errorf("%s does not end %v of %v: %s", q.Rules, q.Asked, calls[i].Input, now.Reason)
			case was[i].Verdict != decisions.Allow && !same && now.Verdict == decisions.Allow:
				t.Errorf("%s also allows %v", q.Rules, calls[i].Input)
			}
		}
	}
	if len(list) < 5 || proposed < 3 {
		t.Errorf("%d questions, %d proposals", len(list), proposed)
	}
}

// TestSuggest: what was approved three times and never rejected is suggested, and no more
// than that. The commands do what they say.
func TestSuggest(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	bash := func(command string) client.ToolCall {
		return client.ToolCall{ID: "1", Tool: client.Tool{Name: "Bash"}, Input: map[string]any{"command": command}}
	}
	c := d.dial(t)
	if _, err := client.DeclareSession(t.Context(), c, &client.Session{ID: "s", Cwd: project, Agent: &effects.Party{Name: "claude-agent-acp"}}); err != nil {
		t.Fatal(err)
	}
	var ids []string
	answers := map[string]string{"frob x": "yyyy", "frob y": "yy", "frob z": "yyny", "cat .env": "yyy", "frob x --all": "n"}
	for _, command := range slices.Sorted(maps.Keys(answers)) {
		for _, a := range answers[command] {
			ds, err := client.Decide(t.Context(), c, "s", bash(command))
			if err != nil {
				t.Fatal(err)
			}
			v := decisions.Allow
			if a == 'n' {
				v = decisions.Deny
			}
			if _, err := client.Choose(t.Context(), c, &client.Choice{DecisionID: ds[0].ID, Verdict: v}); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, ds[0].ID)
		}
	}
	d.waitKept(t, ids...)
	list := objects[replay.Suggestion](t, d, "suggest")
	if len(list) != 2 || !slices.Equal(list[0].Asked, []string{"run frob x"}) || list[0].Yes != 4 || len(list[0].Evidence) != 4 || len(list[0].Commands) == 0 ||
		list[1].Commands != nil || list[1].Rules != "" || !strings.Contains(list[1].WhyNone, "secret") {
		t.Fatalf("suggestions: %s", d.permd(t, "suggest", "--json"))
	}
	for _, cmd := range list[0].Commands {
		d.permd(t, cmd[1:]...)
	}
	for i, dec := range d.replayed(t, project, []client.ToolCall{bash("frob x"), bash("frob y"), bash("frob x --all"), bash("cat .env")}) {
		if allowed := dec.Verdict == decisions.Allow; allowed != (i == 0) {
			t.Errorf("after the suggestion: call %d: %s", i, dec.Reason)
		}
	}
	acts := len(list[0].Commands)
	d.waitStored(t, int64(len(ids)+acts+4))
	d.waitKept(t, d.records(t)[len(ids)+acts].Decision.ID)
	if list := objects[replay.Suggestion](t, d, "suggest"); len(list) != 1 {
		t.Errorf("what is remembered is suggested: %s", d.permd(t, "suggest"))
	}
}
