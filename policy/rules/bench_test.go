package rules

import (
	"fmt"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/rego"
)

func baseUnit() Unit {
	u := Unit{Layer: decisions.Base}
	for name, data := range rego.Base() {
		u.Files = append(u.Files, source.File{Name: name, Rel: name, Data: data})
	}
	return u
}

// BenchmarkEvaluate measures the evaluation of one effect, including its input and
// the attribution of rules, with the given number of rules in org, user and the
// shipped base layer. The budget is 20 µs p50, at any number.
func BenchmarkEvaluate(b *testing.B) {
	schema := testSchema(b)
	base, ps := Compile(baseUnit(), schema)
	if ps.Failed() {
		b.Fatal(ps.Errors())
	}
	for _, n := range []int{10, 200, 10_000} {
		snap := snapshotOf(
			mustCompile(b, decisions.Org, policytest.ManyRules(decisions.Org, n/2)),
			mustCompile(b, decisions.User, policytest.ManyRules(decisions.User, n/2)),
			base)
		inputs := []struct {
			name string
			in   *decisions.Input
		}{
			{"run-hit", inputOf(run("prog4", "x", "--flag4"))},
			{"run-silent", inputOf(run("nothing", "here"))},
			{"write-hit", inputOf(file(effects.KindWrite, "/srv/3/a/x", effects.Outside))},
			{"git", inputOf(run("git", "push", "--force"))},
		}
		for _, bb := range inputs {
			b.Run(fmt.Sprintf("%s/rules=%d", bb.name, n), func(b *testing.B) {
				b.ReportAllocs()
				took := make([]time.Duration, 0, 1<<16)
				for b.Loop() {
					start := time.Now()
					if _, err := snap.Evaluate(b.Context(), bb.in); err != nil {
						b.Fatal(err)
					}
					if len(took) < cap(took) {
						took = append(took, time.Since(start))
					}
				}
				policytest.Report(b, took)
			})
		}
	}
}

// BenchmarkFloor measures the cheapest evaluation by OPA, to compare the numbers
// above with on another machine (2.0 µs p50 where the budget of 20 µs was set).
func BenchmarkFloor(b *testing.B) {
	l := mustCompile(b, decisions.Org, `allow contains "x" if input.effect.kind == "run"`)
	q := &query{input: input.Build(inputOf(run("x")), input.Parts{}), cancel: topdown.NewCancel()}
	took := make([]time.Duration, 0, 1<<16)
	for b.Loop() {
		start := time.Now()
		if err := l.run(q, l.query, func(topdown.QueryResult) {}); err != nil {
			b.Fatal(err)
		}
		if len(took) < cap(took) {
			took = append(took, time.Since(start))
		}
	}
	policytest.Report(b, took)
}

// BenchmarkBuildInput measures the part of Evaluate that does not depend on rules.
func BenchmarkBuildInput(b *testing.B) {
	in := inputOf(run("git", "push", "--force"))
	for _, bb := range []struct {
		name string
		need input.Parts
	}{{"effect", input.Parts{}}, {"all", input.AllParts}} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				input.Build(in, bb.need)
			}
		})
	}
}

// BenchmarkCompile measures the cost of reloading a changed layer, without
// reading it.
func BenchmarkCompile(b *testing.B) {
	schema := testSchema(b)
	u := unitOf(decisions.Org, map[string]string{"a.rego": policytest.ManyRules(decisions.Org, 1000)})
	for b.Loop() {
		if _, ps := Compile(u, schema); ps.Failed() {
			b.Fatal(ps.Errors())
		}
	}
}
