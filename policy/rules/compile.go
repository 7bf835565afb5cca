package rules

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown/cache"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/policy/builtins"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/list"
	"github.com/permd/permd/policy/projection"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/policy/termsize"
	"github.com/permd/permd/policy/weight"
)

// maxResidual is how many rules that the index cannot exclude a kind may have
// before Check warns: each costs about a microsecond per effect.
const maxResidual = 16

// Unit is the input of compiling one layer.
type Unit struct {
	Layer   decisions.Layer
	Files   []source.File
	Disable []string // ids of rules to drop
	// ListsOnly drops everything except the deny and ask entries of lists: an
	// untrusted project may add restrictions, but not messages of its own.
	ListsOnly bool
	// Trusted is the name of the list of a trusted project: of its allow entries those count
	// that a project may have. "" for none.
	Trusted string
	// Table resolves the options in denies and asks of lists, nil if none are
	// resolved.
	Table *programs.Table
	// Profiles are those of the layers above, nil if profiles of the layer are not read.
	Profiles *tools.Profiles
	// Tried is set for rules that decide nothing, which may take less memory.
	Tried bool
}

func (u *Unit) estimate() *weight.Estimate {
	if u.Tried {
		return weight.Tried()
	}
	return weight.Of(u.Layer)
}

// Layer is a layer that is ready to be evaluated. It is immutable, but for
// stuck.
type Layer struct {
	// stuck is how many evaluations could not be ended and were left behind. As long as
	// there are any the layer is not evaluated, so that they do not become more.
	// It is nil for a layer without rules.
	stuck *atomic.Int64
	// apart is stuck of what Apart returns, and inUse that of the layer which it was called on,
	// nil otherwise.
	apart, inUse *atomic.Int64
	// mayHang is set for rules in Rego that permd does not ship: what lists become, and
	// the base layer, have no step that takes long.
	mayHang bool

	Name     decisions.Layer
	rules    []*rule
	compiler *ast.Compiler // nil when there are no rules
	queries  ast.QueryCompiler
	query    ast.Body
	depth    termsize.Depth
	index    ast.RuleIndex // index of the rules, nil if OPA made none
	// candidates are the rules that can be evaluated alone.
	candidates map[*ast.Rule]candidate
	store      storage.Store
	txn        storage.Transaction // never closed: the store is never written
	values     cache.InterQueryValueCache
	needs      input.Parts
	understood *projection.Layer
	mayFire    [numKinds]bool // kinds for which a rule may fire
	Warnings   []diag.Problem
	Table      *programs.Table      // org only: the program table with org's additions, nil if none
	Overlay    *programs.Overlay    // user only: its program descriptions, nil if none
	Programs   []ProgramInfo        // the programs that it describes
	Profiles   *tools.LayerProfiles // org and user: its profiles of agents, nil if it has none
	Agents     []AgentInfo          // the agents that it describes
	tests      *moduleSet           // the parsed modules, if there are tests; nil once they have run
	Weight     int64                // what it takes by estimate, in bytes
	lists      []listEntry          // its list entries, for explanations
}

// endless reports whether an evaluation of the layer could not be ended, and has not ended.
func (l *Layer) endless() bool {
	return l.stuck != nil && l.stuck.Load() > 0 || l.inUse != nil && l.inUse.Load() > 0
}

// Apart returns a copy of the layer for evaluations in the background: one that does not end turns
// off all copies of l, and not l. They are off while l is.
func (l *Layer) Apart() *Layer {
	c := *l
	c.stuck, c.inUse = l.apart, l.stuck
	return &c
}

// moduleSet holds the modules of a layer, before compiling.
type moduleSet struct {
	policy map[string]*ast.Module // by file name
	tests  map[string]*ast.Module
	rel    map[string]string // file name -> name within the layer
	weight *weight.Estimate
}

// Compile checks and compiles a layer. The compiled layer is nil if there is an
// error among the problems. OPA's compiler has panicked on odd rules before;
// that is reported as a problem of the layer and does not stop the daemon.
func Compile(u Unit, schema *input.Schema) (c *Layer, ps diag.List) {
	_, err := recoverPanic(func() bool {
		c, ps = compileUnsafe(u, schema)
		return true
	})
	if err != nil {
		ps.Errorf(diag.Place{}, "", "compiling the %s layer: %v", u.Layer, err)
		c = nil
	}
	return c, ps
}

