package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/replay"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket/client"
)

// rulesFile is the person's list of rules.
func (d *testDaemon) rulesFile() string {
	return filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml")
}

// TestReplayOtherCauses: what only files that are others now decide otherwise is no difference of
// the rules, and what they add to it is one. Under rules of then that are not kept it counts as one,
// and a sentence says so.
func TestReplayOtherCauses(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it replays under rules of each kind; TestReplay is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	writeFile(t, d.rulesFile(), "deny:\n  run: [\"elsewhere *\"]\n")
	d.start(t)
	project := d.project(t, map[string]string{"a.txt": "x\n"})
	if out, err := exec.CommandContext(t.Context(), "git", "-C", project, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	link := filepath.Join(project, "lnk")
	if err := os.Symlink("/etc/hosts", link); err != nil {
		t.Fatal(err)
	}
	was := d.replayed(t, project, bashCalls("git add ."))
	if was[0].Verdict != decisions.Ask {
		t.Fatalf("%s: %s", was[0].Verdict, was[0].Reason)
	}
	d.waitKept(t, idsOf(was)...)
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	for _, rules := range []string{"deny:\n  run: [\"elsewhere *\"]\n", "deny:\n  run: [\"other *\"]\n"} {
		writeFile(t, d.rulesFile(), rules)
		r := d.replays(t, 0)
		if r.Decisions != 1 || r.Different != 0 || len(r.Undecided) != 1 || !strings.Contains(r.Undecided[0].Why, "the rules of then decide it otherwise now") {
			t.Errorf("%s: %+v", rules, r)
		}
	}
	writeFile(t, d.rulesFile(), "deny:\n  run: [\"git add *\"]\n")
	if r := d.replays(t, 4); r.Different != 1 || r.Unsure != 0 || r.Groups[0].From != decisions.Allow || r.Groups[0].To != decisions.Deny {
		t.Errorf("by a deny of it: %+v", r)
	}
	writeFile(t, d.rulesFile(), "deny:\n  run: [\"other *\"]\n")
	for _, f := range d.revisions() {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	if r := d.replays(t, 4); r.Different != 1 || r.Unsure != 1 {
		t.Errorf("without the rules of then: %+v", r)
	}
	if out, _, _ := printed(d.command("policy", "replay")); !strings.Contains(out, "of these, 1 may be decided otherwise for other reasons than the rules") {
		t.Errorf("replay says %s", out)
	}
}

// TestReplayInherited: what a remembered run covers is allowed in a replay as it was then.
func TestReplayInherited(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for runs alone; TestReplay is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	c := d.dial(t)
	if _, err := client.DeclareSession(t.Context(), c, &client.Session{ID: "s", Cwd: project, Agent: &effects.Party{Name: "claude-agent-acp"}}); err != nil {
		t.Fatal(err)
	}
	call := bashCalls("pip install foo")[0]
	var ids []string
	for range 3 {
		ds, err := client.Decide(t.Context(), c, "s", call)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Choose(t.Context(), c, &client.Choice{DecisionID: ds[0].ID, Verdict: decisions.Allow}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, ds[0].ID)
	}
	d.waitKept(t, ids...)
	list := objects[replay.Suggestion](t, d, "suggest")
	if len(list) != 1 || len(list[0].Commands) == 0 {
		t.Fatalf("suggested: %s", d.permd(t, "suggest"))
	}
	for _, cmd := range list[0].Commands {
		d.permd(t, cmd[1:]...)
	}
	was := d.replayed(t, project, bashCalls("pip install foo"))
	if was[0].Verdict != decisions.Allow || len(was[0].Effects) < 2 {
		t.Fatalf("%s: %s %+v", was[0].Verdict, was[0].Reason, was[0].Effects)
	}
	d.waitKept(t, was[0].ID)
	if list := objects[replay.Suggestion](t, d, "suggest"); len(list) != 0 {
		t.Errorf("what is remembered is suggested: %s", d.permd(t, "suggest"))
	}
	if out := d.permd(t, "explain", was[0].ID); !strings.Contains(out, "a remembered allow of its run covers it") {
		t.Errorf("explained:\n%s", out)
	}
	for _, rules := range []string{"", "deny:\n  run: [\"other *\"]\n"} {
		writeFile(t, d.rulesFile(), rules)
		if r := d.replays(t, 0); r.Same != 4 || len(r.Undecided) != 0 {
			t.Errorf("by the rules %q: %+v", rules, r)
		}
	}
}

// TestReplayNames: the rule that is named is the one that makes the difference.
func TestReplayNames(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for names alone; TestReplay is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"a.txt": "x\n"})
	was := d.replayed(t, project, bashCalls("cat a.txt && frob x"))
	d.waitKept(t, idsOf(was)...)
	writeFile(t, d.rulesFile(), "allow:\n  run: [frob x]\n")
	if r := d.replays(t, 4); len(r.Groups) != 1 || !strings.Contains(r.Groups[0].Rule, "rules.yaml:2") {
		t.Errorf("the group is %+v", r.Groups[0])
	}
	for _, dir := range []string{filepath.Join(d.home, "nowhere"), d.rulesFile()} {
		if out, errs, code := printed(d.command("policy", "replay", dir)); code != 2 || out != "" || !strings.Contains(errs, "no folder") {
			t.Errorf("replay %s: %d %s%s", dir, code, errs, out)
		}
	}
}

