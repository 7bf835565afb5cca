package rules

import (
	"context"
	"errors"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/projection"
)

// Keep has results of evaluations kept. Those of the former snapshot are, if it has the
// same rules: loading a project makes new snapshots of all.
func (s *Snapshot) Keep(former *Snapshot, compare func(in *decisions.Input, kept, anew []decisions.Finding)) {
	s.compare = compare
	if former != nil && former.kept != nil && slices.Equal(former.layers, s.layers) {
		s.kept = former.kept
		return
	}
	understood := make([]*projection.Layer, len(s.layers))
	for i, l := range s.layers {
		understood[i] = l.understood
	}
	s.kept = projection.New(understood)
}

// Kept returns the results that are kept, nil if none are.
func (s *Snapshot) Kept() *projection.Cache { return s.kept }

// evaluateKept is evaluateTwice, unless the result is kept from an effect that the
// rules cannot tell apart.
func (s *Snapshot) evaluateKept(ctx context.Context, in *decisions.Input, kind int, out *decisions.Findings) error {
	if !s.keeps(in) {
		_, err := s.evaluateTwice(ctx, in, kind, out)
		return err
	}
	look := s.kept.Look(in)
	defer look.Close()
	if look.Found && s.compare == nil {
		out.Fired = look.Fired
		return nil
	}
	built, err := s.evaluateTwice(ctx, in, kind, out)
	switch {
	case err != nil:
	case look.Found:
		s.compare(in, look.Fired, out.Fired)
	default:
		look.Keep(out.Fired, built)
	}
	return err
}

// keeps reports whether the result for an effect may be one that is kept. Of effects
// that are only there to be denied other rules may be left out, and org does not see what
// a person says of programs.
func (s *Snapshot) keeps(in *decisions.Input) bool {
	if s.kept == nil || in.OnlyDeny {
		return false
	}
	for _, l := range s.layers {
		if l.endless() || input.ForLayer(l.Name, in) != in {
			return false
		}
	}
	return true
}

// evaluateTwice evaluates once more if that took too long. It returns how many bytes the
// builtins allocated.
func (s *Snapshot) evaluateTwice(ctx context.Context, in *decisions.Input, kind int, out *decisions.Findings) (built int64, err error) {
	built, err = s.evaluateAll(ctx, in, kind, out)
	if !errors.Is(err, errTimeout) {
		return built, err
	}
	if ctx.Err() != nil {
		return built, ctx.Err()
	}
	// The timer also runs while a busy machine does not schedule us (this
	// has been measured), and a question for that reason is a needless one.
	// Rules that really do not end take the time twice.
	return s.evaluateAll(ctx, in, kind, out)
}
