package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/builtins"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/list"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/policy/termsize"
)

// testTimeout bounds a single test. OPA's default, 5 s, is too short for the longest of the
// shipped tests with coverage on a busy machine.
const testTimeout = 30 * time.Second

// TestOutcome is the result of a test.
type TestOutcome string

// The outcomes.
const (
	Pass   TestOutcome = "pass"
	Fail   TestOutcome = "fail"  // the test's body was not true
	Broken TestOutcome = "error" // it could not be evaluated
	Skip   TestOutcome = "skip"  // its name begins with todo_
)

// TestResult is the result of one test.
type TestResult struct {
	File       string      `json:"file"`
	Line       int         `json:"line"`
	Package    string      `json:"package"`
	Name       string      `json:"name"`
	Outcome    TestOutcome `json:"outcome"`
	Cases      []string    `json:"cases,omitzero"` // the cases of a table test that fail
	Text       string      `json:"text,omitzero"`  // why it could not be evaluated
	Output     string      `json:"output,omitzero"`
	DurationNS int64       `json:"durationNs"`
}

// Detail describes in a few words why a test did not pass.
func (r *TestResult) Detail() string {
	switch {
	case r.Text != "":
		return r.Text
	case len(r.Cases) > 0:
		return "does not hold for " + strings.Join(r.Cases, ", ")
	}
	return "does not hold"
}

// TestReport is the result of a layer's tests.
type TestReport struct {
	Results []TestResult `json:"results"`
	// Coverage is the share of the rules' lines that the tests reach, in per
	// cent; nil when it was not measured.
	Coverage *float64 `json:"coverage,omitzero"`
	// Uncovered are the lines of rules that no test reaches, by file.
	Uncovered map[string][]int `json:"uncovered,omitzero"`
}

// Passed reports whether no test failed or was broken.
func (r *TestReport) Passed() bool {
	return !slices.ContainsFunc(r.Results, func(t TestResult) bool { return t.Outcome == Fail || t.Outcome == Broken })
}

// Test runs a layer's tests on its rules as they were written. The problems
// are compile errors; failing tests are in the report.
func Test(ctx context.Context, u Unit, schema *input.Schema, coverage bool) (*TestReport, diag.List) {
	var ps diag.List
	mods := parse(u, &ps)
	collect(u, mods, &ps)
	if ps.Failed() {
		return nil, ps
	}
	return runParsed(ctx, u.Layer, mods, schema, coverage)
}

// runParsed is Test for a layer that is already parsed. The compiler copies the modules.
func runParsed(ctx context.Context, layer decisions.Layer, mods *moduleSet, schema *input.Schema, coverage bool) (*TestReport, diag.List) {
	var ps diag.List
	all := maps.Clone(mods.policy)
	for name, m := range all {
		if strings.HasSuffix(name, source.ListName) {
			all[name] = list.WithoutFolded(m)
		}
	}
	maps.Copy(all, mods.tests)
	all[stubsFile] = stubs(layer)

	store := inmem.New()
	txn, err := store.NewTransaction(ctx, storage.TransactionParams{})
	if err != nil {
		ps.Errorf(diag.Place{}, "", "running tests: %v", err)
		return nil, ps
	}
	defer store.Abort(ctx, txn)
	// Not strict: a test may leave a variable unused.
	compiler := newCompiler(schema, builtins.Capabilities(true)).WithStrict(false).WithEnablePrintStatements(true)
	runner := tester.NewRunner().
		SetCompiler(compiler).
		SetStore(store).
		SetModules(all).
		SetTimeout(testTimeout).
		CapturePrintOutput(true).
		RaiseBuiltinErrors(true)
	tracer, deep := (*cover.Cover)(nil), &termsize.Tracer{Exit: true}
	if runner.SetCoverageQueryTracer(deep); coverage {
		tracer = cover.New()
		runner.SetCoverageQueryTracer(tracer)
	}
	results, err := runner.RunTests(ctx, txn)
	if err != nil {
		addOPA(&ps, err)
		return nil, ps
	}
	report := &TestReport{Results: []TestResult{}}
	for r := range results { // drain, or the runner's goroutines leak
		report.Results = append(report.Results, testResult(r))
	}
	if deep.Exceeded.Load() {
		ps.Errorf(diag.Place{}, "", "running tests: values that are compared hold others too often")
	}
	slices.SortFunc(report.Results, func(a, b TestResult) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name))
	})
	if tracer != nil {
		report.cover(tracer, mods.policy)
	}
	return report, ps
}

