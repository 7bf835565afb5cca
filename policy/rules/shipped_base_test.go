package rules_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"

	"github.com/permd/permd/rego"
)

// parseBase parses the base layer of a profile as OPA does.
func parseBase(t *testing.T, profile string) map[string]*ast.Module {
	t.Helper()
	modules := map[string]*ast.Module{}
	for name, data := range rego.Base() {
		if !rego.InProfile(name, profile) {
			continue
		}
		m, err := ast.ParseModuleWithOpts(name, string(data), ast.ParserOptions{ProcessAnnotation: true, RegoVersion: ast.RegoV1})
		if err != nil {
			t.Fatal(err)
		}
		modules[name] = m
	}
	return modules
}

var profiles = []string{"careful", "balanced", "unattended"}

// The base layer passes its own tests in each profile, and they reach all of it.
func TestBase(t *testing.T) {
	for _, profile := range profiles {
		if testing.Short() && profile != "balanced" {
			continue
		}
		t.Run(profile, func(t *testing.T) { testBase(t, parseBase(t, profile)) })
	}
}

func testBase(t *testing.T, modules map[string]*ast.Module) {
	coverage := cover.New()
	store := inmem.New()
	var passed int
	err := storage.Txn(t.Context(), store, storage.TransactionParams{}, func(txn storage.Transaction) error {
		results, err := tester.NewRunner().SetStore(store).SetModules(modules).
			SetCoverageQueryTracer(coverage).RaiseBuiltinErrors(true).SetTimeout(10*time.Second).
			RunTests(t.Context(), txn)
		if err != nil {
			return err
		}
		for r := range results {
			if r.Pass() {
				passed++
				continue
			}
			t.Errorf("%s: %s", r.Location, r)
			for name, sub := range r.SubResults {
				if sub.Fail {
					t.Errorf("%s: case %q", r.Location, name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if passed < 7 {
		t.Errorf("only %d tests passed", passed)
	}
	covered, total := 0, 0
	for name, file := range coverage.Report(modules).Files {
		if strings.HasSuffix(name, "_test.rego") {
			continue
		}
		covered += file.CoveredLines
		total += file.CoveredLines + file.NotCoveredLines
		for _, r := range file.NotCovered {
			t.Logf("%s:%d is not covered", name, r.Start.Row)
		}
	}
	if total == 0 || covered*100 < total*95 {
		t.Errorf("the tests cover %d of %d lines, want 95 %%", covered, total)
	}
}

// Each rule of the base layer has a title and an id of its own, so that it can
// be explained and switched off.
func TestBaseRulesAreNamed(t *testing.T) {
	seen := map[string]string{}
	files := map[string]*ast.Module{}
	for _, profile := range profiles {
		maps.Copy(files, parseBase(t, profile))
	}
	var modules []*ast.Module
	for name, m := range files {
		if !strings.HasSuffix(name, "_test.rego") {
			modules = append(modules, m)
		}
	}
	notes, errs := ast.BuildAnnotationSet(modules)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	rules := 0
	var denies []string
	for _, m := range modules {
		for _, r := range m.Rules {
			switch r.Head.Ref().String() {
			case "allow", "ask", "deny":
			default:
				continue
			}
			rules++
			var title, id string
			for _, a := range notes.GetRuleScope(r) {
				title = a.Title
				id, _ = a.Custom["id"].(string)
			}
			if title == "" || !strings.HasPrefix(id, "base.") {
				t.Errorf("%s: title %q and id %q", r.Location, title, id)
			}
			if at, ok := seen[id]; ok {
				t.Errorf("%s: the id %s is that of %s", r.Location, id, at)
			}
			seen[id] = r.Location.String()
			if r.Head.Name == "deny" {
				denies = append(denies, id)
			}
		}
	}
	if rules < 30 {
		t.Errorf("found %d rules only", rules)
	}
	// A deny that the file lacks is one that a person can disable.
	slices.Sort(denies)
	if got := rego.BaseDenies(); !slices.Equal(got, denies) {
		t.Errorf("denies.txt has %q, want\n%s", got, strings.Join(denies, "\n"))
	}
}
