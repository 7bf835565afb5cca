package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy/evaltime"
	"github.com/permd/permd/policy/input"
)

// errTimeout is returned by Evaluate when the rules took longer than
// evaltime.Timeout twice in a row.
var errTimeout = errors.New("evaluating rules: took longer than 250 ms")

// snapshot is the rules that hold for one person in one project. It is
// immutable and implements decisions.Snapshot.
type snapshot struct {
	digest      string
	layers      []*compiledLayer // from highest to lowest precedence
	unknown     error            // a layer whose rules are not known, nil if all are known
	quarantined []string         // files whose allows do not count, see quarantine
	switches    Switches
	trusted     bool
	table       *programs.Table
	profiles    *tools.Profiles
	limiter     *evaltime.Limiter // shared by all evaluations, also of other snapshots
}

// Digest identifies the rules, the program table, the profiles and the settings.
func (s *snapshot) Digest() string { return s.digest }

// Table is the program table used to derive effects.
func (s *snapshot) Table() *programs.Table { return s.table }

// Profiles are the agent profiles used to derive effects.
func (s *snapshot) Profiles() *tools.Profiles { return s.profiles }

// OnFailure is the verdict of a call that cannot be evaluated.
func (s *snapshot) OnFailure() decisions.Verdict {
	if s.switches.DenyOnFailure {
		return decisions.Deny
	}
	return decisions.Ask
}

// Trusted reports whether the project's allows count.
func (s *snapshot) Trusted() bool { return s.trusted }

// Evaluate returns the rules that fire for an effect.
//
// On an error some layers have not answered. The rules of the others that fired
// are returned with it, without allows: a deny among them counts whatever
// failed elsewhere.
func (s *snapshot) Evaluate(ctx context.Context, in *decisions.Input) (decisions.Findings, error) {
	out := decisions.Findings{OnlyOrg: s.switches.OnlyOrg}
	kind := -1
	if in.Effect != nil {
		kind = kindIndex(in.Effect.Kind)
	}
	if kind < 0 || in.Call == nil || in.Result == nil {
		return out, errors.New("evaluating rules: the effect is not of a known kind, or its call is missing")
	}
	err := ctx.Err()
	if err == nil {
		err = s.evaluate(ctx, in, kind, &out)
	}
	if errors.Is(err, errTimeout) && ctx.Err() != nil {
		err = ctx.Err()
	} else if errors.Is(err, errTimeout) {
		// The timer also runs while a busy machine does not schedule us (this
		// has been measured), and a question for that reason is a needless one.
		// Rules that really do not end take the time twice.
		out.Fired = nil
		err = s.evaluate(ctx, in, kind, &out)
	}
	if len(s.quarantined) > 0 {
		out.Fired = slices.DeleteFunc(out.Fired, func(f decisions.Finding) bool {
			return f.Set == decisions.SetAllow && inQuarantine(s.quarantined, &f.Rule)
		})
	}
	if err = cmp.Or(err, s.unknown); err != nil {
		out.Fired = slices.DeleteFunc(out.Fired, func(f decisions.Finding) bool { return f.Set == decisions.SetAllow })
	}
	return out, err
}

func (s *snapshot) evaluate(ctx context.Context, in *decisions.Input, kind int, out *decisions.Findings) error {
	var need input.Parts
	speaks := false
	for _, l := range s.layers {
		if l.mayFire[kind] {
			need |= l.needs
			speaks = true
		}
	}
	if !speaks {
		return nil
	}
	limited := s.limiter.Start(ctx)
	defer s.limiter.Stop(limited)
	doc, err := recoverPanic(func() *ast.Term { return input.Build(in, need) })
	if err != nil {
		return fmt.Errorf("evaluating rules: %w", err)
	}
	var failed error
	for _, l := range s.layers {
		if !l.mayFire[kind] {
			continue
		}
		shown := doc
		if seen := input.ForLayer(l.layer, in); seen != in {
			if shown, err = recoverPanic(func() *ast.Term { return input.Build(seen, l.needs) }); err != nil {
				return fmt.Errorf("evaluating rules: %w", err)
			}
		}
		fired, err := l.eval(&query{input: shown, now: in.Now, cancel: limited.Cancel, deny: in.OnlyDeny})
		failed = cmp.Or(failed, err)
		out.Fired = append(out.Fired, fired...)
	}
	return failed
}

// Timeless reports whether the rules give the same answer at any time: no rule
// reads input.now, and no builtin depends on the time or differs from call to
// call (see allowedBuiltins). A layer whose rules are not known may become
// known at any moment.
func (s *snapshot) Timeless() bool {
	for _, l := range s.layers {
		if l.needs&input.PartNow != 0 {
			return false
		}
	}
	return s.unknown == nil
}
