package rules

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/policy/evaltime"
)

// stalls has a channel for each text that stalls regex.match until the channel is closed:
// a step that OPA cannot end, on a machine of any speed.
var stalls sync.Map

func init() {
	match := topdown.GetBuiltin("regex.match")
	topdown.RegisterBuiltinFunc("regex.match", func(ctx topdown.BuiltinContext, operands []*ast.Term, next func(*ast.Term) error) error {
		if text, ok := operands[1].Value.(ast.String); ok {
			if ended, ok := stalls.Load(string(text)); ok {
				<-ended.(chan struct{})
			}
		}
		return match(ctx, operands, next)
	})
}

// shared returns rules whose last one has a value that holds others 2^n times.
func shared(name string, n int) string {
	rules := name + "0 := [1]\n"
	for i := range n {
		rules += fmt.Sprintf("%s%d := [%s%d | some _ in [1, 2]]\n", name, i+1, name, i)
	}
	return rules
}

// refusedOrEnded reports whether an evaluation was refused with a text. On a busy machine it
// may have been given up before.
func refusedOrEnded(err error, text string) bool {
	return err != nil && strings.Contains(err.Error(), text) || errors.Is(err, errEndless) || errors.Is(err, errTimeout)
}

// TestComparisonsOfSharedValues: a comparison of two values that hold others often enough
// overflowed the stack, which no recover catches.
func TestComparisonsOfSharedValues(t *testing.T) {
	for _, test := range testload.WithShort(t, 1, testload.Sample(t, 3, []string{
		"a30 == b30", "a30 = b30", "x := a30\n\ty := b30\n\tx == y", "not a30 == b30", "a30 != b30",
		"[a30, 1] == [b30, 1]", "every x in [a30] { x == b30 }", "count([1 | a30 == b30]) == 2", "same(a30, b30)",
		"some x in [a30]\n\tx == b30", "same(a30, b30) with input as {}",
	})) {
		rules := "deny contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\t" + test + "\n}\nsame(x, y) if x == y\n" + shared("a", 30) + shared("b", 30)
		_, err := snapshotOf(mustCompile(t, decisions.User, rules)).Evaluate(t.Context(), inputOf(run("ls")))
		if !refusedOrEnded(err, "too much time") {
			t.Errorf("%s: %v", test, err)
		}
	}
	for _, test := range []string{
		"a3 == b3", "not a3 == a4", "x := a3\n\ty := b3\n\tx == y", "same(a3, b3)", "[x, _] = [a3, 1]\n\tx == b3",
		"every x in [a3] { x == b3 }", "count([1 | a3 == b3]) == 1", "not missing == a3",
		"input.effect.program == name\n\tname == lower(name)", "{x | x := a3; x == b3} == {b3}",
	} {
		rules := "deny contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\t" + test + "\n}\nsame(x, y) if x == y\nmissing := 1 if input.effect.kind == \"read\"\n" +
			"name := \"ls\"\n" + shared("a", 4) + shared("b", 4)
		got, err := snapshotOf(mustCompile(t, decisions.User, rules)).Evaluate(t.Context(), inputOf(run("ls")))
		if err != nil || len(got.Fired) != 1 {
			t.Errorf("%s: %v, %v", test, briefs(got), err)
		}
	}
}

// TestUnificationsOfSharedValues: two values that hold others often enough overflowed the
// stack wherever OPA unifies them.
func TestUnificationsOfSharedValues(t *testing.T) {
	for _, test := range testload.WithShort(t, 2, testload.Sample(t, 5, []struct{ body, more string }{
		{"[x, x] = [a22, b22]", ""},
		{"[[x, 1], x] = [[a22, 1], b22]", ""},
		{`{"a": x, "b": x} = {"a": a22, "b": b22}`, ""},
		{"[x | x := a22] = [b22]", ""},
		{"some i\n\t[a22][i] = b22", ""},
		{"every x in [a22] { [x, x] = [a22, b22] }", ""},
		{"not [a22, 1] = [[x | x := b22][0], 1]\n\tcount([1 | [x, x] = [a22, b22]]) == 0", ""},
		{"x := b22\n\ts[x]", "s contains a22"},
		{"s[b22]", "s contains a22"},
		{"s[[b22, _]]", "s contains [a22, 1]"},
		{"found[b22][b22]", "found[x] contains x if some x in [a22]"},
		{"f(a22, b22)", "f(x, x) := x"},
		{"f([a22, b22])", "f([x, x]) := x"},
		{"f(a22, b22)", "f(x) := x"}, // the second is the result
		{`object.get({}, "a", a22, b22)`, ""},
		{`object.get({}, "a", [a22, b22], [x, x])`, ""},
		{"input.effect.foo = b22 with input.effect.foo as a22", ""},
		{`g[k] = {"a": b22}`, "g[k] := {\"a\": a22} if some k in [1, 2]"},
	})) {
		rules := "deny contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\t" + test.body + "\n}\n" + test.more + "\n" + shared("a", 22) + shared("b", 22)
		_, err := snapshotOf(mustCompile(t, decisions.User, rules)).Evaluate(t.Context(), inputOf(run("ls")))
		if !refusedOrEnded(err, "hold others too often") && !refusedOrEnded(err, "too much time") {
			t.Errorf("%s with %q: %v", test.body, test.more, err)
		}
	}
}

