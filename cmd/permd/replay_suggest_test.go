package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/replay"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket/client"
)

// TestSuggestNoMore: what is suggested allows no more than what was approved: a file that is
// deleted may be a folder by then, a run was approved in its folder, and what an answer rejects
// by now is not suggested.
func TestSuggestNoMore(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it answers many calls; TestSuggest is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"old/a.txt": "a", "sub/package.json": `{"scripts":{"test":"true"}}`})
	c := d.dial(t)
	approved := []string{"rm gone", "rm -r old", "cd sub && frob below", "frob root", "cd sub && frob both", "frob both", "frob no", "cd sub && npm test"}
	var ids []string
	ask := func(command string) *decisions.Decision {
		t.Helper()
		if _, err := client.DeclareSession(t.Context(), c, &client.Session{ID: "s", Cwd: project, AtShell: true, Agent: &effects.Party{Name: "claude-agent-acp"}}); err != nil {
			t.Fatal(err)
		}
		ds, err := client.Decide(t.Context(), c, "s", bashCalls(command)...)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, ds[0].ID)
		return ds[0]
	}
	ask("npm test") // in another folder, and not answered
	for _, command := range approved {
		for range 3 {
			if _, err := client.Choose(t.Context(), c, &client.Choice{DecisionID: ask(command).ID, Verdict: decisions.Allow}); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.permd(t, "remember", "add", "--reject", "run", "frob no", "--dir", project)
	if now := ask("frob no"); now.Verdict == decisions.Ask {
		t.Fatalf("rejected: %s", now.Reason)
	}
	d.waitKept(t, ids...)
	suggested := map[string]string{}
	for _, one := range objects[replay.Suggestion](t, d, "suggest") {
		suggested[strings.Join(one.Asked, "; ")] = one.WhyNone
		for _, cmd := range one.Commands {
			d.permd(t, cmd[1:]...)
		}
	}
	const (
		file   = "it deletes one file, and a line holds for a folder of that name too, with all that is in it; an answer to the question can be for the file alone"
		folder = "you approved it in another folder than the project's own, and a line holds in all of them; an answer to the question can be for that folder alone"
	)
	want := map[string]string{"delete ./gone": file, "delete ./old and all below": "", "run frob below": folder, "run frob root": "", "run frob both": "", "run npm test": ""}
	if !maps.Equal(suggested, want) {
		t.Errorf("suggested are %q, want %q", suggested, want)
	}
	for _, q := range objects[replay.Question](t, d, "why-asked", "--limit", "100") {
		if slices.Equal(q.Asked, []string{"run frob no"}) && (q.Rules != "" || q.WhyNone != "a remembered answer rejects it by now") {
			t.Errorf("why-asked: %+v", q)
		}
	}
	if err := os.Mkdir(filepath.Join(project, "gone"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(project, "gone", "precious"), "a")
	writeFile(t, filepath.Join(project, "package.json"), `{"scripts":{"test":"true"}}`)
	after := map[string]bool{"rm -rf gone": false, "frob below": false, "cd sub && frob below": false, "frob root": true, "frob both": true, "cd sub && npm test": true, "npm test": false, "frob no": false}
	for command, allowed := range after {
		if now := ask(command); (now.Verdict == decisions.Allow) != allowed {
			t.Errorf("after the suggestions: %s: %s: %s", command, now.Verdict, now.Reason)
		}
	}
	// What is not rejected any more is suggested again, once it was asked about.
	d.permd(t, "remember", "forget", "--all")
	ask("frob no")
	d.waitKept(t, ids...)
	if !slices.ContainsFunc(objects[replay.Suggestion](t, d, "suggest"), func(one *replay.Suggestion) bool {
		return slices.Equal(one.Asked, []string{"run frob no"}) && one.Commands != nil
	}) {
		t.Errorf("suggested:\n%s", d.permd(t, "suggest"))
	}
}
