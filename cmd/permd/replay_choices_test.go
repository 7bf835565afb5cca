package main

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/replay"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/client"
)

func bashCalls(commands ...string) (list []client.ToolCall) {
	for _, command := range commands {
		list = append(list, client.ToolCall{ID: "1", Tool: client.Tool{Name: "Bash"}, Input: map[string]any{"command": command}})
	}
	return list
}

// TestReplayChoices: a replay decides with the choices that answered then, also where they are
// forgotten by now.
func TestReplayChoices(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for choices alone; TestReplay is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	d.permd(t, "remember", "add", "run", "frob x", "--dir", project)
	d.permd(t, "remember", "add", "--reject", "run", "frob y", "--dir", project)
	was := d.replayed(t, project, bashCalls("frob x", "frob y", "frob z"))
	if was[0].By != decisions.ByMemory || was[0].Verdict != decisions.Allow || was[1].By != decisions.ByMemory || was[1].Verdict == decisions.Allow || was[2].Verdict != decisions.Ask {
		t.Fatalf("%s by %s, %s by %s, %s", was[0].Verdict, was[0].By, was[1].Verdict, was[1].By, was[2].Verdict)
	}
	d.waitKept(t, idsOf(was)...)
	same := func(what string) {
		t.Helper()
		if r := d.replays(t, 0); r.Decisions != len(was) || r.Same != len(was) {
			t.Errorf("%s: %+v", what, r)
		}
	}
	same("by the same rules")
	d.permd(t, "remember", "forget", "--all")
	same("with the choices forgotten")
	rules := filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml")
	writeFile(t, rules, "deny:\n  run: [\"other *\"]\n")
	same("by rules about something else")
	writeFile(t, rules, "allow:\n  run: [frob x, frob y, frob z]\n")
	r := d.replays(t, 4)
	if len(r.Groups) != 1 || r.Groups[0].Example.DecisionID != was[2].ID || r.Groups[0].Count != 1 || r.Groups[0].To != decisions.Allow || r.Same != 2 {
		t.Errorf("by rules that allow all of them: %+v", r)
	}
}

// TestReloadIfReplaySafe: rules that would allow what was asked are not reloaded, and the call is
// named; rules that deny more are.
func TestReloadIfReplaySafe(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	calls := bashCalls("frob canary", "git status")
	was := d.replayed(t, project, calls)
	if was[0].Verdict != decisions.Ask || was[1].Verdict != decisions.Allow {
		t.Fatalf("%s, %s", was[0].Verdict, was[1].Verdict)
	}
	d.waitKept(t, idsOf(was)...)
	rules := filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml")
	reload := func(text string) (out, errs string, code int) {
		writeFile(t, rules, text)
		eventually.Holds(t, "the rules are read", func() bool {
			out, errs, code = printed(d.command("reload", "--if-replay-safe"))
			return !strings.Contains(errs, "keep changing")
		})
		return out, errs, code
	}
	out, errs, code := reload("allow:\n  run: [frob canary]\n")
	// The daemon may have seen the change by itself.
	said := strings.Contains(errs, "nothing was reloaded: the new rules allow 1 call that was asked or denied") || strings.Contains(errs, "these rules are in force already, since ")
	if code != 4 || !said ||
		!strings.Contains(out, "ask -> allow  1 call") || !strings.Contains(out, "frob canary") || strings.Contains(out, "git status") {
		t.Errorf("rules that allow more: %d %s%s", code, errs, out)
	}
	if out, errs, code := reload("deny:\n  run: [\"git status *\"]\n"); code != 0 || !strings.Contains(out, "in force") {
		t.Errorf("rules that deny more: %d %s%s", code, errs, out)
	}
	if now := d.replayed(t, project, calls); now[0].Verdict != decisions.Ask || now[1].Verdict != decisions.Deny {
		t.Errorf("after the reload: %s, %s", now[0].Verdict, now[1].Verdict)
	}
}

// TestSuggestTools: no line is proposed for a tool, which would hold for all of its arguments, and
// none is shown for one whose name a line would read as a pattern.
func TestSuggestTools(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it explains nine calls; TestSuggest is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	c := d.dial(t)
	if _, err := client.DeclareSession(t.Context(), c, &client.Session{ID: "s", Cwd: project, Agent: &effects.Party{Name: "claude-agent-acp"}}); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, tool := range []client.Tool{{Name: "merge", Server: "gh"}, {Name: "star*", Server: "gh"}, {Name: "x", Server: "*"}} {
		for range 3 {
			ds, err := client.Decide(t.Context(), c, "s", client.ToolCall{ID: "1", Tool: tool, Input: map[string]any{"n": 1}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Choose(t.Context(), c, &client.Choice{DecisionID: ds[0].ID, Verdict: decisions.Allow}); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, ds[0].ID)
		}
	}
	d.waitKept(t, ids...)
	list := objects[replay.Suggestion](t, d, "suggest")
	for _, one := range list {
		if one.Commands != nil || one.Rules != "" || !strings.Contains(one.WhyNone, "uses a tool") {
			t.Errorf("%+v", one)
		}
	}
	if len(list) != 3 {
		t.Errorf("%d suggestions", len(list))
	}
	for _, q := range objects[replay.Question](t, d, "why-asked") {
		if q.Rules != "" {
			t.Errorf("%+v", q)
		}
	}
	for i, id := range ids {
		if out := d.permd(t, "explain", id); strings.Contains(out, "To allow exactly this") != (i < 3) {
			t.Errorf("%s", out)
		}
	}
}

// TestWhyAskedAfterDeny: what rules denied that are gone keeps no proposal back, and what the
// rules on the disk deny, although they asked then, does.
func TestWhyAskedAfterDeny(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	rules := filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml")
	writeFile(t, rules, "deny:\n  run: [\"frob x\"]\n")
	d.start(t)
	project := d.project(t, nil)
	was := d.replayed(t, project, bashCalls("frob x"))
	writeFile(t, rules, "")
	d.reload(t)
	was = append(was, d.replayed(t, project, bashCalls("frob x", "frob y", "frob z", "cat a.txt"))...)
	if was[0].Verdict != decisions.Deny || was[1].Verdict != decisions.Ask {
		t.Fatalf("decided: %v, %v", was[0].Reason, was[1].Reason)
	}
	d.waitKept(t, idsOf(was)...)
	writeFile(t, rules, "deny:\n  run: [\"frob z\"]\n")
	proposed := map[string]bool{}
	for _, q := range objects[replay.Question](t, d, "why-asked") {
		proposed[strings.Join(q.Asked, "; ")] = q.Rules != ""
	}
	if want := map[string]bool{"run frob x": true, "run frob y": true}; !maps.Equal(proposed, want) {
		t.Errorf("proposed are %v, want %v", proposed, want)
	}
}
