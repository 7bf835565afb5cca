package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy/evaltime"
)

// slowStep returns rules with one step that takes seconds, and which OPA cannot end: a
// pattern of many states for a text of so many characters that it takes some 4 s.
func slowStep() string {
	const pattern = "(?:x?y?){300}z"
	n, begun := 12, time.Now()
	regexp.MustCompile(pattern).MatchString(strings.Repeat("x", 1<<n))
	for took := time.Since(begun); took < 4*time.Second; took *= 2 {
		n++
	}
	doubled := "\ts0 := substring(\"x\", 0, count(input.effect.kind))\n"
	for i := range n {
		doubled += fmt.Sprintf("\ts%d := concat(\"\", [s%d, s%d])\n", i+1, i, i)
	}
	return fmt.Sprintf(`allow contains "yes" if input.effect.kind == "run"
deny contains "x" if {
%s	regex.match(%q, s%d)
}
`, doubled, pattern, n)
}

// TestEvaluationLeftBehind: nobody waits for a step that does not end. The layer is off
// until it has ended, the denies of other layers count meanwhile, and no allow does.
func TestEvaluationLeftBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for a rule that takes seconds")
	}
	stuck := mustCompile(t, decisions.User, slowStep())
	org := mustCompile(t, decisions.Org, `deny contains "org" if "x" in input.effect.args`)
	base := mustCompile(t, decisions.Base, `allow contains "base" if input.effect.kind == "run"`)
	s := snapshotOf(org, stuck, base)
	begun := time.Now()
	got, err := s.Evaluate(t.Context(), inputOf(run("ls", "x")))
	took := time.Since(begun)
	if !errors.Is(err, errEndless) || len(got.Fired) != 1 || got.Fired[0].Reason != "org" {
		t.Fatalf("got %v, %v after %v", briefs(got), err, took)
	}
	if stuck.stuck.Load() != 1 {
		t.Errorf("%d evaluations are stuck", stuck.stuck.Load())
	}
	st := (&layerState{layer: decisions.User, state: StateOK, active: stuck, digest: "d"}).status()
	if st.State != StateDegraded || st.Error != errEndless.Error() {
		t.Errorf("the status is %+v", st)
	}
	// Others do not wait at all, and do not make more of them.
	for range 100 {
		got, err := s.Evaluate(t.Context(), inputOf(run("ls", "y")))
		if stuck.stuck.Load() == 0 {
			break // a fast machine
		}
		if !errors.Is(err, errEndless) || len(got.Fired) != 0 || stuck.stuck.Load() != 1 {
			t.Fatalf("got %v, %v; %d evaluations are stuck", briefs(got), err, stuck.stuck.Load())
		}
	}
	eventually.Holds(t, "it ends after all", func() bool { return stuck.stuck.Load() == 0 })
	if st := (&layerState{layer: decisions.User, state: StateOK, active: stuck, digest: "d"}).status(); st.State != StateOK {
		t.Errorf("afterwards the status is %+v", st)
	}
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
