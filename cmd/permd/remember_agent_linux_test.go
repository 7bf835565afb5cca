package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/socket/admin"
)

// TestRememberOfAgent: choices are found by the agent whose question they answered, also if the
// journal has lost the question of another choice.
func TestRememberOfAgent(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a daemon and many processes; TestChoiceMarks is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	answer := func(command string) {
		t.Helper()
		d.hook(t, "cursor", hookInput(hookShell[8].in, project, command))
		list := objects[admin.Question](t, d, "allow")
		d.permd(t, "allow", list[len(list)-1].DecisionID, "--width", "w1", "--scope", "project")
	}
	answer("frob x")
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	gone, err := filepath.Glob(filepath.Join(d.data(""), "decisions*"))
	if err != nil || len(gone) == 0 {
		t.Fatalf("no journal: %v", err)
	}
	for _, file := range gone {
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
	}
	d.start(t)
	answer("frob y")
	if out := d.permd(t, "remember", "list", "--agent", "cursor"); !strings.Contains(out, "frob y") || strings.Contains(out, "frob x") {
		t.Errorf("got %s", out)
	}
}