// TestReloadInForce: of rules that the daemon has read by itself it is not said that they are not
// in force.
func TestReloadInForce(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for what is printed; TestReplay is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	was := d.replayed(t, project, bashCalls("frob x", "frob y"))
	d.waitKept(t, idsOf(was)...)
	writeFile(t, d.rulesFile(), "allow:\n  run: [frob x, frob y]\n")
	d.reload(t)
	out, errs, code := printed(d.command("reload", "--if-replay-safe"))
	if code != 4 || !strings.Contains(errs, "these rules are in force already, since ") || !strings.Contains(errs, "they allow 2 calls that were asked or denied") || !strings.Contains(out, "ask -> allow  2 calls") {
		t.Errorf("%d %s%s", code, errs, out)
	}
}

// TestWhatIfNames: a file that is tried is named as it was given, also where it is wrong, and the
// same rules have the same digest.
func TestWhatIfNames(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it replays under files of each kind; TestReplay is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	was := d.replayed(t, project, bashCalls("frob x"))
	d.waitKept(t, idsOf(was)...)
	file := filepath.Join(d.home, "wb.yaml")
	writeFile(t, file, "allow:\n  run:\n    - [\n")
	if out, errs, code := printed(d.command("explain", "--what-if", file, was[0].ID)); code != 3 || out != "" || !strings.Contains(errs, file+":") || strings.Contains(errs, "permd-replay") || strings.Contains(errs, "policy check") {
		t.Errorf("a broken file: %d %s%s", code, errs, out)
	}
	writeFile(t, file, "allow:\n  run: [frob x]\n")
	first := d.permd(t, "explain", "--json", "--what-if", file, was[0].ID)
	if strings.Contains(first, "permd-replay") || !strings.Contains(first, file+":2") || first != d.permd(t, "explain", "--json", "--what-if", file, was[0].ID) {
		t.Errorf("explained:\n%s", first)
	}
}

// TestWhyAskedAnswers: what a person said no to is not proposed, what scripts of the project say is
// proposed with them, and the lines can be pasted together.
func TestWhyAskedAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it answers many calls; TestWhyAskedAfterDeny is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"package.json": `{"scripts":{"test":"true"}}`})
	calls := bashCalls("npm test", "frob x", "frob y", "frob z")
	was := d.replayed(t, project, calls)
	c := d.dial(t)
	if _, err := client.DeclareSession(t.Context(), c, &client.Session{ID: "s", Cwd: project, Agent: &effects.Party{Name: "claude-agent-acp"}}); err != nil {
		t.Fatal(err)
	}
	no, err := client.Decide(t.Context(), c, "s", calls[3])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Choose(t.Context(), c, &client.Choice{DecisionID: no[0].ID, Verdict: decisions.Deny}); err != nil {
		t.Fatal(err)
	}
	d.waitKept(t, append(idsOf(was), no[0].ID)...)
	list := objects[replay.Question](t, d, "why-asked")
	for _, q := range list {
		bound := strings.Contains(q.Asked[0], "npm")
		if rejected := strings.Contains(q.Asked[0], "frob z"); rejected != (q.Rules == "") || rejected != (q.WhyNone == "you said no 1 time") || bound != (q.Commands != nil) {
			t.Errorf("%+v", q)
		}
	}
	if len(list) != 4 {
		t.Fatalf("%d questions", len(list))
	}
	explained := d.permd(t, "explain", was[0].ID)
	command := "permd remember add run 'npm test' --dir " + project
	if !strings.Contains(explained, "    "+command+"\n  or in rules.yaml, in every project, and whatever these files say:\n") {
		t.Errorf("explained:\n%s", explained)
	}
	out := d.permd(t, "why-asked")
	if !strings.Contains(out, "    "+command+"\n") {
		t.Errorf("why-asked:\n%s", out)
	}
	paste := func() (file string) {
		t.Helper()
		_, rest, ok := strings.Cut(d.permd(t, "why-asked"), "\nIn ")
		file, yaml, again := strings.Cut(rest, ", for every project:\n")
		if !ok || !again {
			t.Fatalf("why-asked:\n%s", out)
		}
		if _, err := os.Lstat(file); err == nil {
			t.Errorf("%s is there already", file)
		}
		writeFile(t, file, yaml)
		return file
	}
	if file := paste(); file != d.rulesFile() {
		t.Errorf("lines go to %s", file)
	}
	d.reload(t)
	d.permd(t, "remember", "add", "run", "npm test", "--dir", project)
	for i, dec := range d.replayed(t, project, calls) {
		if (dec.Verdict == decisions.Allow) != (i < 3) {
			t.Errorf("after all was pasted: %s: %s", calls[i].Input, dec.Reason)
		}
	}
	more := d.replayed(t, project, bashCalls("frob more"))
	d.waitKept(t, idsOf(more)...)
	if file := paste(); file == d.rulesFile() {
		t.Errorf("lines go to %s, which is there", file)
	}
	d.reload(t)
	if now := d.replayed(t, project, bashCalls("frob more")); now[0].Verdict != decisions.Allow {
		t.Errorf("after more was pasted: %s", now[0].Reason)
	}
}
