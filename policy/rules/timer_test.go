package rules

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/profiler"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy/evaltime"
	"github.com/permd/permd/policy/input/inputtest"
)

// noSkip has the timer evaluate all rules.
func noSkip(decisions.RuleRef) bool { return false }

// timings adds up what rules take for an input, n times.
func timings(t *testing.T, s *Snapshot, in *decisions.Input, n int) map[string]time.Duration {
	t.Helper()
	timer := s.Timer()
	took := map[string]time.Duration{}
	for range n {
		list, err := timer.Evaluate(t.Context(), in, noSkip)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			if err := list[i].Err; err != nil && !errors.Is(err, errTimeout) { // the machine may be busy
				t.Fatal(err)
			}
			took[list[i].Rule.At] += list[i].Took
		}
	}
	return took
}

// unevenRules are rules of which the one in line 3 of slow.rego takes nearly all the time.
func unevenRules(t *testing.T) *Layer {
	t.Helper()
	c, ps := Compile(unitOf(decisions.User, map[string]string{
		"slow.rego": `package permd.user
import rego.v2
deny contains "slow" if {
	input.effect.kind == "run"
	count([1 | some a in hundred; some b in hundred; a + b < 0]) == 1
}
ask contains "quick" if {
	input.effect.kind == "run"
	endswith(input.effect.program, "x")
}
hundred := [n | some a in d; some b in d; n := (10 * a) + b]
d := [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
`,
		"rules.yaml": "deny:\n  run: [\"rm *\"]\n  read: [\"~/x/**\"]\nallow:\n  run:\n    - \"ls *\"\n",
	}), testSchema(t))
	if ps.Failed() {
		t.Fatal(ps.Errors())
	}
	return c
}