func compileUnsafe(u Unit, schema *input.Schema) (*Layer, diag.List) {
	var ps diag.List
	out := &Layer{Name: u.Layer, mayHang: u.mayHang(), stuck: new(atomic.Int64), apart: new(atomic.Int64)}
	u.Programs(out, &ps)
	u.profiles(out, &ps)
	mods := parse(u, &ps)
	rules := collect(u, mods, &ps)
	if ps.Failed() {
		return nil, ps
	}
	out.rules, out.lists, out.Weight = rules, listEntries(u), mods.weight.Bytes
	rankRules(rules, out.lists)
	if len(mods.tests) > 0 {
		out.tests = mods
	}
	if len(rules) == 0 && len(mods.policy) == 0 {
		out.Warnings = ps.Warnings()
		return out, ps
	}
	// The sets themselves are compiled only if something refers to them (see
	// rewrite.go). That is known for certain only after compiling, when all
	// references are resolved.
	c := compileModules(u.Layer, mods.policy, rules, false, schema, &ps)
	if !ps.Failed() && refersToSets(u.Layer, c) {
		c = compileModules(u.Layer, mods.policy, rules, true, schema, &diag.List{})
		if c.Failed() {
			addOPA(&ps, c.Errors)
		}
	}
	if !ps.Failed() {
		validateCompiled(c, &ps)
	}
	if ps.Failed() || len(rules) == 0 {
		out.Warnings = ps.Warnings()
		if ps.Failed() {
			return nil, ps
		}
		return out, ps
	}
	out.compiler, out.depth = c, termsize.DepthOf(c, out.mayHang)
	if err := out.prepare(); err != nil {
		ps.Errorf(diag.Place{}, "", "preparing the query: %v", err)
		return nil, ps
	}
	out.needs = input.PartsOf(c)
	out.understood = projection.NewLayer(c, c.GetRulesExact(firedRef(u.Layer)), out.needs)
	probe(out, schema, &ps)
	out.Warnings = ps.Warnings()
	return out, ps
}

// mayHang reports whether the layer has rules in Rego that permd does not ship.
func (u *Unit) mayHang() bool {
	return u.Layer != decisions.Base && !u.ListsOnly && slices.ContainsFunc(u.Files, func(f source.File) bool {
		return !f.IsList() && !f.IsPrograms() && !f.IsProfiles() && !f.IsTest() && !f.IsCalls()
	})
}

// prepare sets up the state that evaluations share.
func (l *Layer) prepare() error {
	l.queries = l.compiler.QueryCompiler()
	result := ast.Equality.Expr(ast.VarTerm(resultVar), ast.NewTerm(firedRef(l.Name)))
	query, err := l.queries.Compile(ast.NewBody(result))
	if err != nil {
		return err
	}
	l.query = query
	l.index = l.compiler.RuleIndex(firedRef(l.Name))
	l.findCandidates()
	l.store = inmem.New()
	if l.txn, err = l.store.NewTransaction(context.Background()); err != nil {
		return err
	}
	// Without a bound this cache grows for ever, and OPA's own cache of 100
	// patterns makes a policy with more of them many times slower.
	config, err := cache.ParseCachingConfig([]byte(`{"inter_query_builtin_value_cache": {"max_num_entries": 4096}}`))
	if err != nil {
		return err
	}
	l.values = builtins.NewCache(cache.NewInterQueryValueCache(context.Background(), config))
	return nil
}

