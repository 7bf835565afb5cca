package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// TestRememberNoTime: an invalid time is refused with a hint, before the daemon is
// asked anything.
func TestRememberNoTime(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a daemon and many processes; TestRemember is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	for _, args := range [][]string{
		{"remember", "add", "connect", "x.example.com", "--for", "0s"}, {"remember", "add", "connect", "x.example.com", "--for=-1h"},
		{"remember", "add", "connect", "x.example.com", "--for", "999ms"}, {"allow", "d1", "--width", "w1", "--for", "0s"}, {"allow", "d1", "--width", "w1", "--for=-1s"},
	} {
		cmd := d.command(args...)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != cli.ExitUsage {
			t.Errorf("permd %v: %v", args, err)
		}
		for _, want := range []string{"--for must be at least a second", "hint", "leave --for out"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("permd %v does not say %q:\n%s", args, want, out)
			}
		}
	}
	// A valid time is accepted.
	d.start(t)
	if out := d.permd(t, "remember", "add", "connect", "x.example.com", "--scope", "user", "--for", "1h"); !strings.Contains(out, "x.example.com") {
		t.Errorf("an hour is refused:\n%s", out)
	}
}

// TestRememberEarlier: all commands work with the choices of an earlier permd, and
// show how they were converted.
func TestRememberEarlier(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a daemon and many processes; TestRemember is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	data, err := os.ReadFile(filepath.Join("..", "..", "remember", "testdata", "9eb77c9", "remember.db"))
	if err != nil {
		t.Fatal(err)
	}
	path := d.data("remember.db")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	// They belong to the user who runs the test and sees only these.
	if _, err := db.Exec("UPDATE choices SET uid = ?", os.Getuid()); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	d.start(t)

	changed := d.permd(t, "remember", "list", "--changed")
	for _, want := range []string{"rm victim", "go run ./a", "to be confirmed or forgotten"} {
		if !strings.Contains(changed, want) {
			t.Errorf("permd remember list --changed lacks %q:\n%s", want, changed)
		}
	}
	if strings.Contains(changed, "./tool.sh") || strings.Contains(changed, "go build") {
		t.Errorf("more than what has changed:\n%s", changed)
	}
	if out := d.permd(t, "status"); !strings.Contains(out, "permd remember list --changed") {
		t.Errorf("the status does not point to them:\n%s", out)
	}
	id := ""
	for line := range strings.Lines(changed) {
		if strings.Contains(line, "rm victim") {
			id = strings.Fields(line)[0]
		}
	}
	if out := d.permd(t, "remember", "show", id); !strings.Contains(out, "until you confirm the line") {
		t.Errorf("what has become of it is not shown:\n%s", out)
	}
	d.permd(t, "remember", "confirm", id)
	if out := d.permd(t, "remember", "list", "--changed"); strings.Contains(out, id) {
		t.Errorf("still to look at after it was confirmed:\n%s", out)
	}
	if out := d.permd(t, "remember", "forget", id); !strings.Contains(out, "hint: to undo this: permd remember undo ") {
		t.Errorf("no way back:\n%s", out)
	}
	export := d.permd(t, "remember", "export")
	for _, want := range []string{"'/home/ana/shop/docs/**'", "'go vet *'", "'git push --force *'", "'/home/ana/shop/src/**'"} {
		if !strings.Contains(export, want) {
			t.Errorf("the export lacks %s:\n%s", want, export)
		}
	}
	if strings.Contains(export, "- './") {
		t.Errorf("the export has a path of every project:\n%s", export)
	}
	if out, _, _ := printed(d.command("remember", "forget", "--all")); !strings.Contains(out, "forgotten: deny use jira:*") {
		t.Errorf("not all of it is forgotten:\n%s%s", out, d.output.String())
	}
}
