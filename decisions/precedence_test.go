package decisions

import (
	"fmt"
	"os"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/testload"
)

// oracle answers by policy/testdata/precedence.rego.
type oracle struct {
	compiler *ast.Compiler
	query    ast.Body
	store    storage.Store
	txn      storage.Transaction
}

func newOracle(t *testing.T) *oracle {
	t.Helper()
	src, err := os.ReadFile("../policy/testdata/precedence.rego")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ast.CompileModules(map[string]string{"precedence.rego": string(src)})
	if err != nil {
		t.Fatal(err)
	}
	q, err := c.QueryCompiler().Compile(ast.MustParseBody("data.permd.oracle.answer = x"))
	if err != nil {
		t.Fatal(err)
	}
	store := inmem.New()
	txn, err := store.NewTransaction(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &oracle{c, q, store, txn}
}

func (o *oracle) answer(t *testing.T, in ast.Value) (row int, verdict Verdict) {
	t.Helper()
	rs, err := topdown.NewQuery(o.query).WithCompiler(o.compiler).WithStore(o.store).WithTransaction(o.txn).
		WithMetrics(metrics.NoOp()).WithStrictBuiltinErrors(true).WithInput(ast.NewTerm(in)).Run(t.Context())
	if err != nil || len(rs) != 1 {
		t.Fatalf("oracle: %v, %d results", err, len(rs))
	}
	a := rs[0]["x"].Value.(ast.Object)
	row, _ = a.Get(ast.InternedTerm("row")).Value.(ast.Number).Int()
	return row, Verdict(a.Get(ast.InternedTerm("verdict")).Value.(ast.String))
}

// situation is one combination of all inputs of the table.
type situation struct {
	kind                    effects.Kind
	cause                   effects.Cause
	guarded, claimed, hint  bool
	holdsRules              bool
	fence, person           bool
	trusted, onlyOrg        bool
	reject                  bool
	choice, run             string
	where                   string // the effect is: "" in the project, "elsewhere", or "tagged" as outside
	deny                    Layer  // the layer that denies, "" for none
	orgAsk, userAsk         string
	projectAsk, baseAsk     string
	orgAllow, userAllow     string
	projectAllow, baseAllow string
}

func (s *situation) fired() []Finding {
	var fired []Finding
	add := func(l Layer, set Set, how string) {
		if how == "" {
			return
		}
		f := Finding{Rule: RuleRef{ID: string(l) + "/" + string(set), Layer: l}, Set: set, Reason: how}
		switch how {
		case "remember":
			f.Remember = new(true)
		case "firm":
			f.Remember = new(false)
		case "general":
			f.General = true
		case "covers":
			f.Covers, f.CoversUnknown = effects.TagsOf(effects.Secret), true
		case "named":
			f.CoversOnlyNamed = true
		}
		fired = append(fired, f)
	}
	if s.deny != "" {
		add(s.deny, SetDeny, "plain")
	}
	add(Org, SetAsk, s.orgAsk)
	add(User, SetAsk, s.userAsk)
	add(Project, SetAsk, s.projectAsk)
	add(Base, SetAsk, s.baseAsk)
	add(Org, SetAllow, s.orgAllow)
	add(User, SetAllow, s.userAllow)
	add(Project, SetAllow, s.projectAllow)
	add(Base, SetAllow, s.baseAllow)
	return fired
}

func (s *situation) decide() effectResult { return precede(s.inputs()) }

// inputs returns what the table gets.
func (s *situation) inputs() (*effects.Effect, *effectInputs) {
	e := &effects.Effect{Kind: s.kind, Cause: s.cause, Claimed: s.claimed, Hint: s.hint}
	if s.where == "tagged" { // such as a further root of the session, or by another of its names
		e.Tags = e.Tags.With(effects.Outside)
	}
	switch s.kind {
	case effects.KindRun:
		e.Run = &effects.Run{Program: "x", Cwd: "/p/below", Folder: "/p/below"}
	case effects.KindRead:
		e.File = &effects.File{Path: "/p/below"}
	}
	if s.holdsRules {
		e.File = &effects.File{Path: "/p", Recursive: true, HoldsRules: true}
	}
	if s.guarded {
		e.Tags = e.Tags.With(effects.Secret)
	}
	v := &effectInputs{findings: Findings{Fired: s.fired(), OnlyOrg: s.onlyOrg}}
	v.elsewhere = s.where == "elsewhere" && (e.Run != nil || e.File != nil)
	if s.trusted {
		v.trusted = "/p"
	}
	if s.fence {
		v.fence = "fence"
	}
	if s.person {
		v.person = "person"
	}
	if s.reject {
		v.reject = &Choice{ID: "r"}
	}
	if s.choice != "none" {
		v.allow = &Choice{ID: "a", Exact: s.choice == "exact"}
	}
	switch s.run {
	case "allow": // by memory, or a rule of org, user or project
		v.run = &effectResult{verdict: Allow, row: RowAllow, by: ByPolicy, rules: []Finding{
			{Rule: RuleRef{ID: "project/allow", Layer: Project}, Set: SetAllow}, {Rule: RuleRef{ID: "user/allow", Layer: User}, Set: SetAllow},
		}}
	case "project":
		v.run = &effectResult{verdict: Allow, row: RowAllow, by: ByPolicy, rules: []Finding{{Rule: RuleRef{ID: "project/allow", Layer: Project}, Set: SetAllow}}}
	case "base":
		v.run = &effectResult{verdict: Allow, row: RowBase, by: ByPolicy}
	}
	return e, v
}

func (s *situation) input() ast.Value {
	fired := ast.NewArray()
	for _, f := range s.fired() {
		remember := "none"
		if f.Remember != nil {
			remember = fmt.Sprint(*f.Remember)
		}
		fired = fired.Append(ast.NewTerm(object(
			"layer", string(f.Rule.Layer), "set", string(f.Set), "remember", remember, "covers", f.CoversUnknown, "covers_named", f.CoversOnlyNamed, "general", f.General)))
	}
	choice, run := s.choice, s.run
	return object(
		"effect", object("kind", string(s.kind), "guarded", s.guarded, "holds_rules", s.holdsRules, "claimed", s.claimed, "hint", s.hint, "cause", string(s.cause), "outside", s.where == "tagged", "below_root", s.where != "elsewhere"),
		"fence", s.fence, "person", s.person, "trusted", s.trusted, "only_org", s.onlyOrg,
		"reject", s.reject, "choice", choice, "run", run, "fired", fired)
}

func object(pairs ...any) ast.Object {
	o := ast.NewObject()
	for i := 0; i < len(pairs); i += 2 {
		var v *ast.Term
		switch x := pairs[i+1].(type) {
		case string:
			v = ast.StringTerm(x)
		case bool:
			v = ast.BooleanTerm(x)
		case ast.Value:
			v = ast.NewTerm(x)
		default:
			panic(fmt.Sprintf("object: %T", x))
		}
		o.Insert(ast.StringTerm(pairs[i].(string)), v)
	}
	return o
}

var (
	kinds = []struct {
		kind    effects.Kind
		guarded bool
		cause   effects.Cause
	}{
		{effects.KindRead, false, ""}, {effects.KindRead, true, ""}, {effects.KindRun, false, ""}, {effects.KindUse, false, ""}, {effects.KindConnect, false, ""}, {effects.KindUnknown, false, ""},
		{effects.KindUnknown, false, effects.CauseNotPlain}, {effects.KindUnknown, false, effects.CauseOnlyNamed}, {effects.KindQuestion, false, ""}, {effects.KindMode, false, ""},
	}
)

// TestPrecedenceAgainstOracle compares the table with the same one in Rego, in three
// sweeps: all combinations of asks and allows of all layers with all that can widen
// or narrow them, everything that stops a call before these count, and all that a project
// may allow where no other layer above base does. Of the first sweep it takes a sample.
func TestPrecedenceAgainstOracle(t *testing.T) {
	o := newOracle(t)
	checked := 0
	check := func(s *situation) {
		checked++
		wantRow, want := o.answer(t, s.input())
		got := s.decide()
		if got.row != wantRow || got.verdict != want {
			t.Fatalf("got row %d %s, oracle row %d %s, for %+v", got.row, got.verdict, wantRow, want, *s)
		}
	}
	n := 160
	if testing.Short() {
		n = 601
	}
	drawn := testload.OneIn(t, n)
	for s := range mixtures(drawn) {
		check(s)
	}
	for s := range stops() {
		check(s)
	}
	for s := range projectsAlone() {
		check(s)
	}
	t.Logf("%d combinations", checked)
}

// mixtures yields those combinations that are drawn of all in which no deny, fence or reject
// stops the call, and no person is required.
func mixtures(drawn func() bool) func(func(*situation) bool) {
	return func(yield func(*situation) bool) {
		layers := func(s situation) bool {
			for _, s.orgAsk = range []string{"", "plain", "remember"} {
				for _, s.userAsk = range []string{"", "plain", "firm"} {
					for _, s.projectAsk = range []string{"", "firm"} {
						for _, s.orgAllow = range []string{"", "plain", "covers", "named"} {
							for _, s.userAllow = range []string{"", "plain", "covers", "named"} {
								for _, s.projectAllow = range []string{"", "covers", "named"} {
									for b := range 6 {
										s.baseAsk = []string{"", "plain", "general"}[b%3]
										s.baseAllow = []string{"", "plain"}[b/3]
										if !drawn() {
											continue
										}
										c := s
										if !yield(&c) {
											return false
										}
									}
								}
							}
						}
					}
				}
			}
			return true
		}
		for _, k := range kinds[:8] {
			for _, choice := range []string{"none", "plain", "exact"} {
				for _, run := range []string{"none", "allow", "project", "base"} {
					for b := range 8 {
						if run != "none" && b&1 != 0 {
							continue // an inherent effect is never a claim
						}
						s := situation{kind: k.kind, cause: k.cause, guarded: k.guarded, choice: choice, run: run}
						s.claimed, s.onlyOrg, s.trusted = b&1 != 0, b&2 != 0, b&4 != 0
						for _, s.where = range []string{"elsewhere", "tagged", ""} {
							if (s.where == "" || s.trusted) && !layers(s) {
								return
							}
						}
						if s.hint = s.claimed && run == "none"; s.hint && !layers(s) {
							return
						}
					}
				}
			}
		}
	}
}

// stops yields all combinations of what stops a call before allows count, with the
// strongest allows.
func stops() func(func(*situation) bool) {
	return func(yield func(*situation) bool) {
		for _, k := range kinds {
			for _, deny := range append([]Layer{""}, Layers...) {
				for b := range 64 {
					s := situation{kind: k.kind, cause: k.cause, guarded: k.guarded, deny: deny, choice: "none", run: "none"}
					s.fence, s.person, s.reject = b&1 != 0, b&2 != 0, b&4 != 0
					s.onlyOrg = b&8 != 0
					if b&16 != 0 {
						s.choice, s.orgAllow, s.userAllow, s.baseAllow = "exact", "named", "covers", "plain"
					}
					if b&32 != 0 {
						s.orgAsk, s.userAsk, s.baseAsk = "plain", "firm", "plain"
					}
					if !yield(&s) {
						return
					}
					if s.claimed, s.hint = true, true; !yield(&s) {
						return
					}
					if s.kind != effects.KindRead {
						continue
					}
					s.kind, s.holdsRules = effects.KindWrite, true
					if !yield(&s) {
						return
					}
					if s.claimed, s.hint = false, false; !yield(&s) {
						return
					}
				}
			}
		}
	}
}

// projectsAlone yields all combinations of what a project allows with all that bounds it, where
// neither org nor the person nor memory says anything.
func projectsAlone() func(func(*situation) bool) {
	return func(yield func(*situation) bool) {
		for _, k := range kinds {
			for _, where := range []string{"", "elsewhere", "tagged"} {
				for _, run := range []string{"none", "allow", "project", "base"} {
					for b := range 128 {
						s := situation{kind: k.kind, cause: k.cause, guarded: k.guarded, choice: "none", run: run, where: where}
						s.claimed, s.onlyOrg, s.trusted, s.hint = b&1 != 0, b&2 != 0, b&4 != 0, b&8 != 0 && run == "none"
						s.projectAsk, s.baseAllow = []string{"", "plain"}[b>>4&1], []string{"", "plain"}[b>>5&1]
						s.projectAllow = []string{"", "covers"}[b>>6]
						for _, s.baseAsk = range []string{"", "plain", "general"} {
							if c := s; !yield(&c) {
								return
							}
						}
					}
				}
			}
		}
	}
}
