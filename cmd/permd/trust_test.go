package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
)

// TestTrust has the list of a project trusted by the command, changed, trusted again, revoked and
// forbidden by org, over daemons that are killed and started again.
func TestTrust(t *testing.T) {
	t.Parallel()
	const rules = "allow:\n  run: [make check]\n  write: [/etc/x]\ndeny:\n  run: [frobnicate *]\n"
	d := newTestDaemon(t)
	root := t.TempDir()
	d.start(t, "--root", root)
	project := d.project(t, map[string]string{"Makefile": "check:\n\ttrue\n", ".permd/rules.yaml": rules})
	list := filepath.Join(project, ".permd", "rules.yaml")
	is := func(what string, verdict, reason string) {
		t.Helper()
		got := d.session(t, project).ask(t, toolLine("Bash", map[string]string{"command": "make check"}))
		if got.Verdict != verdict || got.By != "policy" || !strings.Contains(got.Reason, reason) {
			t.Errorf("%s: %+v, want %s", what, got, verdict)
		}
	}
	trust := func(want string, args ...string) {
		t.Helper()
		if out := d.permd(t, append([]string{"trust"}, args...)...); !strings.Contains(out, want) {
			t.Errorf("permd trust %v:\n%s\nwant %q", args, out, want)
		}
	}
	is("before", "ask", "")
	trust("you do not trust these rules", "--show", project)
	if out, err := d.command("trust", project).CombinedOutput(); err == nil || !strings.Contains(string(out), "nobody is here to look") {
		t.Errorf("without a terminal: %v\n%s", err, out)
	}
	is("after it was shown", "ask", "")
	trust("write    /etc/x", "--yes", project)
	is("trusted", "allow", "listed under allow run by the project")
	trust("  trusted", "--list")
	d.kill()
	d.start(t, "--root", root)
	is("after a restart", "allow", "listed under allow run by the project")

	if err := os.WriteFile(list, []byte(strings.Replace(rules, "frobnicate", "frob", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the changed list", func() bool {
		return strings.Contains(d.permd(t, "status"), "its rules changed since you trusted them: permd trust")
	}, d.output.String)
	is("changed", "ask", "")
	for _, denied := range []string{"frob x", "frobnicate x"} { // by the present list, and by the one that was trusted
		wantAnswer(t, denied, d.session(t, project).ask(t, toolLine("Bash", map[string]string{"command": denied})), "deny", "policy", "")
	}
	trust("-  run: [frobnicate *]\n+  run: [frob *]", "--show", project)
	asked := d.recordsThat(t, decisions.RecordFilter{Verdict: decisions.Ask})
	last := slices.MaxFunc(asked, func(a, b decisions.Record) int { return a.Time.Compare(b.Time) })
	if out := d.permd(t, "explain", last.Decision.ID); !strings.Contains(out, "its rules changed since you trusted them: permd trust") {
		t.Errorf("permd explain:\n%s", out)
	}

	// Killed in the middle of a request, the daemon has either stored the trust or not.
	told := d.command("trust", "--yes", project)
	if err := told.Start(); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the file of the pin", func() bool {
		found, err := filepath.Glob(d.data("trust/*.json"))
		return err == nil && len(found) == 1
	})
	d.kill()
	done := told.Wait() == nil
	d.start(t, "--root", root)
	if out := d.permd(t, "trust", "--list"); strings.Contains(out, "warning") || done && !strings.Contains(out, "  trusted") || !strings.Contains(out, project) {
		t.Errorf("after a kill, told: %v:\n%s", done, out)
	}
	trust("are trusted until", "--yes", project)
	is("trusted again", "allow", "listed under allow run by the project")
	trust("not trusted any more", "--revoke", project)
	is("revoked", "ask", "")
	trust("are trusted until", "--yes", project)
	writeFile(t, filepath.Join(root, "etc", "permd", "permd.toml"), "project_trust = \"forbid\"\n")
	d.permd(t, "reload")
	is("forbidden", "ask", "")
	if out, err := d.command("trust", "--yes", project).CombinedOutput(); err == nil || !strings.Contains(string(out), "the organisation lets nobody trust") {
		t.Errorf("forbidden: %v\n%s", err, out)
	}
	if got := d.recordsThat(t, decisions.RecordFilter{Tool: "permd trust"}); len(got) < 3 {
		t.Errorf("%d of the decision log", len(got))
	}
}
