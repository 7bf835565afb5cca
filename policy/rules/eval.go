package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy/evaltime"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/projection"
	"github.com/permd/permd/policy/restrictions"
)

// errTimeout is returned by Evaluate when the rules took longer than
// evaltime.Timeout twice in a row.
var errTimeout = fmt.Errorf("evaluating rules: took longer than %d ms", evaltime.Timeout.Milliseconds())

// errMemory is returned by Evaluate when the heap grew too much meanwhile.
var errMemory = errors.New("evaluating rules: took too much memory")

// errEndless is returned by Evaluate for a layer whose evaluation could not be ended.
var errEndless = errors.New("evaluating rules: an evaluation does not end; the rules of this layer are off until it does, or they change")

// errAbandoned is returned by evaluate when a layer has become endless.
var errAbandoned = errors.New("evaluating rules: abandoned")

// Basis is what a snapshot is made of.
type Basis struct {
	Digest      string   // of the rules, the program table, the profiles and the settings
	Layers      []*Layer // from highest to lowest precedence
	Unknown     error    // a layer whose rules are not known, nil if all are known
	Quarantined []string // files whose allows do not count, because they were emptied just now
	OnlyOrg     bool     // allows of user and project do not count
	Trusted     bool     // those of the project may count
	// TrustProblem is why those of the project do not count although somebody trusts, or trusted,
	// it; "" for nothing.
	TrustProblem string
	// denyOnFailure is set if what cannot be evaluated is denied, not asked.
	DenyOnFailure bool
	Table         *programs.Table
	Profiles      *tools.Profiles
	Limiter       *evaltime.Limiter // shared by all evaluations, also of other snapshots
	// Restrictions are what the organisation forbids beside its rules, nil for nothing.
	Restrictions *restrictions.Restrictions
}

// Snapshot is the rules that hold for one person in one project. It is
// immutable and implements decisions.Snapshot.
type Snapshot struct {
	digest        string
	layers        []*Layer
	unknown       error
	quarantined   []string
	onlyOrg       bool
	trusted       bool
	trustProblem  string
	denyOnFailure bool
	table         *programs.Table
	profiles      *tools.Profiles
	limiter       *evaltime.Limiter
	restrictions  *restrictions.Restrictions // nil for none
	kept          *projection.Cache          // results of evaluations, nil if none are kept
	compare       func(in *decisions.Input, kept, anew []decisions.Finding)
}

// NewSnapshot returns a snapshot that keeps no results.
func NewSnapshot(b Basis) *Snapshot {
	return &Snapshot{
		digest: b.Digest, layers: b.Layers, unknown: b.Unknown, quarantined: b.Quarantined, onlyOrg: b.OnlyOrg, trusted: b.Trusted, trustProblem: b.TrustProblem, denyOnFailure: b.DenyOnFailure,
		table: b.Table, profiles: b.Profiles, limiter: b.Limiter, restrictions: b.Restrictions,
	}
}

// Same reports whether a snapshot has the same rules as a former one, and all are known.
func (s *Snapshot) Same(former *Snapshot) bool {
	return former.unknown == nil && s.unknown == nil && former.digest == s.digest && former.trusted == s.trusted && former.trustProblem == s.trustProblem && slices.Equal(former.layers, s.layers)
}

// Digest identifies the rules, the program table, the profiles and the settings.
func (s *Snapshot) Digest() string { return s.digest }

// Table is the program table used to derive effects.
func (s *Snapshot) Table() *programs.Table { return s.table }

// Profiles are the agent profiles used to derive effects.
func (s *Snapshot) Profiles() *tools.Profiles { return s.profiles }

// OnFailure is the verdict of a call that cannot be evaluated.
func (s *Snapshot) OnFailure() decisions.Verdict {
	if s.denyOnFailure {
		return decisions.Deny
	}
	return decisions.Ask
}

// Trusted reports whether the project's allows count, which is bounded by the table of precedence.
func (s *Snapshot) Trusted() bool { return s.trusted }

// TrustProblem is why the project's allows do not count although somebody trusts, or trusted, it;
// "" for nothing.
func (s *Snapshot) TrustProblem() string { return s.trustProblem }

