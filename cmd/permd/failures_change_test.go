package main

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
)

// changeLocked: a change that cannot be stored says so and changes nothing, also for the
// start after a crash; afterwards it can be made.
func changeLocked(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	id := strings.Fields(d.permd(t, "remember", "add", "write", "./docs/**", "--dir", project))[0]
	other := strings.Fields(d.permd(t, "remember", "add", "--reject", "run", "frob", "--dir", project))[0]
	before := d.permd(t, "remember", "list", "--json")
	release := d.lockDatabase(t, "remember.db")
	out, err := d.command("remember", "change", id, other, "--for", "1h").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "nothing was changed") {
		t.Errorf("%v, %s", err, out)
	}
	release()
	if after := d.permd(t, "remember", "list", "--json"); after != before {
		t.Errorf("there were\n%s\nand are\n%s", before, after)
	}
	d.kill()
	d.start(t)
	if after := d.permd(t, "remember", "list", "--json"); after != before {
		t.Errorf("before the crash there were\n%s\nand are\n%s", before, after)
	}
	p := d.asks(t, project)
	if c := d.changed(t, id, "--for", "1h"); c.Expires.IsZero() {
		t.Errorf("now it can be stored: %+v", c)
	}
	p.is(p.bash("frob"), decisions.Deny, decisions.ByMemory)
}
