package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/settings"
)

// holding starts a daemon whose changed rules wait, and has it decide calls.
func holding(t *testing.T, mode string, commands ...string) (d *testDaemon, project string) {
	t.Helper()
	d = newTestDaemon(t)
	writeFile(t, d.settings(), fmt.Sprintf("reload = %q\n", mode))
	d.start(t)
	project = d.project(t, nil)
	d.waitKept(t, idsOf(d.replayed(t, project, bashCalls(commands...)))...)
	return d, project
}

func (d *testDaemon) settings() string {
	return filepath.Join(d.home, ".config", "permd", "permd.toml")
}

func (d *testDaemon) list() string {
	return filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml")
}

// waits waits until changed rules wait, and were tried if they must be.
func (d *testDaemon) waits(t *testing.T, tried bool) (w *policy.Waiting) {
	t.Helper()
	eventually.Holds(t, "the changed rules wait", func() bool {
		w = d.status(t).Policy.Waiting
		return w != nil && (w.Trial != nil) == tried
	}, d.output.String)
	return w
}

func (d *testDaemon) settled(t *testing.T, digest string) {
	t.Helper()
	eventually.Holds(t, "other rules are in force", func() bool {
		s := d.status(t)
		return s.Policy.Waiting == nil && s.Digest != digest
	}, d.output.String)
}

// TestReloadReplaySafe: changed rules come into force by themselves only if they allow nothing that
// is asked or denied.
func TestReloadReplaySafe(t *testing.T) {
	t.Parallel()
	d, project := holding(t, settings.ReloadReplaySafe, "frob canary", "git status")
	digest := d.status(t).Digest
	verdict := func(command string) decisions.Verdict {
		return d.replayed(t, project, bashCalls(command))[0].Verdict
	}
	writeFile(t, d.list(), "allow:\n  run: [frob canary]\n")
	if w := d.waits(t, true); w.Trial.Loosened == 0 || w.Trial.Decided < 2 || w.Trial.Why != "" {
		t.Fatalf("%+v", w.Trial)
	}
	if v := verdict("frob canary"); v != decisions.Ask || d.status(t).Digest != digest {
		t.Errorf("it is decided by rules that wait: %s", v)
	}
	d.waitOutput(t, "changed rules are not in force yet")
	out := d.permd(t, "status")
	if !strings.Contains(out, "waiting  changed user rules wait since ") || !strings.Contains(out, "they would allow") || !strings.Contains(out, "permd reload puts them in force") {
		t.Errorf("status: %s", out)
	}
	if out, _, _ := printed(d.command("doctor")); !strings.Contains(out, "changed user rules wait since ") {
		t.Errorf("doctor: %s", out)
	}
	out, errs, code := printed(d.command("reload", "--if-replay-safe"))
	if code != 4 || !strings.Contains(errs, "nothing was reloaded: the new rules allow") || !strings.Contains(out, "frob canary") || d.status(t).Digest != digest {
		t.Errorf("reload --if-replay-safe: %d %s%s", code, out, errs)
	}
	// What is only stricter does not wait, and a loosening that no call needs does for a moment.
	writeFile(t, d.list(), "allow:\n  run: [other *]\n")
	d.settled(t, digest)
	digest = d.status(t).Digest
	writeFile(t, d.list(), "deny:\n  run: [\"git status *\"]\n")
	d.settled(t, digest)
	if v := verdict("git status"); v != decisions.Deny {
		t.Errorf("a deny: %s", v)
	}
	// A person decides.
	writeFile(t, d.list(), "allow:\n  run: [frob canary]\n")
	d.waits(t, true)
	if v := verdict("git status"); v != decisions.Deny {
		t.Errorf("the deny has gone: %s", v)
	}
	if out := d.permd(t, "reload"); !strings.Contains(out, "is in force") {
		t.Error(out)
	}
	if a, b := verdict("frob canary"), verdict("git status"); a != decisions.Allow || b != decisions.Allow {
		t.Errorf("after the reload: %s, %s", a, b)
	}
}

// TestReloadManual: changed rules wait until they are requested, and what is only stricter does not.
func TestReloadManual(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for a setting; TestReloadReplaySafe is the quick one")
	}
	t.Parallel()
	d, project := holding(t, settings.ReloadManual, "frob canary")
	digest := d.status(t).Digest
	writeFile(t, d.list(), "allow:\n  run: [other *]\n")
	if w := d.waits(t, false); w.Mode != settings.ReloadManual {
		t.Errorf("%+v", w)
	}
	if out := d.permd(t, "status"); !strings.Contains(out, `reload is "manual"`) || d.status(t).Digest != digest {
		t.Errorf("status: %s", out)
	}
	if out, errs, code := printed(d.command("reload", "--if-replay-safe")); code != 0 || !strings.Contains(out, "is in force") {
		t.Errorf("reload --if-replay-safe: %d %s%s", code, out, errs)
	}
	digest = d.status(t).Digest
	writeFile(t, d.list(), "deny:\n  run: [frob *]\n")
	d.settled(t, digest)
	if v := d.replayed(t, project, bashCalls("frob canary"))[0].Verdict; v != decisions.Deny {
		t.Errorf("a deny: %s", v)
	}
	// The setting itself waits, too, so that nobody turns it off by the way.
	if err := os.Remove(d.settings()); err != nil {
		t.Fatal(err)
	}
	if w := d.waits(t, false); w.Parts[0] != "settings" {
		t.Errorf("%+v", w)
	}
}

