// Package masking evaluates the organisation's policies on decision log events before they
// are sent: system.log.drop says which are not sent, and system.log.mask what is removed from
// one or replaced in it. Both are OPA's, by their names and their documents.
//
// Policies are compiled with the builtins, and evaluated within the limits, of rules. Nothing
// leaves unmasked: where a policy fails, the error says so, and the caller sends nothing of
// what it would have masked.
package masking

import (
	"context"
	"fmt"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/policy/query"
	"github.com/permd/permd/policy/source"
)

// The decisions that are asked for if the configuration names no others.
const (
	DefaultMask = "/system/log/mask"
	DefaultDrop = "/system/log/drop"
)

// The places of the decisions in a query.
const (
	maskDecision = iota
	dropDecision
)

// Policy is what was compiled of some files. It is safe for concurrent use.
type Policy struct{ query *query.Policy }

// Compile compiles files of Rego. Mask and drop are the paths of the decisions, such as
// [DefaultMask]. The policy is nil if no file has rules.
func Compile(files []source.File, mask, drop string) (*Policy, error) {
	q, err := query.Compile(files, query.Options{Decisions: []string{maskDecision: mask, dropDecision: drop}})
	if err != nil {
		return nil, fmt.Errorf("policies of decision logs: %w", err)
	}
	if q == nil {
		return nil, nil
	}
	return &Policy{q}, nil
}

// Apply evaluates the policy on an event in its JSON form, which it changes. Dropped says that
// it is not to be sent. After an error the event is as it was, or partly masked.
func (p *Policy) Apply(ctx context.Context, event map[string]any, now time.Time) (dropped bool, err error) {
	value, err := ast.InterfaceToValue(event)
	if err != nil {
		return false, fmt.Errorf("masking: the event is no JSON: %w", err)
	}
	in := query.Input{Document: ast.NewTerm(value), Time: now}
	drop, err := p.query.Eval(ctx, dropDecision, in)
	if err != nil {
		return false, fmt.Errorf("evaluating what is dropped: %w", err)
	}
	if b, ok := drop.(ast.Boolean); ok && bool(b) {
		return true, nil
	}
	mask, err := p.query.Eval(ctx, maskDecision, in)
	if err != nil {
		return false, fmt.Errorf("evaluating what is masked: %w", err)
	}
	if mask == nil {
		return false, nil
	}
	rules, err := rulesOf(mask)
	if err != nil {
		return false, fmt.Errorf("masking: %w", err)
	}
	for i := range rules {
		if err := rules[i].apply(event); err != nil {
			return false, fmt.Errorf("masking: %w", err)
		}
	}
	return false, nil
}
