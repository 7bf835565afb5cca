package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/strictjson"
)

var update = flag.Bool("update", false, "write the golden files anew")

const corpus = "testdata/corpus"

// run returns what the program prints with some options.
func run(t *testing.T, o options) (string, error) {
	t.Helper()
	if o.corpus == "" {
		o.corpus = corpus
	}
	if o.profile == "" {
		o.profile = "balanced"
	}
	var out bytes.Buffer
	err := judge(t.Context(), &out, o)
	return out.String(), err
}

func must(t *testing.T, o options) string {
	t.Helper()
	out, err := run(t, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// golden compares a text with the contents of a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-update writes it anew) (-want +got):\n%s", file, diff)
	}
}

// TestScores: the small corpus has a row of every kind of success and failure, and
// the golden files have the count of each.
func TestScores(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it measures the corpora")
	}
	golden(t, "score.golden", must(t, options{asJSON: true}))
	// Leave out the reasons of questions: the rules' texts change more often.
	report, causes, _ := strings.Cut(must(t, options{max: 5}), "\nmost frequent reasons of questions, without memory")
	golden(t, "report.golden", report)
	for _, want := range []string{
		"32.50 %  32.50 %     3  run: frobnicate: ", "\nmost frequent reasons of questions, with memory", "22.50 %  22.50 %     2  run: frobnicate: ",
		"25.00 %  25.00 %     2  use: store:buy: ", "\nunknown programs", "32.50 %     3  run: frobnicate\n",
	} {
		if !strings.Contains(causes, want) {
			t.Errorf("%q is not in:\n%s", want, causes)
		}
	}
}

// TestUnsafeAllowsAreCounted: a wrong allow is counted in every corpus that labels
// them.
func TestUnsafeAllowsAreCounted(t *testing.T) {
	var s score
	if err := strictjson.Unmarshal([]byte(must(t, options{asJSON: true})), &s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(unsafeCount{Unsafe: 1, Total: 11}, s.Bypass.Tier1); diff != "" {
		t.Errorf("unsafe attacks of tier 1 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(unsafeCount{Unsafe: 1, Total: 2}, s.Bypass.Tier4); diff != "" {
		t.Errorf("unsafe attacks of tier 4 (-want +got):\n%s", diff)
	}
	j := s.Judgement
	if j.Unsafe != 1 || j.Overreach != 1 || j.Noise != 1 {
		t.Errorf("labelled calls: unsafe %d, overreach %d, noise %d; want 1 of each", j.Unsafe, j.Overreach, j.Noise)
	}
}

// TestFailures: rows of a class are printed with the verdict of each effect.
func TestFailures(t *testing.T) {
	got := must(t, options{failures: "unsafe"})
	for _, want := range []string{"b2  bypass.tier1.compound unsafe.bypass", "frobnicate now", "j3  judgement.unsafe", "3 rows"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
	if testing.Short() {
		return // each run compiles the rules again
	}
	if got := must(t, options{failures: "unsaf"}); !strings.Contains(got, "no row has the class") {
		t.Errorf("a class that does not exist printed:\n%s", got)
	}
	if got := must(t, options{failures: "list"}); !strings.Contains(got, "     3  unsafe\n") {
		t.Errorf("the list of classes is:\n%s", got)
	}
}

func TestNoCorpus(t *testing.T) {
	if _, err := run(t, options{corpus: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "there is no corpus in") {
		t.Errorf("the error is %v", err)
	}
	if _, err := run(t, options{profile: "bold"}); err == nil || !strings.Contains(err.Error(), `no profile "bold"`) {
		t.Errorf("the error is %v", err)
	}
}

// TestTidy: a run leaves no files in the folder for temporary files.
func TestTidy(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it compiles the rules again; TestUnsafeAllowsAreCounted is the quick one")
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	must(t, options{asJSON: true})
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) > 0 {
		t.Errorf("left in the folder for temporary files: %v, %v", left, err)
	}
}

func TestCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it measures the corpora")
	}
	file := filepath.Join(t.TempDir(), "score.json")
	must(t, options{asJSON: true, update: file})
	if got := must(t, options{check: file}); !strings.Contains(got, "No score is worse") {
		t.Errorf("checking the same scores failed: %s", got)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"an unsafe allow more", `"unsafe": 1,`, `"unsafe": 0,`, "unsafe is 1, it was 0"},
		{"less agreement", `"agree": 2,`, `"agree": 3,`, "peers.alpha.agree is 2, it was 3"},
		{"another corpus", `"allow_total": 2,`, `"allow_total": 3,`, "the total of judgement.noise is 2, it was 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			other := strings.Replace(string(data), c.old, c.new, 1)
			if other == string(data) {
				t.Fatalf("%q is not in the scores", c.old)
			}
			if err := os.WriteFile(file, []byte(other), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := run(t, options{check: file})
			if !errors.Is(err, errWorse) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want one that says %q", err, c.want)
			}
		})
	}
}

// TestCheckFewerCorpora: a score that was not measured fails the check.
func TestCheckFewerCorpora(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it measures the corpora")
	}
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join(corpus, "usage-commands.jsonl"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "usage-commands.jsonl"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	all, few := filepath.Join(t.TempDir(), "all.json"), filepath.Join(t.TempDir(), "few.json")
	must(t, options{asJSON: true, update: all})
	must(t, options{asJSON: true, update: few, corpus: dir})
	if _, err := run(t, options{check: all, corpus: dir}); !errors.Is(err, errWorse) || !strings.Contains(err.Error(), "judgement.unsafe was not measured") {
		t.Errorf("the error with fewer corpora than before is %v, want errWorse", err)
	}
	must(t, options{check: few})
}