// TestUnificationsInTests: the same in a test of a layer, which is not put in place.
func TestUnificationsInTests(t *testing.T) {
	u := unitOf(decisions.User, map[string]string{
		"a.rego":      "deny contains \"x\" if input.effect.kind == \"run\"\n" + shared("a", 22) + shared("b", 22),
		"a_test.rego": "test_a if {\n\t[x, x] = [a22, b22]\n}\ntest_b if 1 == 1\n",
	})
	if _, ps := Test(t.Context(), u, testSchema(t), false); !ps.Failed() || !strings.Contains(ps[0].Text, "hold others too often") {
		t.Errorf("problems: %v", ps)
	}
	u.Files[1].Data = []byte(strings.ReplaceAll(string(u.Files[1].Data), "22", "3"))
	if report, ps := Test(t.Context(), u, testSchema(t), false); ps.Failed() || !report.Passed() || len(report.Results) != 2 {
		t.Errorf("small values: %+v, %v", report, ps)
	}
}

// TestOrdinaryRulesAreNotTraced: rules that build no large values are evaluated without
// what ends the evaluation of such.
func TestOrdinaryRulesAreNotTraced(t *testing.T) {
	for _, body := range []string{
		`input.effect.kind == "run"`,
		`input.effect.program = "git"`,
		"some arg in input.effect.args\n\tstartswith(arg, \"-\")",
		"arg := input.effect.args[_]\n\targ == lower(arg)",
		"input.effect.args[i] == input.effect.args[i]",
		`input.effect.program in {"git", "hg"}`,
		"names := {n | some n in input.effect.args}\n\tcount(names) > 1\n\tnames[\"x\"]",
		"[name, value] := split(input.effect.args[0], \"=\")\n\tname == value",
		"limits[input.effect.program] > 3",
		"some name, limit in limits\n\tinput.effect.program == name\n\tlimit > 3",
		"not known[input.effect.program]",
		"every arg in input.effect.args { not startswith(arg, \"-\") }",
		"is_known(input.effect.program)",
		"input.effect.kind == sprintf(\"%s/x\", [input.effect.kind])",
	} {
		rules := "deny contains \"x\" if {\n\t" + body + "\n}\nask contains sprintf(\"%v\", [input.effect.kind]) if {\n\t" + body + "\n}\n" +
			"deny contains {\"reason\": concat(\" \", [\"a\", input.effect.kind])} if {\n\t" + body + "\n}\n" +
			"limits := {\"git\": 3}\nknown contains \"git\"\nis_known(name) if name in known\nis_known(\"hg\")\n"
		if c := mustCompile(t, decisions.User, rules); bool(c.depth) {
			t.Errorf("traced: %s", body)
		}
	}
	if !bool(mustCompile(t, decisions.User, "deny contains \"x\" if {\n\t[x, x] = [input.effect.args, input.effect.args]\n}").depth) {
		t.Error("a pattern with a variable that occurs twice is not traced")
	}
}

