// Package query evaluates decisions of policies that are no rules: those that mask decision logs,
// and those of discovery bundles. They are compiled with the builtins, and evaluated within the
// limits, of rules.
package query

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

// resultVar is what the queries bind.
const resultVar = "permd_result"

// Options are what a policy is compiled with.
type Options struct {
	// Decisions are the paths of the decisions that are evaluated, such as /system/log/mask.
	Decisions []string
	// Data are its data documents, nil for none.
	Data map[string]any
	// Runtime allows it to call opa.runtime, which returns what [Input.Runtime] has.
	Runtime bool
	// Times is how many times the limit of rules an evaluation may take, [evaltime.Timeout]; 1 if 0.
	Times int
}

// Input is what a policy is evaluated on.
type Input struct {
	Document *ast.Term // nil for none
	Runtime  *ast.Term // nil for none
	Time     time.Time
}

// Policy is what was compiled of some files. It is safe for concurrent use.
type Policy struct {
	compiler  *ast.Compiler
	decisions []ast.Body
	depth     termsize.Depth
	store     storage.Store
	values    cache.InterQueryValueCache
	limiter   evaltime.Limiter
	within    time.Duration // what the limiter permits
}

// Compile compiles files of Rego; tests are left out. The policy is nil if there are neither rules
// nor data. Errors are one short line.
func Compile(files []source.File, o Options) (*Policy, error) {
	caps := builtins.Capabilities(false)
	if o.Runtime {
		caps.Builtins = append(caps.Builtins, ast.OPARuntime)
	}
	modules := map[string]*ast.Module{}
	for _, f := range files {
		if f.IsBlank() || f.IsTest() {
			continue
		}
		m, err := ast.ParseModuleWithOpts(f.Name, string(f.Data), builtins.ParserOptions(caps))
		if err != nil {
			return nil, fmt.Errorf("reading: %w", shortened(err))
		}
		modules[f.Name] = m
	}
	if len(modules) == 0 && o.Data == nil {
		return nil, nil
	}
	data := o.Data
	if data == nil {
		data = map[string]any{}
	}
	p := &Policy{store: inmem.NewFromObject(data), limiter: evaltime.Limiter{Times: o.Times}, within: evaltime.Timeout * time.Duration(max(1, o.Times))}
	p.compiler = termsize.Checked(ast.NewCompiler().WithCapabilities(caps).WithStrict(true).WithDefaultRegoVersion(ast.RegoV1).
		WithPathConflictsCheck(func(path []string) (bool, error) { return has(data, path), nil }))
	if p.compiler.Compile(modules); p.compiler.Failed() {
		return nil, fmt.Errorf("compiling: %w", shortened(p.compiler.Errors))
	}
	p.depth = termsize.DepthOf(p.compiler, true)
	for _, path := range o.Decisions {
		ref, err := refOf(path)
		if err != nil {
			return nil, err
		}
		body := ast.NewBody(ast.Equality.Expr(ast.VarTerm(resultVar), ast.NewTerm(ref)))
		compiled, err := p.compiler.QueryCompiler().Compile(body)
		if err != nil {
			return nil, fmt.Errorf("compiling: %w", shortened(err))
		}
		p.decisions = append(p.decisions, compiled)
	}
	config, err := cache.ParseCachingConfig([]byte(`{"inter_query_builtin_value_cache": {"max_num_entries": 1024}}`))
	if err != nil {
		return nil, err
	}
	p.values = builtins.NewCache(cache.NewInterQueryValueCache(context.Background(), config))
	return p, nil
}

// has reports whether data has something at a path that a rule would be at.
func has(data any, path []string) bool {
	for _, part := range path {
		m, ok := data.(map[string]any)
		if !ok {
			return true
		}
		if data, ok = m[part]; !ok {
			return false
		}
	}
	return true
}

// refOf returns the reference to a decision.
func refOf(path string) (ast.Ref, error) {
	ref := ast.Ref{ast.DefaultRootDocument}
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if part == "" {
			return nil, fmt.Errorf("%q is no path of a decision", path)
		}
		ref = append(ref, ast.StringTerm(part))
	}
	return ref, nil
}

// maxMessage is how much of an error is kept, in bytes: those of OPA can quote much.
const maxMessage = 300

func shortened(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > maxMessage {
		text = text[:maxMessage] + "…"
	}
	return errors.New(strings.ToValidUTF8(text, "\uFFFD"))
}

// Eval returns the value of a decision, by its place in [Options.Decisions]; nil if it is
// undefined.
func (p *Policy) Eval(ctx context.Context, decision int, in Input) (ast.Value, error) {
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
		q := p.depth.Limit(topdown.NewQuery(p.decisions[decision])).
			WithCompiler(p.compiler).WithStore(p.store).WithTransaction(txn).
			WithMetrics(metrics.NoOp()).WithInterQueryBuiltinValueCache(p.values).
			WithStrictBuiltinErrors(true).WithTime(in.Time).WithCancel(limited.Cancel)
		if in.Document != nil {
			q = q.WithInput(in.Document)
		}
		if in.Runtime != nil {
			q = q.WithRuntime(in.Runtime)
		}
		r.err = q.Iter(ctx, func(qr topdown.QueryResult) error {
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
		return nil, fmt.Errorf("took longer than %d ms, or too much memory", p.within.Milliseconds())
	}
	return nil, shortened(got.err)
}