// Evaluate returns the rules that fire for an effect.
//
// On an error some layers have not answered. The rules of the others that fired
// are returned with it, without allows: a deny among them counts whatever
// failed elsewhere.
func (s *Snapshot) Evaluate(ctx context.Context, in *decisions.Input) (decisions.Findings, error) {
	out := decisions.Findings{OnlyOrg: s.onlyOrg}
	kind := -1
	if in.Effect != nil {
		kind = kindIndex(in.Effect.Kind)
	}
	if kind < 0 || in.Call == nil || in.Result == nil {
		return out, errors.New("evaluating rules: the effect is not of a known kind, or its call is missing")
	}
	err := ctx.Err()
	if err == nil {
		err = s.evaluateKept(ctx, in, kind, &out)
	}
	if len(s.quarantined) > 0 || err != nil || s.unknown != nil {
		out.Fired = slices.Clone(out.Fired) // it may be kept
	}
	if len(s.quarantined) > 0 {
		out.Fired = slices.DeleteFunc(out.Fired, func(f decisions.Finding) bool {
			return f.Set == decisions.SetAllow && inQuarantine(s.quarantined, &f.Rule)
		})
	}
	if s.restrictions != nil {
		out.Fired = s.restrictions.With(in, out.Fired)
	}
	if err = cmp.Or(err, s.unknown); err != nil {
		out.Fired = slices.DeleteFunc(out.Fired, func(f decisions.Finding) bool { return f.Set == decisions.SetAllow })
	}
	return out, err
}

// evaluateAll is evaluate, once more without each layer that turned out to be endless:
// the denies of the others count.
func (s *Snapshot) evaluateAll(ctx context.Context, in *decisions.Input, kind int, out *decisions.Findings) (built int64, err error) {
	for {
		out.Fired = nil
		if built, err = s.evaluate(ctx, in, kind, out); !errors.Is(err, errAbandoned) {
			return built, err
		}
	}
}

func (s *Snapshot) evaluate(ctx context.Context, in *decisions.Input, kind int, out *decisions.Findings) (built int64, err error) {
	limited := s.limiter.Start(ctx)
	defer s.limiter.Stop(limited)
	layers, failed, err := s.prepare(in, kind)
	if err != nil || len(layers) == 0 {
		return 0, cmp.Or(err, failed)
	}
	handover := evaltime.NewHandover[layerResult](len(layers))
	q := query{now: in.Now, cancel: limited.Cancel, deny: in.OnlyDeny}
	if slices.ContainsFunc(layers, func(l preparedLayer) bool { return l.layer.mayHang }) {
		go evaluateLayers(layers, q, handover) // costs some microseconds
	} else {
		evaluateLayers(layers, q, handover)
	}
	for _, l := range layers {
		var got layerResult
		select {
		case got = <-handover.Results():
		case <-limited.Abandoned:
			var ok bool
			if got, ok = handover.Abandon(func() { l.layer.stuck.Add(1) }); !ok {
				return 0, errAbandoned
			}
		}
		if errors.Is(got.err, errTimeout) && limited.TooMuch() {
			got.err = fmt.Errorf("%s layer: %w", l.layer.Name, errMemory)
		}
		failed = cmp.Or(failed, got.err)
		out.Fired = append(out.Fired, got.fired...)
	}
	return limited.Cancel.Built(), failed
}

// Timeless reports whether the rules give the same answer at any time: no rule
// reads input.now or input.recent, and no builtin depends on the time or differs from call to
// call (see package builtins). A layer whose rules are not known may become
// known at any moment.
func (s *Snapshot) Timeless() bool {
	for _, l := range s.layers {
		if l.needs.Has(input.PartNow) {
			return false
		}
	}
	return s.unknown == nil
}

// inQuarantine reports whether a rule's allows do not count, because its file is quarantined.
func inQuarantine(held []string, r *decisions.RuleRef) bool {
	return slices.ContainsFunc(held, func(name string) bool { return strings.HasPrefix(r.At, name+":") })
}