// TestEvaluationLeftBehind: nobody waits for a step that does not end. The layer is off
// until it has ended, the denies of other layers count meanwhile, and no allow does.
func TestEvaluationLeftBehind(t *testing.T) {
	t.Parallel()
	const text = "does not end"
	ended := make(chan struct{})
	stalls.Store(text, ended)
	t.Cleanup(func() { stalls.Delete(text) })
	stuck := mustCompile(t, decisions.User, `allow contains "yes" if input.effect.kind == "run"
deny contains "x" if {
	some arg in input.effect.args
	regex.match("^never$", arg)
}`)
	org := mustCompile(t, decisions.Org, `deny contains "org" if "x" in input.effect.args`)
	base := mustCompile(t, decisions.Base, `allow contains "base" if input.effect.kind == "run"`)
	s := snapshotOf(org, stuck, base)
	got, err := s.Evaluate(t.Context(), inputOf(run("ls", "x", text)))
	if !errors.Is(err, errEndless) || len(got.Fired) != 1 || got.Fired[0].Reason != "org" {
		t.Fatalf("got %v, %v", briefs(got), err)
	}
	if stuck.stuck.Load() != 1 {
		t.Errorf("%d evaluations are stuck", stuck.stuck.Load())
	}
	if err := stuck.Err(); !errors.Is(err, errEndless) {
		t.Errorf("the layer's failure is %v", err)
	}
	// Others do not wait at all, and do not make more of them.
	for range 100 {
		got, err := s.Evaluate(t.Context(), inputOf(run("ls", text)))
		if !errors.Is(err, errEndless) || len(got.Fired) != 0 || stuck.stuck.Load() != 1 {
			t.Fatalf("got %v, %v; %d evaluations are stuck", briefs(got), err, stuck.stuck.Load())
		}
	}
	close(ended)
	eventually.Holds(t, "it ends after all", func() bool { return stuck.stuck.Load() == 0 })
	if err := stuck.Err(); err != nil {
		t.Errorf("the layer's failure is %v", err)
	}
	if got, err := s.Evaluate(t.Context(), inputOf(run("ls", text))); err != nil || len(got.Fired) != 2 {
		t.Errorf("afterwards: %v, %v", briefs(got), err)
	}
}

// TestEvaluationApart: evaluations apart from those of a layer in use leave no more than one
// behind, whichever snapshot they are for, and none where the layer itself has. They never turn
// off the layer.
func TestEvaluationApart(t *testing.T) {
	t.Parallel()
	const text = "does not end apart"
	ended := make(chan struct{})
	stalls.Store(text, ended)
	t.Cleanup(func() { stalls.Delete(text) })
	const rule = `deny contains "x" if {
	some arg in input.effect.args
	regex.match("^never$", arg)
}`
	evaluate := func(l *Layer) error {
		_, err := snapshotOf(l).Evaluate(t.Context(), inputOf(run("ls", text)))
		return err
	}
	l := mustCompile(t, decisions.User, rule)
	for range 3 {
		if err := evaluate(l.Apart()); !errors.Is(err, errEndless) {
			t.Errorf("the error is %v", err)
		}
	}
	if n := l.apart.Load(); n != 1 || l.Err() != nil {
		t.Errorf("%d evaluations are stuck, and the layer's failure is %v", n, l.Err())
	}
	used := mustCompile(t, decisions.User, rule)
	for _, l := range []*Layer{used, used.Apart()} {
		if err := evaluate(l); !errors.Is(err, errEndless) {
			t.Errorf("the error is %v", err)
		}
	}
	if used.stuck.Load() != 1 || used.apart.Load() != 0 {
		t.Errorf("%d and %d evaluations are stuck", used.stuck.Load(), used.apart.Load())
	}
	close(ended)
	eventually.Holds(t, "they end after all", func() bool {
		return l.Apart().Err() == nil && used.Apart().Err() == nil
	})
}

// TestEvaluationMemory: rules that build more and more are ended before they have taken
// much memory, and ask; others are not.
func TestEvaluationMemory(t *testing.T) {
	eats := mustCompile(t, decisions.User, `allow contains "yes" if input.effect.kind == "run"
deny contains "x" if {
	rows := [[a, b, c, d] | some a in numbers; some b in numbers; some c in numbers; some d in numbers]
	count(rows) == 7 + input.effect.harmless_from
}
numbers := {n | some i, _ in split("`+strings.Repeat("x", 200)+`", ""); n := i + 11}`)
	s := snapshotOf(eats)
	size := uint64(0)
	s.limiter = evaltime.NewLimiter(func() uint64 { // a heap that grows fast
		size += evaltime.MaxGrowth/2 + 1
		return size
	})
	got, err := s.Evaluate(t.Context(), inputOf(run("ls", "x")))
	if !errors.Is(err, errMemory) || len(got.Fired) != 0 {
		t.Errorf("got %v, %v", briefs(got), err)
	}
	s = snapshotOf(mustCompile(t, decisions.User, `allow contains "yes" if input.effect.kind == "run"`))
	s.limiter = evaltime.NewLimiter(func() uint64 { size += evaltime.MaxGrowth; return size })
	if got, err := s.Evaluate(t.Context(), inputOf(run("ls", "x"))); err != nil || len(got.Fired) != 1 {
		t.Errorf("a plain rule: %v, %v", briefs(got), err)
	}
}

