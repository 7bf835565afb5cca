package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// noArguments are the words for what the setting leaves out.
const noArguments = "no arguments are kept (no_arguments in permd.toml)"

// TestNoArguments: the setting deletes the arguments that are there, keeps no others, says so, and
// is taken back by a reload, too.
func TestNoArguments(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	p := d.asks(t, project)
	before := p.bash("frob before").ID
	d.waitKept(t, before)
	d.argumentFiles(t)
	settings := filepath.Join(d.home, ".config", "permd", "permd.toml")
	writeFile(t, settings, "no_arguments = true\n")
	d.permd(t, "reload")
	kept := func() string {
		var all strings.Builder
		files, _ := filepath.Glob(d.data("arguments/*.jsonl"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			all.Write(text)
		}
		return all.String()
	}
	eventually.Holds(t, "the arguments are deleted", func() bool { return kept() == "" })
	during := p.bash("frob during").ID
	if s := d.status(t); !s.Arguments.Off || s.Arguments.Failing != "" || s.Degraded {
		t.Errorf("the status: %+v", s.Arguments)
	}
	if out := d.permd(t, "status"); !strings.Contains(out, "no arguments of past calls are kept (no_arguments)") {
		t.Errorf("the status:\n%s", out)
	}
	// A question that is still in memory is explained as before; after a restart it is not.
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	if text := kept(); text != "" {
		t.Errorf("kept: %s", text)
	}
	d.start(t)
	for _, id := range []string{before, during} {
		if out := d.permd(t, "explain", id); !strings.Contains(strings.Join(strings.Fields(out), " "), noArguments) {
			t.Errorf("explained after a restart:\n%s", out)
		}
	}
	r := d.replays(t, 0)
	if r.Decisions != 2 || len(r.Undecided) != 1 || r.Undecided[0].Why != noArguments || r.Undecided[0].Count != 2 {
		t.Errorf("replayed: %+v", r)
	}
	if out, errs, code := printed(d.command("suggest")); code != 0 || !strings.HasPrefix(out, "no suggestions: nothing that is known ") || !strings.Contains(strings.Join(strings.Fields(errs), " "), "2 decisions left out: "+noArguments) {
		t.Errorf("suggested: %d\n%s%s", code, out, errs)
	}
	if out := d.permd(t, "remember", "add", "run", "frob *", "--dir", project, "--dry-run"); !strings.Contains(out, "would have matched 0 of the last 2 requests of this project; 2 cannot be decided again") {
		t.Errorf("previewed: %s", out)
	}
	if err := os.Remove(settings); err != nil {
		t.Fatal(err)
	}
	d.permd(t, "reload")
	after := d.asks(t, project).bash("frob after").ID
	d.waitKept(t, after)
	if text := kept(); strings.Contains(text, "frob during") || !strings.Contains(text, "frob after") {
		t.Errorf("kept: %s", text)
	}
}

// argumentsNotDeleted: arguments that cannot be deleted although none may be kept are said to be
// there, and are deleted when that is possible. Decisions are made as before.
func argumentsNotDeleted(t *testing.T) {
	d := newTestDaemon(t)
	writeFile(t, d.data("arguments"), "in the way")
	writeFile(t, filepath.Join(d.home, ".config", "permd", "permd.toml"), "no_arguments = true\n")
	d.start(t)
	wantAllowed(t, d.session(t, d.project(t, nil)))
	d.waitOutput(t, "arguments of past calls cannot be deleted")
	if s := d.status(t); !s.Degraded || s.Arguments.Failing == "" {
		t.Errorf("the status: %+v", s.Arguments)
	}
	if out := d.permd(t, "status"); !strings.Contains(out, "arguments kept earlier cannot be deleted: ") {
		t.Errorf("the status:\n%s", out)
	}
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(d.data("arguments")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, d.data("arguments/20260101T000000.000000000.jsonl"), "{}\n")
	d.start(t)
	eventually.Holds(t, "the arguments are deleted", func() bool {
		_, err := os.Stat(d.data("arguments/20260101T000000.000000000.jsonl"))
		return errors.Is(err, os.ErrNotExist)
	})
	if s := d.status(t); s.Degraded || s.Arguments.Failing != "" || !s.Arguments.Off {
		t.Errorf("the status: %+v", s.Arguments)
	}
}
