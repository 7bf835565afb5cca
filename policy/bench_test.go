package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// manyRules writes n rules of the mix that real policies have: half of them on
// programs, the rest on paths, hosts and tools.
func manyRules(layer decisions.Layer, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package permd.%s\n\nimport rego.v2\n", layer)
	for i := range n {
		set := []string{"allow", "ask", "deny"}[i%3]
		fmt.Fprintf(&b, "\n# METADATA\n# title: Rule %d\n%s contains \"reason %d\" if {\n", i, set, i)
		switch i % 10 {
		case 0, 1, 2, 4, 5:
			fmt.Fprintf(&b, "\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"prog%d\"\n\t\"--flag%d\" in input.effect.flags\n", i, i)
		case 3, 6:
			fmt.Fprintf(&b, "\tinput.effect.kind in {\"write\", \"delete\"}\n\tstartswith(input.effect.path, \"/srv/%d/\")\n\tglob.match(\"/srv/%d/**/x\", [\"/\"], input.effect.path)\n", i, i)
		case 7:
			fmt.Fprintf(&b, "\tinput.effect.kind == \"connect\"\n\tendswith(input.effect.host, \".h%d.example.com\")\n", i)
		default:
			fmt.Fprintf(&b, "\tinput.effect.kind == \"use\"\n\tinput.effect.server == \"s%d\"\n\tinput.effect.tool == \"t%d\"\n", i, i)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func baseUnit() unit {
	u := unit{layer: decisions.Base}
	for name, data := range rego.Base() {
		u.files = append(u.files, source.File{Name: name, Rel: name, Data: data})
	}
	return u
}

// BenchmarkEvaluate measures the evaluation of one effect, including its input and
// the attribution of rules, with the given number of rules in org, user and the
// shipped base layer. The budget is 20 µs p50, at any number.
func BenchmarkEvaluate(b *testing.B) {
	schema := testSchema(b)
	base, ps := compile(baseUnit(), schema)
	if ps.Failed() {
		b.Fatal(ps.Errors())
	}
	for _, n := range []int{10, 200, 10_000} {
		snap := snapshotOf(
			mustCompile(b, decisions.Org, manyRules(decisions.Org, n/2)),
			mustCompile(b, decisions.User, manyRules(decisions.User, n/2)),
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
				report(b, took)
			})
		}
	}
}

// BenchmarkFloor measures the cheapest evaluation by OPA, to compare the numbers
// above with on another machine (2.0 µs p50 where the budget of 20 µs was set).
func BenchmarkFloor(b *testing.B) {
	l := mustCompile(b, decisions.Org, `allow contains "x" if input.effect.kind == "run"`)
	q := &query{input: input.Build(inputOf(run("x")), 0), cancel: topdown.NewCancel()}
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
	report(b, took)
}

// report adds the percentiles that budgets are stated in.
func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1000, "p99-µs")
}

// BenchmarkBuildInput measures the part of Evaluate that does not depend on rules.
func BenchmarkBuildInput(b *testing.B) {
	in := inputOf(run("git", "push", "--force"))
	for _, bb := range []struct {
		name string
		need input.Parts
	}{{"effect", 0}, {"all", input.AllParts}} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				input.Build(in, bb.need)
			}
		})
	}
}

// BenchmarkReload measures a reload of 1,000 org rules of which one has changed,
// without and with tests, and without the waiting for the first event and for the
// quiet period. The budget is 300 ms.
func BenchmarkReload(b *testing.B) {
	for _, tests := range []int{0, 100} {
		b.Run(fmt.Sprintf("tests=%d", tests), func(b *testing.B) {
			w := newWorld(b)
			text := manyRules(decisions.Org, 1000)
			policytest.Write(b, w.org, map[string]string{"a.rego": text, "a_test.rego": manyTests(tests)})
			s := w.open(b)
			n := 0
			var took []time.Duration
			for b.Loop() {
				b.StopTimer()
				n++
				policytest.Write(b, w.org, map[string]string{"a.rego": text + fmt.Sprintf("\nask contains \"n%d\" if input.effect.program == \"x\"\n", n)})
				past := time.Now().Add(-time.Hour)
				if err := os.Chtimes(filepath.Join(w.org, "a.rego"), past, past); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				start := time.Now()
				if changed, err := s.Reload(b.Context()); err != nil || !changed {
					b.Fatal(changed, err)
				}
				took = append(took, time.Since(start))
			}
			report(b, took)
		})
	}
}

// manyTests are tests of manyRules.
func manyTests(n int) string {
	var b strings.Builder
	b.WriteString("package permd.org\nimport rego.v2\n")
	for i := range n {
		fmt.Fprintf(&b, "test_%d if count(deny) == 0 with input as {\"effect\": {\"kind\": \"run\", \"program\": \"none%d\"}}\n", i, i)
	}
	return b.String()
}

// BenchmarkCompile measures the cost of reloading a changed layer, without
// reading it.
func BenchmarkCompile(b *testing.B) {
	schema := testSchema(b)
	u := unitOf(decisions.Org, map[string]string{"a.rego": manyRules(decisions.Org, 1000)})
	for b.Loop() {
		if _, ps := compile(u, schema); ps.Failed() {
			b.Fatal(ps.Errors())
		}
	}
}
