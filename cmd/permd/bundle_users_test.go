package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy/bundles"
)

// TestBundleUsers tests a daemon that is given rules for the layer of each person. They count besides
// the person's own, and only as much as those: the person can allow what they ask about.
func TestBundleUsers(t *testing.T) {
	t.Parallel()
	d, b := newTestDaemon(t), newBundleServer(t)
	root := b.configure(t, d)
	config := filepath.Join(root, "etc/permd/opa.yaml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, config, strings.Replace(string(text), "  org:\n", "  user:\n", 1))
	publish := func(kind bundles.Kind, revision, rules string) {
		t.Helper()
		data := b.key.SignedFor(t, kind, revision, map[string]string{"rules.yaml": rules})
		b.data.Store(&data)
	}
	own := filepath.Join(d.home, ".config/permd/policy.d/rules.yaml")
	writeFile(t, own, "deny:\n  run: [git log]\n")
	d.start(t, "--root", root)
	project := d.project(t, nil)
	decide := func(command string) answer {
		t.Helper()
		return d.session(t, project).ask(t, decideLine(command))
	}
	wants := func(when string, of map[string]string) {
		t.Helper()
		for command, verdict := range of {
			if got := decide(command); got.Verdict != verdict {
				t.Errorf("%s: %s: %+v, want %s", when, command, got, verdict)
			}
		}
	}
	wait := func(what string, holds func() bool) {
		t.Helper()
		eventually.Holds(t, what, holds, d.output.String)
	}
	wants("without a bundle", map[string]string{"ls": "ask", "git log": "deny"})
	wait("the status says why", func() bool {
		s := d.status(t)
		return s.Degraded && s.Control.User != nil && s.Control.User.Revision == "" && strings.Contains(s.Control.User.Error, "Bad Gateway")
	})
	publish(bundles.Org, "1", "deny:\n  run: [git status]\n")
	wait("one of org is refused", func() bool { return strings.Contains(d.status(t).Control.User.Error, "the roots are ") })
	publish(bundles.User, "1", "deny:\n  run: [git status]\n")
	wait("the first bundle is in force", func() bool { return decide("git status").Verdict == "deny" })
	wants("with a bundle", map[string]string{"ls": "allow", "git log": "deny"})
	if s := d.status(t); s.Degraded || s.Bundle != nil || s.Control.User.Revision != "1" || s.Control.User.Error != "" {
		t.Errorf("%+v", s.Control.User)
	}
	publish(bundles.User, "2", "deny:\n  run_: [ls]\n")
	wait("broken rules are refused", func() bool {
		return strings.Contains(d.status(t).Control.User.Error, "loading user rules: bundle 2: rules.yaml:2")
	})
	publish(bundles.User, "3", "ask:\n  run: [git status]\n")
	wait("the next bundle is in force", func() bool { return decide("git status").Verdict == "ask" })
	writeFile(t, own, "allow:\n  run: [frob]\n")
	d.reload(t)
	wants("with other rules of the person", map[string]string{"git log": "allow", "frob": "allow", "git status": "ask"})
	b.Close()
	if err := d.stop(t); err != nil {
		t.Error(err)
	}
	d.start(t, "--root", root)
	wants("after a restart without the server", map[string]string{"ls": "allow", "frob": "allow", "git status": "ask"})
	if out := d.permd(t, "status"); !strings.Contains(out, "user       revision 3 since ") {
		t.Errorf("permd status:\n%s", out)
	}
}
