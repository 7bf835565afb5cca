package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/bundles/bundlestest"
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

// TestBundleReconfigured tests that bundles whose configuration comes back, or is new, while the
// daemon runs are in force as after a start: what was kept at once, and where nothing was kept calls
// ask. The server then has nothing that is newer.
func TestBundleReconfigured(t *testing.T) {
	t.Parallel()
	for layer, other := range map[string]string{"org": "user", "user": "org"} {
		t.Run(layer, func(t *testing.T) {
			t.Parallel()
			d, b := newTestDaemon(t), newBundleServer(t)
			root := b.configure(t, d)
			config := filepath.Join(root, "etc/permd/opa.yaml")
			text := strings.Replace(readPage(t, config), "  org:\n", "  "+layer+":\n", 1)
			data := b.key.SignedFor(t, bundles.Kind(layer), "1", map[string]string{"rules.yaml": "deny:\n  run: [git status]\n"})
			b.data.Store(&data)
			writeFile(t, config, text)
			d.start(t, "--root", root)
			project := d.project(t, nil)
			decide := func(command string) string { return d.session(t, project).ask(t, decideLine(command)).Verdict }
			eventually.Holds(t, "the bundle is in force", func() bool { return decide("git status") == "deny" }, d.output.String)
			if err := d.stop(t); err != nil {
				t.Error(err)
			}
			if err := os.Remove(config); err != nil {
				t.Fatal(err)
			}
			d.start(t, "--root", root)
			if got := decide("git status"); got != "allow" {
				t.Errorf("without a configuration: %s", got)
			}
			writeFile(t, config, text)
			d.permd(t, "reload", "--root", root)
			if got := decide("git status"); got != "deny" {
				t.Errorf("with its configuration again: %s", got)
			}
			if s := d.status(t); s.Degraded {
				t.Errorf("degraded: %q", s.Problems())
			}
			// One of the other layer is configured, and cannot be had.
			writeFile(t, config, strings.Replace(text, "bundles:\n", "bundles:\n  "+other+": {service: web, resource: none.tar.gz, signing: {keyid: "+bundlestest.KeyID+"}}\n", 1))
			d.permd(t, "reload", "--root", root)
			if got := decide("ls"); got != "ask" {
				t.Errorf("with a bundle that cannot be had: %s", got)
			}
			if got := decide("git status"); got != "deny" {
				t.Errorf("with a bundle that cannot be had besides: %s", got)
			}
			if s := d.status(t); !s.Degraded {
				t.Error("the status says nothing of it")
			}
		})
	}
}
