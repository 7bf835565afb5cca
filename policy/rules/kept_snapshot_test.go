package rules

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy/policytest"
)

// TestFailureIsNotKept: an evaluation that failed is tried again, and a rule that reads
// the time is evaluated each time.
func TestFailureIsNotKept(t *testing.T) {
	for name, text := range map[string]string{
		"an error":  `allow contains "x" if json.unmarshal(input.effect.text) == 1`,
		"the time":  `allow contains "x" if startswith(input.now, "2026")`,
		"raw input": `allow contains "x" if input.call.raw.command == "x"`,
	} {
		t.Run(name, func(t *testing.T) {
			snap := snapshotOf(mustCompile(t, decisions.User, text))
			snap.Keep(nil, nil)
			in := inputOf(run("git"))
			for range 3 {
				_, _ = snap.Evaluate(t.Context(), in)
			}
			if hits, _, _ := snap.kept.Counts(); hits != 0 {
				t.Errorf("%d results were kept", hits)
			}
		})
	}
}

// TestQuarantineOfKept: an allow of a file in quarantine does not count, and what is kept
// stays whole.
func TestQuarantineOfKept(t *testing.T) {
	snap := snapshotOf(mustCompile(t, decisions.User, `
allow contains "yes" if input.effect.program == "git"
deny contains "no" if input.effect.program == "git"`))
	snap.Keep(nil, nil)
	in := inputOf(run("git"))
	for _, quarantined := range [][]string{nil, {"/p/a.rego"}, nil, {"/p/a.rego"}, nil} {
		snap.quarantined = quarantined
		got, err := snap.Evaluate(t.Context(), in)
		want := 2 - len(quarantined)
		if err != nil || len(got.Fired) != want {
			t.Errorf("quarantined %q: %v, %v, want %d findings", quarantined, briefs(got), err, want)
		}
	}
}

// TestKeptIsBounded: neither many effects nor long ones make the cache larger than its
// bound, and what is used again and again stays.
func TestKeptIsBounded(t *testing.T) {
	snap := snapshotOf(mustCompile(t, decisions.User, `deny contains sprintf("%s", [input.effect.text]) if input.effect.program != "x"`))
	snap.Keep(nil, nil)
	evaluate := func(text string) {
		e := run("git")
		e.Text = text
		var err error
		for range 10 { // a busy machine may take longer than an evaluation may
			if _, err = snap.Evaluate(context.Background(), inputOf(e)); err == nil {
				return
			}
		}
		t.Fatal(err)
	}
	most := 0
	for i := range 2000 {
		evaluate(fmt.Sprint(i, effects.KindRun, string(make([]byte, i%1000))))
		if i%50 == 0 {
			evaluate("often")
		}
		most = max(most, snap.kept.Size())
	}
	if most > 256<<10 || most < 100<<10 {
		t.Errorf("%d bytes, want at most 256 KiB", most)
	}
	if hits, _, _ := snap.kept.Counts(); hits != 39 {
		t.Errorf("%d hits, want 39: what is used often was evicted", hits)
	}
	before := snap.kept.Size()
	evaluate(string(make([]byte, 1<<20)))
	if snap.kept.Size() != before {
		t.Error("a long text was kept")
	}
}

// TestKeptAtOnce: many use what is kept at the same time.
func TestKeptAtOnce(t *testing.T) {
	snap := snapshotOf(mustCompile(t, decisions.User, policytest.ManyRules(decisions.User, 60)))
	snap.Keep(nil, nil)
	done := make(chan error)
	for g := range 4 {
		go func() {
			var err error
			for i := range 200 {
				n := (i + g) % 60
				var got decisions.Findings
				got, err = snap.Evaluate(context.Background(), inputOf(run(fmt.Sprintf("prog%d", n), fmt.Sprintf("--flag%d", n))))
				if want := map[bool]int{true: 1}[n%10 < 6 && n%10 != 3]; err == nil && len(got.Fired) != want {
					err = fmt.Errorf("prog%d: %d findings, want %d", n, len(got.Fired), want)
				}
				if err != nil {
					break
				}
			}
			done <- err
		}()
	}
	for range 4 {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(eventually.Limit):
			t.Fatal("it does not end")
		}
	}
}

