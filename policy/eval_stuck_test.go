package policy

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
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
	status := func() LayerStatus {
		return (&layerState{layer: decisions.User, state: StateOK, active: stuck, digest: "d"}).status()
	}
	if st := status(); st.State != StateDegraded || st.Error != errEndless.Error() {
		t.Errorf("the status is %+v", st)
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
	if st := status(); st.State != StateOK {
		t.Errorf("afterwards the status is %+v", st)
	}
	if got, err := s.Evaluate(t.Context(), inputOf(run("ls", text))); err != nil || len(got.Fired) != 2 {
		t.Errorf("afterwards: %v, %v", briefs(got), err)
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