// TestExpressionsThatDouble: rules whose values are written out exponentially often are
// refused when they are loaded; others that look like them are not.
func TestExpressionsThatDouble(t *testing.T) {
	doubled := func(format string, n int) string {
		text := ""
		for i := range n {
			text += strings.NewReplacer("NEXT", fmt.Sprint(i+1), "N", fmt.Sprint(i)).Replace(format)
		}
		return text
	}
	const head = "deny contains \"x\" if {\n\ts0 := input.effect.kind\n"
	for _, tt := range []struct{ name, rules string }{
		{"arrays", head + doubled("\tsNEXT := [sN, sN]\n", 34) + "\tcount(s34) == 3\n}"},
		{"objects", head + doubled("\tsNEXT := {\"a\": sN, \"b\": sN}\n", 34) + "\tcount(s34) == 3\n}"},
		{"parts", head + doubled("\t[sNEXT, _] := [[sN, sN], 1]\n", 34) + "\tcount(s34) == 3\n}"},
		{"a function of a function", head + doubled("\tsNEXT := twice(sN)\n", 34) + "\tcount(s34) == 3\n}\ntwice(x) := [x, x]"},
		{"functions that call others", head + "\tf0(s0)\n}\n" + doubled("fN(x) := fNEXT([x, x])\n", 34) + "f34(x) := count(x)"},
		{"in a comprehension", head + "\tx := [s34 |\n" + doubled("\tsNEXT := [sN, sN]\n", 34) + "]\n\tcount(x) == 3\n}"},
		{"in a comprehension's value", head + doubled("\tsNEXT := [sN, sN]\n", 12) + "\tcount([[s12, s12, s12, s12] | true]) == 3\n}"},
		{"every", head + doubled("\tsNEXT := [sN, sN]\n", 11) + "\tevery x in s11 {\n\t\tcount([x, x, x, x]) == 3\n\t}\n}"},
		{"with", head + doubled("\tsNEXT := [sN, sN]\n", 34) + "\tother with input as s34\n}\nother if input.effect.kind"},
		{"in a test", ""},
	} {
		files := map[string]string{"a.rego": tt.rules}
		if tt.rules == "" {
			files = map[string]string{"a.rego": `deny contains "x" if input.effect.program == "x"`,
				"a_test.rego": "test_a if {\n\ts0 := 1\n" + doubled("\tsNEXT := [sN, sN]\n", 34) + "\tcount(s34) == 3\n}"}
		}
		u := unitOf(decisions.User, files)
		c, ps := Compile(u, testSchema(t))
		if tt.rules == "" && !ps.Failed() {
			_, ps = runParsed(t.Context(), u.Layer, c.tests, testSchema(t), false)
		}
		if err := ps.Err(decisions.User); err == nil || !strings.Contains(err.Error(), "holds others too often") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	for _, tt := range []struct{ name, rules string }{
		{"a long list", `deny contains "x" if input.effect.program in [` + strings.Repeat(`"a", `, 10_000) + `input.effect.kind]`},
		{"values of builtins", head + doubled("\tsNEXT := concat(\"\", [sN, sN])\n", 34) + "\ts34 == \"y\"\n}"},
		{"a function used often", head + doubled("\tsNEXT := f(sN)\n", 34) + "\ts34 == \"y\"\n}\nf(x) := lower(x)"},
		{"a pair of pairs", head + "\tcount([s0, [s0, [s0, [s0, s0]]]]) == 3\n}"},
	} {
		if _, ps := Compile(unitOf(decisions.User, map[string]string{"a.rego": tt.rules}), testSchema(t)); ps.Failed() {
			t.Errorf("%s: %v", tt.name, ps.Errors())
		}
	}
}