// TestKeptNeverHidesAFailure: an effect of which the evaluator refuses a call gets that
// error, although the rules that make the call do not fire for another one that they
// cannot tell apart.
func TestKeptNeverHidesAFailure(t *testing.T) {
	long := strings.Repeat("a", 8<<10)
	pattern := func(n int) string { return fmt.Sprintf("^b(a{1000}){%d}%d$", n, n) } // Go takes no longer repetitions
	refused := func(text string) *decisions.Input {
		e := run("git", text)
		e.Text = text
		return inputOf(e)
	}
	several := "deny contains \"r\" if {\n"
	for n := range 130 {
		several += fmt.Sprintf("\tregex.match(`^[ab]|x{1000}%d`, input.effect.text)\n", n)
	}
	joined := "\twords := concat(\"\", [w | some a in input.effect.args; w := concat(\"\", [\"\\u0000\", replace(a, \"\\u0000\", \"\\u0001\")])])\n"
	for name, c := range map[string]struct {
		rules        string
		first, other *decisions.Input
	}{
		"a long text": {"deny contains \"r\" if {\n\tnot startswith(input.effect.text, \"b\")\n\tregex.match(`" + pattern(1) + "`, input.effect.text)\n}", refused("b"), refused(strings.Repeat("a", 1<<20))},
		"words": {"deny contains \"r\" if {\n\tinput.effect.claimed\n" + joined + "\tregex.match(`b`, words)\n}\n" +
			strings.Repeat("ask contains \"r\" if {\n\tinput.effect.text != \"b\"\n"+joined+"\tregex.match(`x`, words)\n}\n", 40), refused("b"), refused(strings.Repeat(long, 64))},
		"many patterns": {several + "\tcontains(input.effect.text, \"c\")\n}", refused("c"), refused("a")},
		"a large pattern": {"deny contains \"r\" if {\n\tnot startswith(input.effect.text, \"b\")\n\tregex.match(`" + strings.Repeat(`\pL`, 300) + "c`, input.effect.text)\n}",
			refused("b"), refused("a")},
	} {
		t.Run(name, func(t *testing.T) {
			l := mustCompile(t, decisions.User, c.rules)
			anew, kept := snapshotOf(l), snapshotOf(l)
			kept.Keep(nil, nil)
			if _, err := kept.Evaluate(t.Context(), c.first); err != nil {
				t.Fatal(err)
			}
			_, want := anew.Evaluate(t.Context(), c.other)
			if want == nil {
				t.Fatal("the evaluator refuses nothing: the test tests nothing")
			}
			if _, err := kept.Evaluate(t.Context(), c.other); err == nil {
				t.Errorf("a result was kept, want: %v", want)
			}
		})
	}
}

// TestKeptOnlyForTheSame: what was found for an effect that is only there to be denied, of
// which other rules may be left out, is not used for one that may be allowed, and a layer
// that has stopped answering is no layer without rules.
func TestKeptOnlyForTheSame(t *testing.T) {
	l := mustCompile(t, decisions.User, `
allow contains "a" if input.effect.program == "git"
ask contains "b" if contains(input.effect.text, "i")
deny contains "c" if input.effect.text == "other"`)
	snap := snapshotOf(l)
	snap.Keep(nil, nil)
	for _, only := range []bool{true, false, true, false} {
		in := inputOf(run("git"))
		in.Effect.Text, in.OnlyDeny = "git", only
		got, err := snap.Evaluate(t.Context(), in)
		if err != nil || !only && len(got.Fired) != 2 {
			t.Errorf("only denies: %v: %v, %v", only, briefs(got), err)
		}
	}
	if hits, _, _ := snap.kept.Counts(); hits != 1 {
		t.Errorf("%d results were kept, want 1", hits)
	}
	l.stuck.Add(1)
	in := inputOf(run("git"))
	in.Effect.Text = "git"
	if got, err := snap.Evaluate(t.Context(), in); err == nil {
		t.Errorf("a layer that does not answer: %v", briefs(got))
	}
}

// TestKeptOfDescribedPrograms: org does not see what a person says of a program, so it denies
// what looks the same as another run to all other rules.
func TestKeptOfDescribedPrograms(t *testing.T) {
	org := mustCompile(t, decisions.Org, `deny contains "unknown" if not input.effect.readonly`)
	user := mustCompile(t, decisions.User, `allow contains "harmless" if input.effect.readonly`)
	snap := snapshotOf(org, user)
	snap.Keep(nil, nil)
	for n, described := range []bool{false, true, false, true} {
		e := run("prog")
		e.Run.Readonly = true
		if described {
			plain := *e.Run
			plain.Readonly = false
			e.Run.WithoutOverlay = &plain
		}
		got, err := snap.Evaluate(t.Context(), inputOf(e))
		if err != nil || (len(got.Fired) == 2) != described {
			t.Errorf("call %d, described %v: %v, %v", n, described, briefs(got), err)
		}
	}
}
