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
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/cache"

	"github.com/permd/permd/policy/builtins"
	"github.com/permd/permd/policy/evaltime"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/policy/termsize"
)

// The decisions that are asked for if the configuration names no others.
const (
	DefaultMask = "/system/log/mask"
	DefaultDrop = "/system/log/drop"
)

// resultVar is what the queries bind.
const resultVar = "permd_result"

// Policy is what was compiled of some files. It is safe for concurrent use.
type Policy struct {
	compiler   *ast.Compiler
	mask, drop ast.Body
	depth      termsize.Depth
	store      storage.Store
	values     cache.InterQueryValueCache
	limiter    evaltime.Limiter
}

// Compile compiles files of Rego. Mask and drop are the paths of the decisions, such as
// [DefaultMask]. The policy is nil if no file has rules.
func Compile(files []source.File, mask, drop string) (*Policy, error) {
	caps := builtins.Capabilities(false)
	modules := map[string]*ast.Module{}
	for _, f := range files {
		if f.IsBlank() || f.IsTest() {
			continue
		}
		m, err := ast.ParseModuleWithOpts(f.Name, string(f.Data), builtins.ParserOptions(caps))
		if err != nil {
			return nil, fmt.Errorf("reading policies of decision logs: %w", firstLine(err))
		}
		modules[f.Name] = m
	}
	if len(modules) == 0 {
		return nil, nil
	}
	c := termsize.Checked(ast.NewCompiler().WithCapabilities(caps).WithStrict(true).WithDefaultRegoVersion(ast.RegoV1))
	if c.Compile(modules); c.Failed() {
		return nil, fmt.Errorf("compiling policies of decision logs: %w", firstLine(c.Errors))
	}
	p := &Policy{compiler: c, depth: termsize.DepthOf(c, true), store: inmem.New()}
	for _, q := range []struct {
		path string
		into *ast.Body
	}{{mask, &p.mask}, {drop, &p.drop}} {
		ref, err := refOf(q.path)
		if err != nil {
			return nil, err
		}
		body := ast.NewBody(ast.Equality.Expr(ast.VarTerm(resultVar), ast.NewTerm(ref)))
		if *q.into, err = c.QueryCompiler().Compile(body); err != nil {
			return nil, fmt.Errorf("compiling policies of decision logs: %w", firstLine(err))
		}
	}
	config, err := cache.ParseCachingConfig([]byte(`{"inter_query_builtin_value_cache": {"max_num_entries": 1024}}`))
	if err != nil {
		return nil, err
	}
	p.values = builtins.NewCache(cache.NewInterQueryValueCache(context.Background(), config))
	return p, nil
}

// refOf returns the reference to a decision.
func refOf(path string) (ast.Ref, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	ref := ast.Ref{ast.DefaultRootDocument}
	for _, part := range parts {
		if part == "" {
			return nil, fmt.Errorf("%q is no path of a decision", path)
		}
		ref = append(ref, ast.StringTerm(part))
	}
	return ref, nil
}

// firstLine shortens errors of OPA, which can quote much.
func firstLine(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	return errors.New(strings.ToValidUTF8(text, "\uFFFD"))
}

// Apply evaluates the policy on an event in its JSON form, which it changes. Dropped says that
// it is not to be sent. After an error the event is as it was, or partly masked.
func (p *Policy) Apply(ctx context.Context, event map[string]any, now time.Time) (dropped bool, err error) {
	value, err := ast.InterfaceToValue(event)
	if err != nil {
		return false, fmt.Errorf("masking: %w", firstLine(err))
	}
	in := ast.NewTerm(value)
	drop, err := p.eval(ctx, p.drop, in, now)
	if err != nil {
		return false, fmt.Errorf("evaluating what is dropped: %w", err)
	}
	if b, ok := drop.(ast.Boolean); ok && bool(b) {
		return true, nil
	}
	mask, err := p.eval(ctx, p.mask, in, now)
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

// eval returns the value of a query, nil if it is undefined.
func (p *Policy) eval(ctx context.Context, body ast.Body, in *ast.Term, now time.Time) (out ast.Value, err error) {
	txn, err := p.store.NewTransaction(ctx)
	if err != nil {
		return nil, err
	}
	limited := p.limiter.Start(ctx)
	defer p.limiter.Stop(limited)
	type result struct {
		value ast.Value
		err   error
	}
	handover := evaltime.NewHandover[result](1)
	go func() {
		var r result
		defer func() {
			// Here, since an evaluation that is not waited for any more still reads.
			p.store.Abort(context.WithoutCancel(ctx), txn)
			if v := recover(); v != nil {
				r.err = fmt.Errorf("the policy engine panicked: %v", v)
			}
			handover.Give(r)
		}()
		r.err = p.depth.Limit(topdown.NewQuery(body)).
			WithCompiler(p.compiler).WithStore(p.store).WithTransaction(txn).WithInput(in).
			WithMetrics(metrics.NoOp()).WithInterQueryBuiltinValueCache(p.values).
			WithStrictBuiltinErrors(true).WithTime(now).WithCancel(limited.Cancel).
			Iter(ctx, func(qr topdown.QueryResult) error {
				if t := qr[ast.Var(resultVar)]; t != nil {
					r.value = t.Value
				}
				return nil
			})
	}()
	var got result
	select {
	case got = <-handover.Results():
	case <-limited.Abandoned:
		var ok bool
		if got, ok = handover.Abandon(func() {}); !ok {
			return nil, errors.New("an evaluation does not end")
		}
	}
	switch {
	case got.err == nil:
		return got.value, nil
	case topdown.IsCancel(got.err):
		return nil, fmt.Errorf("took longer than %d ms, or too much memory", evaltime.Timeout.Milliseconds())
	}
	return nil, firstLine(got.err)
}