func testResult(r *tester.Result) TestResult {
	out := TestResult{
		Package: strings.TrimPrefix(r.Package, "data."), Name: r.Name, Outcome: Pass,
		Output: string(r.Output), DurationNS: r.Duration.Nanoseconds(),
	}
	if r.Location != nil {
		out.File, out.Line = r.Location.File, r.Location.Row
	}
	for name, sub := range r.SubResults.Iter {
		if sub.Fail {
			out.Cases = append(out.Cases, strings.Join(name, "/"))
		}
	}
	slices.Sort(out.Cases)
	switch {
	case r.Skip:
		out.Outcome = Skip
	case r.Error != nil:
		out.Outcome, out.Text = Broken, strings.Join(strings.Fields(r.Error.Error()), " ")
		if errors.Is(r.Error, context.DeadlineExceeded) {
			out.Text = "took longer than " + testTimeout.String()
		}
	case r.Fail:
		out.Outcome = Fail
	}
	return out
}

// cover adds the lines of .rego files that the tests reach. Lists are left out,
// since each of their lines is several rules.
func (r *TestReport) cover(tracer *cover.Cover, policy map[string]*ast.Module) {
	written := maps.Clone(policy)
	maps.DeleteFunc(written, func(name string, _ *ast.Module) bool { return !strings.HasSuffix(name, ".rego") })
	covered, uncovered := 0, 0
	for name, f := range tracer.Report(written).Files {
		if written[name] == nil {
			continue // a test
		}
		covered += f.CoveredLines
		uncovered += f.NotCoveredLines
		for _, span := range f.NotCovered {
			for line := span.Start.Row; line <= span.End.Row; line++ {
				if r.Uncovered == nil {
					r.Uncovered = map[string][]int{}
				}
				r.Uncovered[name] = append(r.Uncovered[name], line)
			}
		}
	}
	if all := covered + uncovered; all > 0 {
		percent := 100 * float64(covered) / float64(all)
		r.Coverage = &percent
	}
}

// Failures returns the problems of the tests that did not pass. Rules with one are not used.
func Failures(results []TestResult) diag.List {
	var ps diag.List
	for i := range results {
		if r := &results[i]; r.Outcome != Pass && r.Outcome != Skip {
			ps = append(ps, diag.Problem{File: r.File, Line: r.Line, Severity: diag.SeverityError,
				Text: fmt.Sprintf("test %s: %s", r.Name, r.Detail()), Hint: "run: permd policy test"})
		}
	}
	return ps
}

// testBudget bounds the tests of one layer while it is loaded.
const testBudget = 10 * time.Second

// FailedTests runs the tests of a layer that was just compiled, and returns those that do
// not pass.
func (l *Layer) FailedTests(ctx context.Context, u Unit, schema *input.Schema) diag.List {
	mods := l.tests
	l.tests = nil // they do not run again
	if mods == nil || l.Name == decisions.Base {
		return nil // those of the shipped layer ran when permd was built
	}
	ctx, cancel := context.WithTimeout(ctx, testBudget)
	defer cancel()
	report, ps := runParsed(ctx, u.Layer, mods, schema, false)
	if ps.Failed() {
		return ps
	}
	ps = append(ps, Failures(report.Results)...)
	if err := ctx.Err(); err != nil && !ps.Failed() {
		ps.FileErrorf(u.Files[0].Dir, "", "the tests of the %s layer took too long", u.Layer)
	}
	return ps
}