// TestSlowestRule: a rule that goes through ten thousand numbers takes longest, by far. OPA's own
// profiler, which traces the evaluation of all of them together, says the same.
func TestSlowestRule(t *testing.T) {
	l := unevenRules(t)
	in := inputOf(run("ls", "x"))
	const slow = "/p/slow.rego:3"
	took := timings(t, snapshotOf(l), in, 2)
	var all time.Duration
	for _, d := range took {
		all += d
	}
	if len(took) != 2 || took[slow] < all*9/10 {
		t.Errorf("it takes %v of %v: %v", took[slow], all, took)
	}

	// OPA names lines of expressions; a line belongs to the last rule that begins before it.
	p := profiler.New()
	query := l.wholeSet()
	limiter := new(evaltime.Limiter)
	e := limiter.Start(t.Context())
	limiter.Stop(e) // however long it takes
	layers, _, err := snapshotOf(l).prepare(in, kindIndex(in.Effect.Kind))
	if err != nil || len(layers) != 1 {
		t.Fatal(layers, err)
	}
	err = query.WithInput(layers[0].input).WithQueryTracer(p).WithCancel(e.Cancel).
		Iter(t.Context(), func(topdown.QueryResult) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	byOPA := map[string]int64{}
	var total int64
	for name, file := range p.ReportByFile().Files {
		for _, stats := range file.Result {
			at := name
			if line := stats.Location.Row; name == "/p/slow.rego" && line >= 3 && line < 7 {
				at = slow
			}
			byOPA[at] += stats.ExprTimeNs
			total += stats.ExprTimeNs
		}
	}
	if byOPA[slow] < total*8/10 {
		t.Errorf("by OPA's profiler it takes %d of %d: %v", byOPA[slow], total, byOPA)
	}
}

// wholeSet is the query of a layer's set, as run makes it.
func (l *Layer) wholeSet() *topdown.Query {
	return topdown.NewQuery(l.query).WithQueryCompiler(l.queries).WithCompiler(l.compiler).WithStore(l.store).WithTransaction(l.txn).
		WithMetrics(metrics.NoOp()).WithInterQueryBuiltinValueCache(l.values).WithStrictBuiltinErrors(true)
}

// TestTimedRulesMatch: the rules that match are those that the evaluation of the whole snapshot
// reports, for inputs of all kinds, rules of all layers and reasons of all forms.
func TestTimedRulesMatch(t *testing.T) {
	t.Parallel()
	org := mustCompile(t, decisions.Org, `
deny contains sprintf("no %s", [input.effect.program]) if input.effect.program != "git"
ask contains concat(" ", ["why", tag]) if some tag in input.effect.tags
allow contains {"reason": input.effect.text} if input.effect.kind == "run"
deny contains input.effect.path if input.effect.kind in {"run", "read"}
`)
	c, ps := Compile(unitOf(decisions.User, map[string]string{
		"rules.yaml": "deny:\n  run: [\"rm *\", \"git push *\"]\n  write: [\"~/**\"]\nallow:\n  run: [\"git *\"]\n  read: [\"/**\"]\n  connect: [\"*.example.com\"]\n",
		"a.rego":     "package permd.user\nimport rego.v2\nask contains \"set\" if count(deny) > 0\n",
	}), testSchema(t))
	if ps.Failed() {
		t.Fatal(ps.Errors())
	}
	snap := snapshotOf(org, c)
	timer := snap.Timer()
	matched, inputs := 0, inputtest.Everything()
	inputs = append(inputs, inputOf(run("git", "push", "x")), inputOf(run("rm", "-r", "x")), inputOf(file("read", "/etc/hosts")), inputOf(connect("a.example.com")))
	for _, in := range inputs {
		for _, deny := range []bool{false, true} {
			one := *in
			one.OnlyDeny = deny
			found, err := snap.Evaluate(t.Context(), &one)
			if err != nil {
				t.Fatal(err)
			}
			want := map[decisions.RuleRef]bool{}
			for i := range found.Fired {
				if f := &found.Fired[i]; !deny || f.Set == decisions.SetDeny {
					want[f.Rule] = true
				}
			}
			list, err := timer.Evaluate(t.Context(), &one, noSkip)
			if err != nil {
				t.Fatal(err)
			}
			got := map[decisions.RuleRef]bool{}
			for i := range list {
				if list[i].Matched {
					got[list[i].Rule] = true
				}
			}
			matched += len(got)
			if !maps.Equal(got, want) {
				t.Errorf("%s %q, only denies %v: %v, want %v", one.Effect.Kind, one.Effect.Text, deny, slices.Collect(maps.Keys(got)), slices.Collect(maps.Keys(want)))
			}
		}
	}
	if matched < 20 {
		t.Errorf("only %d rules matched", matched)
	}
}

// TestTimedWithoutEnd: a rule that takes too long is cut at the limit of an evaluation and says
// so, others are timed nevertheless, and the layer in use is not turned off, also not by a step
// that does not end.
//
// It runs alone, because a rule that others' memory cuts is no rule that has no end.
func TestTimedWithoutEnd(t *testing.T) {
	const text = "does not end when it is timed"
	ended := make(chan struct{})
	stalls.Store(text, ended)
	t.Cleanup(func() { stalls.Delete(text) })
	l := mustCompile(t, decisions.User, `
deny contains "long" if {
	input.effect.kind == "run"
	count([1 | some a in d; some b in d; some c in d; some e in d; some f in d; some g in d; some h in d; a + b + c + e + f + g + h < 0]) == 1
}
deny contains "stuck" if {
	some arg in input.effect.args
	regex.match("^never$", arg)
}
allow contains "last" if input.effect.kind == "run"
d := [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
`)
	snap := snapshotOf(l)
	timer := snap.Timer()
	list, err := timer.Evaluate(t.Context(), inputOf(run("ls", "x")), noSkip)
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	for i := range list {
		one := &list[i]
		switch at := one.Rule.At; {
		case strings.HasSuffix(at, "a.rego:4"):
			if !errors.Is(one.Err, errTimeout) || one.Took < evaltime.Timeout || one.Endless {
				t.Errorf("%s: %+v", at, one)
			}
		case one.Err != nil || one.Took > evaltime.Timeout:
			t.Errorf("%s: %+v", at, one)
		}
	}
	long := list[0].Rule
	list, err = timer.Evaluate(t.Context(), inputOf(run("ls", text)), func(r decisions.RuleRef) bool { return r == long })
	if err != nil || len(list) != 1 || !list[0].Endless {
		t.Errorf("%+v, %v", list, err)
	}
	if l.Err() != nil {
		t.Errorf("the layer in use is off: %v", l.Err())
	}
	if list, err := snap.Timer().Evaluate(t.Context(), inputOf(run("ls", "x")), noSkip); err != nil || len(list) != 0 {
		t.Errorf("while it goes on: %+v, %v", list, err)
	}
	close(ended)
	eventually.Holds(t, "it ends after all", func() bool { return l.Apart().Err() == nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if list, err := timer.Evaluate(ctx, inputOf(run("ls", "x")), noSkip); !errors.Is(err, context.Canceled) || len(list) != 0 {
		t.Errorf("after its context has ended: %+v, %v", list, err)
	}
}

// TestTimedMemory: that the heap grew while a rule was timed is told from a rule that takes too long.
func TestTimedMemory(t *testing.T) {
	t.Parallel()
	l := unevenRules(t)
	timer := snapshotOf(l).Timer()
	timer.limiter.Growth = 1 // whatever else runs
	list, err := timer.Evaluate(t.Context(), inputOf(run("ls", "x")), noSkip)
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	for i := range list {
		one := &list[i]
		if slow := one.Rule.At == "/p/slow.rego:3"; one.Memory != slow || errors.Is(one.Err, errMemory) != slow || one.Endless {
			t.Errorf("%+v", one)
		}
	}
}

// TestAddedTimings: of the errors of rules that count as one, the one that the rule itself made is kept.
func TestAddedTimings(t *testing.T) {
	t.Parallel()
	whole, memory, long := Timing{}, Timing{Err: errMemory, Memory: true}, Timing{Err: errTimeout}
	for _, tt := range []struct{ first, second, want Timing }{
		{whole, memory, memory}, {memory, whole, memory}, {memory, long, long}, {long, memory, long}, {whole, whole, whole}, {memory, memory, memory},
	} {
		list := add(add(nil, 0, &tt.first), 0, &tt.second)
		if len(list) != 1 || !errors.Is(list[0].Err, tt.want.Err) || list[0].Memory != tt.want.Memory {
			t.Errorf("%+v and %+v: %+v", tt.first, tt.second, list)
		}
	}
}
