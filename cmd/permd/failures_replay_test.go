package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
)

// TestReplayFailures has the rows of the failure table about calls that are decided again.
func TestReplayFailures(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a table of failures; TestReplay is the quick one")
	}
	failures(t, []failure{
		{"arguments that were kept are damaged", argumentsDamaged},
		{"arguments cannot be kept", argumentsNotKept},
		{"arguments cannot be deleted although none may be kept", argumentsNotDeleted},
		{"the rules on the disk are broken when past calls are decided by them", replayBroken},
		{"the rules of then are gone, and decide otherwise", revisionGone},
		{"arguments that were kept are damaged or cannot be read when a choice is previewed", previewDamaged},
		{"the log, or its arguments, cannot be read when changed rules are replayed", heldUnreadable},
		{"changed rules never end when they are replayed", heldEndless},
		{"the daemon is killed while changed rules wait", heldKilled},
		{"an editor saves in steps while changed rules wait", heldSaved},
	}, "arguments that were kept are damaged")
}

// kept decides the probe by both forms, and waits for its arguments.
func (d *testDaemon) kept(t *testing.T) (ids []string) {
	t.Helper()
	wantAllowed(t, d.session(t, d.project(t, nil)))
	for _, r := range d.records(t) {
		ids = append(ids, r.Decision.ID)
	}
	d.waitKept(t, ids...)
	return ids
}

// argumentFiles are the files with arguments.
func (d *testDaemon) argumentFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(d.data("arguments/*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no arguments: %v", err)
	}
	return files
}

func argumentsDamaged(t *testing.T) {
	d := startDaemon(t)
	ids := d.kept(t)
	before := d.replays(t, 0)
	if before.Same != len(ids) {
		t.Fatalf("control: %+v", before)
	}
	file := d.argumentFiles(t)[0]
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{
		"cut off":         string(text[:len(text)/3]),
		"other text":      "\x00\xff{}\n[]\n{\"id\":7}\n" + strings.Repeat("x", 1<<20) + "\n",
		"another call":    strings.ReplaceAll(string(text), probe, "rm -rf ~"),
		"a number alone":  fmt.Sprintf("{\"id\":%q,\"n\":9}\n", ids[0]),
		"an unknown type": fmt.Sprintf("{\"id\":%q,\"n\":1,\"call\":{\"Tool\":7}}\n", ids[0]),
		"nothing":         "",
	}
	for _, name := range testload.WithShort(t, 2, slices.Sorted(maps.Keys(rows))) {
		damaged := rows[name]
		if err := os.WriteFile(file, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		r := d.replays(t, 0)
		n := 0
		for _, u := range r.Undecided {
			n += u.Count
		}
		if r.Decisions != len(ids) || r.Different != 0 || r.Same == len(ids) || r.Same+n != len(ids) {
			t.Errorf("%s: %+v", name, r)
		}
		if out, errs, code := printed(d.command("explain", ids[0])); code != 0 || !strings.HasPrefix(out, "allow: ") {
			t.Errorf("%s: explain: %d %s%s", name, code, out, errs)
		}
	}
	wantAllowed(t, d.session(t, d.project(t, nil)))
}

// argumentsNotKept: a folder that cannot be made keeps no decision from being made.
func argumentsNotKept(t *testing.T) {
	d := newTestDaemon(t)
	writeFile(t, d.data("arguments"), "in the way")
	d.start(t)
	wantAllowed(t, d.session(t, d.project(t, nil)))
	d.waitOutput(t, "the arguments of decisions are not kept")
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(d.data("arguments")); err != nil {
		t.Fatal(err)
	}
	r := d.replays(t, 0)
	if r.Decisions == 0 || r.Same+r.Different > 0 || len(r.Undecided) != 1 || !strings.Contains(r.Undecided[0].Why, "not kept") {
		t.Errorf("replayed: %+v", r)
	}
	d.start(t)
	if _, errs, code := printed(d.command("reload", "--if-replay-safe")); code != 4 || !strings.Contains(errs, "no call of the last 7 days could be decided again") {
		t.Errorf("reload --if-replay-safe: %d %s", code, errs)
	}
}

func replayBroken(t *testing.T) {
	d := startDaemon(t)
	ids := d.kept(t)
	eventually.Holds(t, "the rules are kept", func() bool { return len(d.revisions()) == 1 }, d.output.String)
	d.policy(t, "broken.rego", "allow if {")
	for _, command := range []string{"policy replay", "reload --if-replay-safe", "why-asked", "suggest", "replay claude " + d.home} {
		if out, errs, code := printed(d.command(strings.Fields(command)...)); code != 3 || out != "" || !strings.Contains(errs, "broken.rego:4") {
			t.Errorf("permd %s: %d %s%s", command, code, out, errs)
		}
	}
	// What the daemon no longer knows is explained by the rules of then.
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := printed(d.command("explain", ids[0])); code != 0 || !strings.Contains(out, "decided again by the rules of then, in force since") {
		t.Errorf("explain: %d %s%s", code, out, errs)
	}
}

// revisions are the files of the rules that are kept.
func (d *testDaemon) revisions() []string {
	files, _ := filepath.Glob(d.data("arguments/revisions/*.jsonl"))
	return files
}

func revisionGone(t *testing.T) {
	d := startDaemon(t)
	ids := d.kept(t)
	eventually.Holds(t, "the rules are kept", func() bool { return len(d.revisions()) == 1 }, d.output.String)
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	d.policy(t, "never.rego", `deny contains "never" if input.effect.program == "git"`)
	const notSame = "or permd's own, are others"
	explained := func(want string) {
		t.Helper()
		out, errs, code := printed(d.command("explain", ids[0]))
		if code != 0 || !strings.HasPrefix(out, "allow: ") || !strings.Contains(out, want) || strings.Contains(out, notSame) != (want == notSame) {
			t.Errorf("explain: %d %s%s, want %s", code, out, errs, want)
		}
	}
	explained("decided again by the rules of then, in force since")
	file := d.revisions()[0]
	// Rules that were written while those of then were in force, and decide the same.
	var other arguments.Revision
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &other); err != nil {
		t.Fatal(err)
	}
	other.Files = append(other.Files, arguments.RevisionFile{Folder: "config", Name: "policy.d/later.rego", Text: []byte("package permd.user\n\nimport rego.v2\n\ndeny contains \"later\" if input.effect.program == \"frob\"\n")})
	if text, err = json.Marshal(&other); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	explained(notSame)
	if err := os.WriteFile(file, []byte(`{"digest":"x","files":[{"folder":"config","name":"../../x","text":""}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	explained("cannot be decided again")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	explained("cannot be decided again: reading earlier rules")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	explained("cannot be decided again: the rules of then are not kept")
	r := d.replays(t, 4)
	if r.Different != len(ids) || r.Groups[0].To != decisions.Deny || !slices.Contains(ids, r.Groups[0].Example.DecisionID) {
		t.Errorf("replayed: %+v", r)
	}
}
