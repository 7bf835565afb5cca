package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestFindsAllTargets compares the targets that are found with the text of all files, and
// with those that .ci/run tries.
func TestFindsAllTargets(t *testing.T) {
	targets, err := findTargets("../..")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, target := range targets {
		found = append(found, target.String())
	}
	begins := regexp.MustCompile(`(?m)^func (Fuzz\w*)\(`)
	var want []string
	err = filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel("../..", filepath.Dir(path))
		for _, m := range begins.FindAllSubmatch(text, -1) {
			want = append(want, filepath.ToSlash(dir)+"."+string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if !slices.Equal(found, want) {
		t.Errorf("found %q\nthere are %q", found, want)
	}
	for name := range exposed {
		if !slices.Contains(found, name) {
			t.Errorf("there is no %s", name)
		}
	}
	if len(exposed) < 5 {
		t.Errorf("only %d targets are tried by .ci/run", len(exposed))
	}
	if chosen := choose(targets, options{only: regexp.MustCompile(""), exposed: true, shard: shard{1, 1}}); len(chosen) != len(exposed) {
		t.Errorf("%d are chosen of them", len(chosen))
	}
}

// TestRun: what fails is kept as a case and fails the run, and executions are counted.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it builds and runs a fuzz target")
	}
	planted, err := os.ReadFile("testdata/planted_test.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("GOFLAGS", "-mod=mod")
	for name, text := range map[string]string{"go.mod": "module planted\n\ngo 1.26.0\n", "p/p_test.go": string(planted), "p/testdata/q_test.go": "no Go"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	targets, err := findTargets(dir)
	if err != nil || len(targets) != 3 {
		t.Fatalf("targets %v, %v", targets, err)
	}
	past, err := readState(filepath.Join(dir, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{options: options{each: time.Second, parallel: 1, root: dir}, past: past}
	defer r.close()
	results := map[string]*result{}
	for _, target := range targets {
		// A search may take longer than one round.
		for range 20 {
			res, err := r.run(t.Context(), target)
			if err != nil {
				t.Fatal(err)
			}
			if results[target.name] = res; target.name != "FuzzBad" || res.Failed {
				break
			}
		}
	}
	if bad := results["FuzzBad"]; !bad.Failed || !strings.HasPrefix(bad.Case, "p/testdata/fuzz/FuzzBad/") || !strings.Contains(bad.Output, "found") {
		t.Errorf("the target that fails: %+v", *bad)
	} else if _, err := os.Stat(filepath.Join(dir, bad.Case)); err != nil {
		t.Error(err)
	}
	if good := results["FuzzGood"]; good.Failed || good.Executions == 0 || good.CPUSeconds <= 0 || good.outcome() != "ok" {
		t.Errorf("the target that does not: %+v", *good)
	}
	again, err := readState(past.path)
	if err != nil {
		t.Fatal(err)
	}
	if kept := again.Targets["p.FuzzGood"]; kept == nil || kept.Executions != results["FuzzGood"].Executions || !r.isDone(again.left(target{"p", "FuzzGood"}, r.each)) {
		t.Errorf("the state has %+v", kept)
	}
	if kept := again.Targets["p.FuzzBad"]; kept == nil || kept.Failures != 1 {
		t.Errorf("the state has %+v", kept)
	}
	if seed := results["FuzzSeed"]; !seed.Failed || seed.Case != "" || seed.outcome() != "FAILED: a seed" {
		t.Errorf("the target with a bad seed: %+v", *seed)
	}
}

// TestState: what came of targets is kept from run to run, a target that has had its time is not
// run again, and parts have each target once.
func TestState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s, err := readState(path)
	if err != nil {
		t.Fatal(err)
	}
	a, b := target{"p", "FuzzA"}, target{"p", "FuzzB"}
	s.add(a, &result{Executions: 5, CPUSeconds: 600, Inputs: 7}, "abc", time.Unix(0, 0))
	s.add(a, &result{Executions: 6, CPUSeconds: 1200, Inputs: 3, Failed: true}, "def", time.Unix(0, 0))
	if err := s.write(); err != nil {
		t.Fatal(err)
	}
	if s, err = readState(path); err != nil {
		t.Fatal(err)
	}
	if got, want := *s.Targets[a.String()], (recorded{Executions: 11, CPUSeconds: 1800, Inputs: 7, Failures: 1, Commit: "def", Day: "1970-01-01"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	r := &runner{options: options{each: 30 * time.Minute}}
	if !r.isDone(s.left(a, r.each)) || r.isDone(s.left(b, r.each)) {
		t.Errorf("left: %v and %v", s.left(a, r.each), s.left(b, r.each))
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("left behind: %v, %v", files, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readState(path); err == nil {
		t.Error("half a file is read as one without targets")
	}
	all := make([]target, 10)
	for i := range all {
		all[i] = target{"p", "Fuzz" + strconv.Itoa(i)}
	}
	var parts []target
	for i := range 3 {
		parts = append(parts, choose(all, options{only: regexp.MustCompile(""), shard: shard{i + 1, 3}})...)
	}
	slices.SortFunc(parts, func(a, b target) int { return strings.Compare(a.name, b.name) })
	if !slices.Equal(parts, all) {
		t.Errorf("the parts have %v", parts)
	}
	for _, text := range []string{"0/2", "3/2", "1", "a/b", ""} {
		if new(shard).Set(text) == nil {
			t.Errorf("-shard %s is read", text)
		}
	}
}

// TestEndedLate: only the end of a target's time is no failure.
func TestEndedLate(t *testing.T) {
	for out, want := range map[string]bool{
		"fuzz: elapsed: 9s\n--- FAIL: FuzzX (9.01s)\n    context deadline exceeded\nFAIL\n":                                                                true,
		"--- FAIL: FuzzX (9.01s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:1: context deadline exceeded\n    \n    Failing input written to a\nFAIL": false,
		"--- FAIL: FuzzX (9.01s)\n    fuzzing process hung or terminated unexpectedly: exit status 2\nFAIL\n":                                              false,
		"PASS\n": false,
	} {
		if endedLate(out) != want {
			t.Errorf("%q: %v", out, !want)
		}
	}
}
