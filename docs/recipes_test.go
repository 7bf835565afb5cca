package docs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/policy"
	policyrules "github.com/permd/permd/policy/rules"
	"github.com/permd/permd/rego"
)

// recipe is a policy in policy.md.
type recipe struct {
	title string
	files map[string]string
	calls string
}

func recipes(t *testing.T) []*recipe {
	t.Helper()
	var out []*recipe
	for _, b := range read(t, "policy.md").blocks {
		_, name, named := strings.Cut(b.info, " ")
		if !named || b.heading == "" || b.heading[0] < '0' || b.heading[0] > '9' {
			continue
		}
		if n := len(out); n == 0 || out[n-1].title != b.heading {
			out = append(out, &recipe{title: b.heading, files: map[string]string{}})
		}
		r := out[len(out)-1]
		if name == "calls" {
			r.calls = b.text
		} else {
			r.files[name] = b.text
		}
	}
	return out
}

// TestRecipes compiles each recipe, runs its test, and decides its calls with
// it and the base layer.
func TestRecipes(t *testing.T) {
	all := recipes(t)
	if len(all) != 12 {
		t.Errorf("there are %d recipes", len(all))
	}
	table, err := programs.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := shippedProfiles()
	if err != nil {
		t.Fatal(err)
	}
	without := newWorld(t, rules{})
	for _, r := range testload.WithShort(t, 4, all) {
		t.Run(r.title, func(t *testing.T) {
			dir := folder(t, r.files)
			f := policy.Folder{Dir: dir, Schema: rego.InputSchema(), Table: table, Profiles: profiles}
			checked, err := f.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range checked.Problems {
				t.Errorf("%s: %s (%s)", p.Severity, p, p.Hint)
			}
			if checked.Rules == 0 {
				t.Error("there are no rules")
			}
			report, err := f.Test(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Results) == 0 {
				t.Error("there are no tests")
			}
			for _, res := range report.Results {
				if res.Outcome != policyrules.Pass {
					t.Errorf("%s:%d: %s %s: %s", res.File, res.Line, res.Outcome, res.Name, res.Detail())
				}
			}
			r.decide(t, without, dir, checked.Layer)
		})
	}
}

func (r *recipe) decide(t *testing.T, without *world, dir string, layer decisions.Layer) {
	var with rules
	switch layer {
	case decisions.Org:
		with.org = dir
	case decisions.User:
		with.user = dir
	case decisions.Project:
		with.project = filepath.Join(t.TempDir(), "shop")
		if err := os.CopyFS(filepath.Join(with.project, ".permd"), os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	case decisions.Base:
		t.Fatal("a recipe of the base layer")
	}
	w := newWorld(t, with)
	matters := false
	for line := range strings.Lines(r.calls) {
		verdict, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		call = strings.TrimSpace(call)
		got := w.decide(t, w.call(t, call))
		if string(got.Verdict) != verdict {
			t.Errorf("%s: the verdict is %s (%s), want %s", call, got.Verdict, got.Reason, verdict)
		}
		bare := without.decide(t, without.call(t, call))
		matters = matters || bare.Verdict != got.Verdict || len(ruleIDs(got)) != len(ruleIDs(bare))
	}
	if !matters {
		t.Error("the calls are decided the same without the recipe, or there are none")
	}
}

// ruleIDs returns the ids of the rules that matched.
func ruleIDs(d *decisions.Decision) []string {
	var ids []string
	for _, e := range d.Effects {
		for _, rule := range e.Rules {
			ids = append(ids, rule.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// TestSnippets compiles the other policies that policy.md shows.
func TestSnippets(t *testing.T) {
	n := 0
	for _, b := range read(t, "policy.md").blocks {
		name := map[string]string{"rego": "rules.rego", "yaml": "rules.yaml"}[b.info]
		if name == "" {
			continue
		}
		n++
		f := policy.Folder{Dir: folder(t, map[string]string{name: b.text}), Schema: rego.InputSchema()}
		report, err := f.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range report.Problems {
			t.Errorf("policy.md:%d: %s: %s (%s)", b.first, p.Severity, p, p.Hint)
		}
		if report.Rules == 0 {
			t.Errorf("policy.md:%d: no rules", b.first)
		}
	}
	if n < 3 {
		t.Errorf("only %d snippets", n)
	}
}

// TestCallsExample runs the calls that show how tests are written, with rules that give
// them the verdicts that they are listed under.
func TestCallsExample(t *testing.T) {
	var calls string
	for _, b := range read(t, "policy.md").blocks {
		if b.info == "yaml calls-example" {
			calls = b.text
		}
	}
	f := policy.Folder{Dir: folder(t, map[string]string{
		"rules.yaml": "allow:\n  run: [\"go test *\", \"make lint\"]\ndeny:\n  run: [\"git push --force *\"]\n  write: [\"./vendor/**\"]\n", "rules_test.yaml": calls,
	}), Schema: rego.InputSchema()}
	report, err := f.Test(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) < 8 {
		t.Errorf("only %d calls", len(report.Results))
	}
	for i := range report.Results {
		if r := &report.Results[i]; r.Outcome != policyrules.Pass {
			t.Errorf("%s: %s", r.Name, r.Detail())
		}
	}
}