// parse reads all files of a layer and checks their packages.
func parse(u Unit, ps *diag.List) *moduleSet {
	out := &moduleSet{policy: map[string]*ast.Module{}, tests: map[string]*ast.Module{}, rel: map[string]string{}, weight: u.estimate()}
	policyOpts, testOpts := builtins.ParserOptions(builtins.Capabilities(false)), builtins.ParserOptions(builtins.Capabilities(true))
	for _, f := range u.Files {
		if f.IsPrograms() || f.IsProfiles() || f.IsCalls() {
			continue
		}
		out.rel[f.Name] = lexpath.Shorten(string(u.Layer), f.Rel)
		if !out.weight.AddText(&f, ps) {
			return out
		}
		if f.IsList() {
			m, err := u.listModule(&f)
			if err != nil {
				AddListProblems(f, err, ps)
				continue
			}
			out.policy[f.Name] = m
			if !out.weight.AddModule(f.Name, m, ps) {
				return out
			}
			continue
		}
		if u.ListsOnly {
			continue
		}
		if f.IsBlank() {
			continue // a file without rules is fine
		}
		opts := policyOpts
		if f.IsTest() {
			opts = testOpts
		}
		m, err := ast.ParseModuleWithOpts(f.Name, string(f.Data), opts)
		if err != nil {
			addOPA(ps, err)
			continue
		}
		if !out.weight.AddModule(f.Name, m, ps) {
			return out
		}
		if !inPackage(u.Layer, m, f.IsTest()) {
			ps.Errorf(locationPlace(m.Package.Location), fmt.Sprintf("write: package permd.%s", u.Layer),
				"rules of the %s layer must be in package permd.%s or below it, not in %s",
				u.Layer, u.Layer, strings.TrimPrefix(m.Package.Path.String(), "data."))
			continue
		}
		if f.IsTest() {
			out.tests[f.Name] = m
			continue
		}
		out.policy[f.Name] = m
		adviseNegation(m, ps)
	}
	return out
}

func (u *Unit) listModule(f *source.File) (*ast.Module, error) {
	if u.trusts(f.Name) {
		return list.CompileTrusted(string(u.Layer), f.Name, f.Data, u.Table)
	}
	return list.Compile(string(u.Layer), f.Name, f.Data, u.ListsOnly, u.Table)
}

// trusts reports whether the file is the list of a trusted project.
func (u *Unit) trusts(file string) bool { return u.Trusted != "" && u.Trusted == file }

// AddListProblems adds the problems of a file that package list reads.
func AddListProblems(f source.File, err error, ps *diag.List) {
	errs := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		errs = joined.Unwrap()
	}
	for _, err := range errs {
		if le, ok := errors.AsType[*list.Error](err); ok {
			ps.Append(diag.Problem{File: f.Name, Line: le.Line, Severity: diag.SeverityError, Text: le.Err.Error(), Hint: le.Hint()})
			continue
		}
		ps.FileErrorf(f.Name, "", "%v", err)
	}
}

func layerRef(layer decisions.Layer) ast.Ref {
	return ast.Ref{ast.DefaultRootDocument, ast.StringTerm("permd"), ast.StringTerm(string(layer))}
}

// inPackage reports whether a module is in its layer's package or below it.
// Tests may also follow OPA's convention of a package of the same name with
// _test.
func inPackage(layer decisions.Layer, m *ast.Module, test bool) bool {
	want := layerRef(layer)
	if m.Package.Path.HasPrefix(want) {
		return true
	}
	want[2] = ast.StringTerm(string(layer) + "_test")
	return test && m.Package.Path.HasPrefix(want)
}

// compileModules compiles a layer's policy for evaluation.
func compileModules(layer decisions.Layer, policy map[string]*ast.Module, rules []*rule, keepSets bool,
	schema *input.Schema, ps *diag.List) *ast.Compiler {
	modules := rewrite(layer, policy, rules, keepSets)
	c := newCompiler(schema, builtins.Capabilities(false))
	var problems diag.List
	// After this stage all references are resolved, whatever was imported or
	// renamed, and are still where they were written.
	c.WithStageAfterID(ast.StageRemoveImports, ast.CompilerStageDefinition{
		Name: "PermdValidate", MetricName: "permd_validate",
		Stage: func(c *ast.Compiler) *ast.Error {
			validateResolved(c, schema, &problems)
			return nil
		},
	})
	c.Compile(modules)
	*ps = append(*ps, problems...)
	if c.Failed() {
		addOPA(ps, c.Errors)
	}
	return c
}

func newCompiler(schema *input.Schema, caps *ast.Capabilities) *ast.Compiler {
	c := termsize.Checked(ast.NewCompiler().
		WithCapabilities(caps).
		WithStrict(true).
		WithDefaultRegoVersion(ast.RegoV1))
	if schema != nil {
		set := ast.NewSchemaSet()
		set.Put(ast.SchemaRootRef, schema.Raw)
		c = c.WithSchemas(set)
	}
	return c
}

// sortedNames returns the names of modules in a fixed order.
func sortedNames(mods map[string]*ast.Module) []string { return slices.Sorted(maps.Keys(mods)) }
