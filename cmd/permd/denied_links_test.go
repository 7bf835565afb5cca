package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/permd/permd/decisions"
)

// TestDeniedThroughLinks: a deny, an ask or a reject of a path holds also where the path
// is a link, or leads through one, although the effect of the call is on the file that
// the link leads to. Rules that allow everything would otherwise let it pass. Other files
// stay allowed by any name, and a project that is reached through a link is judged as one
// that is not.
func TestDeniedThroughLinks(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it asks a daemon for each spelling of a path; decisions and effects have the quick ones")
	}
	t.Parallel()
	d := newTestDaemon(t)
	root := d.project(t, map[string]string{
		"real/a": "x", "plain/a": "x", "tool.sh": "#!/bin/sh\n", "victim": "x", "sub/Makefile": "ship:\n\ttrue\n", "sub/.git/HEAD": "ref: refs/heads/main\n",
	})
	outside := filepath.Join(d.home, "outside")
	writeFile(t, filepath.Join(outside, "a"), "x")
	for link, to := range map[string]string{
		"data": "real", "other": "real", "far": outside, "link.sh": "tool.sh", "../work": "project", "../kube": outside,
	} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	d.policy(t, "all.rego", `allow contains "all" if { input.effect.kind in {"run", "read", "write", "delete"} }
deny contains "no writing outside of the project" if { input.effect.kind == "write"; not input.effect.project_path }`)
	writeFile(t, filepath.Join(d.home, ".config/permd/policy.d/rules.yaml"), `deny:
  read: ["./data/**", "./far/**", "~/kube/**"]
  write: ["`+d.home+`/work/plain/**"]
  run: ["./link.sh"]
ask:
  read: ["./other/**"]
`)
	d.start(t)
	for name, in := range map[string]*person{"project": d.asks(t, root), "link": d.asks(t, filepath.Join(d.home, "work"))} {
		for command, want := range map[string]decisions.Verdict{
			"cat data/a": decisions.Deny, "cat ./data/../data/a": decisions.Deny, "cat far/a": decisions.Deny, "grep -r x data": decisions.Deny,
			"cat ~/kube/a": decisions.Deny, "./link.sh": decisions.Deny, "cat other/a": decisions.Ask, "cat real/a data/a": decisions.Deny,
			"echo x > ~/work/plain/b": decisions.Deny,

			"cat real/a": decisions.Allow, "cat plain/a": decisions.Allow, "cat ../outside/a": decisions.Allow, "./tool.sh": decisions.Allow,
			"echo x > real/a": decisions.Allow, "echo x > other/b": decisions.Allow, "cat ~/work/plain/a": decisions.Allow,
		} {
			if got := in.bash(command); got.Verdict != want {
				t.Errorf("%s in the %s: %s, want %s: %s", command, name, got.Verdict, want, got.Reason)
			}
		}
	}
	if got := d.asks(t, root).bash("echo x > plain/b"); got.Verdict != decisions.Allow {
		t.Errorf("a file whose other path is denied, by its own in a session that does not use that path: %s: %s", got.Verdict, got.Reason)
	}

	// What was rejected stays so when the project is stored elsewhere, and a link leads there.
	for _, line := range [][]string{{"delete", "./victim"}, {"run", "./tool.sh"}} {
		cmd := d.command("remember", "add", "--reject", line[0], line[1])
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	moved := filepath.Join(d.home, "moved")
	if err := os.Rename(root, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(moved, root); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{root, outside} {
		in := d.asks(t, dir)
		for _, command := range []string{"rm " + root + "/victim", root + "/tool.sh", "cd " + root + " && ./tool.sh"} {
			in.is(in.bash(command), decisions.Deny, decisions.ByMemory)
		}
		in.is(in.bash("cat "+root+"/victim"), decisions.Allow, decisions.ByPolicy)
	}
}

// TestAskedThroughLinks: where a rule asks about a file by each of its paths, the answer
// that the person has remembered is enough.
func TestAskedThroughLinks(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a program or a daemon of its own; TestDeniedThroughLinks is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	root := d.project(t, map[string]string{"real/a": "x"})
	if err := os.Symlink("real", filepath.Join(root, "data")); err != nil {
		t.Fatal(err)
	}
	d.policy(t, "all.rego", `ask contains "every read" if { input.effect.kind == "read" }`)
	d.start(t)
	cmd := d.command("remember", "add", "read", "./real/**")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	in := d.asks(t, root)
	for _, command := range []string{"cat real/a", "cat data/a"} {
		in.is(in.bash(command), decisions.Allow, decisions.ByMemory)
	}
}