// stays wants that the rules in force are those of before, and that a call is asked.
func (d *testDaemon) stays(t *testing.T, project, digest string) {
	t.Helper()
	if now := d.replayed(t, project, bashCalls("frob canary", probe)); now[0].Verdict != decisions.Ask || now[1].Verdict != decisions.Allow || d.status(t).Digest != digest {
		t.Errorf("decided by other rules: %s, %s", now[0].Verdict, now[1].Verdict)
	}
}

func heldUnreadable(t *testing.T) {
	d, project := holding(t, settings.ReloadReplaySafe, "frob canary", probe)
	digest := d.status(t).Digest
	for _, file := range d.argumentFiles(t) {
		writeFile(t, file, "\x00 damaged\n")
	}
	writeFile(t, d.list(), "allow:\n  run: [frob canary]\n")
	if w := d.waits(t, true); !strings.Contains(w.Trial.Why, "none of the latest decisions could be decided again") {
		t.Errorf("damaged: %+v", w.Trial)
	}
	d.stays(t, project, digest)
	if err := os.Rename(d.data("arguments"), d.data("aside")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, d.data("arguments"), "in the way")
	writeFile(t, d.list(), "allow:\n  run: [frob canary, frob other]\n")
	eventually.Holds(t, "the other rules wait", func() bool {
		w := d.status(t).Policy.Waiting
		return w != nil && w.Trial != nil && strings.Contains(w.Trial.Why, "the replay failed: ")
	}, d.output.String)
	d.stays(t, project, digest)
}

// heldEndless: an evaluation of these rules is ended before it ends.
func heldEndless(t *testing.T) {
	d, project := holding(t, settings.ReloadReplaySafe, "frob canary", probe)
	digest := d.status(t).Digest
	d.policy(t, "endless.rego", "allow contains \"endless\" if { some a in letters; some b in letters; some c in letters; some d in letters; concat(\"\", [a, b, c, d]) == \"y\" }\n\nletters := split(\""+strings.Repeat("x", 400)+"\", \"\")")
	if w := d.waits(t, true); !strings.Contains(w.Trial.Why, "could be decided again") && !strings.Contains(w.Trial.Why, "did not end within") {
		t.Errorf("%+v", w.Trial)
	}
	d.stays(t, project, digest)
}

// heldKilled: at a start there is nothing but the files, and the log says that they are others.
func heldKilled(t *testing.T) {
	d, project := holding(t, settings.ReloadReplaySafe, "frob canary", probe)
	digest := d.status(t).Digest
	eventually.Holds(t, "the rules are kept", func() bool { return len(d.revisions()) == 1 }, d.output.String)
	writeFile(t, d.list(), "allow:\n  run: [frob canary]\n")
	d.waits(t, true)
	d.stays(t, project, digest)
	d.kill()
	d.start(t)
	if s := d.status(t); s.Policy.Waiting != nil || s.Digest == digest {
		t.Errorf("%+v", s.Policy)
	}
	d.waitOutput(t, "what is on the disk at the start does not wait")
}

// heldSaved: a file that is emptied, written by halves or replaced by another loses no deny.
func heldSaved(t *testing.T) {
	d, project := holding(t, settings.ReloadReplaySafe, "frob canary", probe)
	writeFile(t, d.list(), "deny:\n  run: [frob *]\n")
	d.settled(t, d.status(t).Digest)
	for _, text := range []string{"", "deny:\n", "deny:\n  run: [other", "allow:\n  run: [frob canary]\n", "deny:\n  run: [frob *]\nallow:\n  run: [frob canary]\n"} {
		writeFile(t, d.list(), text)
		for range 3 {
			if v := d.replayed(t, project, bashCalls("frob canary"))[0].Verdict; v != decisions.Deny {
				t.Errorf("%q: %s", text, v)
			}
		}
	}
	writeFile(t, d.list()+"~", "allow:\n  run: [frob canary]\n")
	if err := os.Rename(d.list()+"~", d.list()); err != nil {
		t.Fatal(err)
	}
	d.waits(t, true)
	if v := d.replayed(t, project, bashCalls("frob canary"))[0].Verdict; v != decisions.Deny {
		t.Errorf("replaced: %s", v)
	}
}
