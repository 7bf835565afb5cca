package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/policy/source"
)

func folder(t *testing.T, files map[string]string) Folder {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "rules")
	policytest.Write(t, dir, files)
	schema, err := os.ReadFile("../rego/input.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return Folder{Dir: dir, Schema: schema}
}

func TestCheck(t *testing.T) {
	f := folder(t, map[string]string{
		"a.rego":     rulesFor("org", "deny", "rm", "no"),
		"b.rego":     "package permd.org\nimport rego.v1\nask contains \"x\" if not input.effect.knwn\n",
		"rules.yaml": "deny:\n  run: [\"make deploy *\"]\n",
	})
	policytest.Chmod(t, f.Dir, 0o777) // their owner does not matter before they are installed
	report, err := f.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range report.Problems {
		got = append(got, string(p.Severity)+" "+filepath.Base(p.File)+" "+strings.Split(p.Text, ";")[0])
	}
	want := []string{
		"warning b.rego not fails instead of holding when an argument of what it negates is undefined",
		"error b.rego undefined ref: input.effect.knwn",
	}
	if diff := cmp.Diff(want, got); diff != "" || report.Passed() || report.Layer != decisions.Org || report.Files != 3 {
		t.Errorf("report %+v (-want +got):\n%s", report, diff)
	}
	if _, err := f.List(); err == nil {
		t.Error("rules that do not compile are listed")
	}
	if _, err := f.Test(t.Context()); err == nil {
		t.Error("rules that do not compile are tested")
	}
	if _, err := folder(t, map[string]string{"README": "x"}).Check(t.Context()); err == nil {
		t.Error("a folder without rules passes")
	}
	bad := folder(t, map[string]string{"a.rego": rulesFor("org", "deny", "rm", "no")})
	bad.Layer = "orga"
	if _, err := bad.Check(t.Context()); err == nil {
		t.Error("a layer that does not exist passes")
	}
}

func TestList(t *testing.T) {
	f := folder(t, map[string]string{
		"a.rego": "package permd.org\nimport rego.v2\n\n# METADATA\n# title: No rm\n# custom:\n#   id: no-rm\n" +
			"deny contains \"no\" if input.effect.program == \"rm\"\n\nask contains input.effect.text if input.effect.kind == \"use\"\n",
	})
	got, err := f.List()
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(f.Dir, "a.rego")
	want := []rules.RuleInfo{
		{ID: "no-rm", Title: "No rm", Layer: "org", Set: "deny", At: at + ":8", Reason: "no"},
		{ID: "org/a.rego:10", Layer: "org", Set: "ask", At: at + ":10"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStoreList(t *testing.T) {
	w := newWorld(t)
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "no")})
	got := w.open(t).List()
	if len(got) != 2 || got[0].Layer != decisions.User || *got[0].UID != w.opts.UID || got[1].ID != "base/base.rego:3" {
		t.Errorf("list %+v", got)
	}
}

func TestTests(t *testing.T) {
	f := folder(t, map[string]string{
		"a.rego": "package permd.user\nimport rego.v2\ndeny contains \"no\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"rm\"\n}\n\n" +
			"ask contains \"never\" if {\n\tinput.effect.kind == \"connect\"\n\tinput.effect.host == \"x\"\n}\n",
		"rules.yaml": "deny:\n  run: [\"make deploy *\"]\n",
		"a_test.rego": `package permd.user
import rego.v2

test_good if "no" in deny with input as {"effect": {"kind": "run", "program": "rm"}}

test_bad if "no" in deny with input as {"effect": {"kind": "run", "program": "ls"}}

test_broken if to_number(input.effect.program) == 1 with input as {"effect": {"kind": "run", "program": "ls"}}

todo_test_later if false

test_table[program] if {
	some program in ["rm", "ls"]
	"no" in deny with input as {"effect": {"kind": "run", "program": program}}
}

test_prints if {
	print("seen", 7)
	count(allow) == 0
}
`,
	})
	report, err := f.Test(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]rules.TestOutcome{}
	for _, r := range report.Results {
		got[r.Name] = r.Outcome
		if r.File != filepath.Join(f.Dir, "a_test.rego") || r.Line == 0 || r.Package != "permd.user" {
			t.Errorf("place of %+v", r)
		}
		if r.Name == "test_prints" && !strings.Contains(r.Output, "seen 7") {
			t.Errorf("output %q", r.Output)
		}
		if r.Name == "test_table" && r.Detail() != "does not hold for ls" {
			t.Errorf("detail %q", r.Detail())
		}
	}
	want := map[string]rules.TestOutcome{"test_good": rules.Pass, "test_bad": rules.Fail, "test_broken": rules.Broken, "todo_test_later": rules.Skip,
		"test_table": rules.Fail, "test_prints": rules.Pass}
	if diff := cmp.Diff(want, got); diff != "" || report.Passed() {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if report.Coverage == nil || *report.Coverage <= 0 || *report.Coverage >= 100 || len(report.Uncovered) != 1 {
		t.Errorf("coverage %v, %v", report.Coverage, report.Uncovered)
	}
}

func TestLayerOf(t *testing.T) {
	for text, want := range map[string]decisions.Layer{
		"package permd.org": decisions.Org, "# x\npackage permd.base.lib # y": decisions.Base,
		"package permd.project_test\n": decisions.Project, "package permd.": "", "package main": "",
	} {
		if got := layerOf([]source.File{{Rel: "a.rego", Data: []byte(text)}}); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestProblemsAreShort: errors quote only short parts of files.
func TestProblemsAreShort(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for name, files := range map[string]map[string]string{
		"a line of a list": {"rules.yaml": "allow:\n  run: [\"go test " + long + "\"]\n"},
		"a key of a list":  {"rules.yaml": long + ": {}\n"},
		"a kind of a list": {"rules.yaml": "allow:\n  " + long + ": []\n"},
		"a rule":           {"a.rego": "package permd.user\nimport rego.v2\nallow contains " + long + "y if true\n"},
		"nesting":          {"a.rego": "package permd.user\nimport rego.v2\nallow contains \"x\" if { x := " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000) + " }\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := folder(t, files).Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Problems) == 0 {
				t.Fatal("no problem")
			}
			for _, p := range r.Problems {
				if len(p.Text) > diag.MaxText+len("…") {
					t.Errorf("a text of %d bytes: %.200s", len(p.Text), p.Text)
				}
			}
		})
	}
}
