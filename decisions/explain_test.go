package decisions

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// deliberate decides a command and returns the inputs of the decision.
func deliberate(t *testing.T, e *Engine, command string) (*Decision, *Deliberation) {
	t.Helper()
	var seen *Deliberation
	e.observe = func(d *Deliberation) { seen = d }
	got := e.Decide(t.Context(), bash(t, command))
	if seen == nil || seen.ID != got[0].ID || seen.Len() != len(got[0].Effects) {
		t.Fatalf("observed %+v of %+v", seen, got[0])
	}
	return got[0], seen
}

func lines(t *testing.T, kind effects.Kind, text ...string) (list []*pattern.Pattern) {
	t.Helper()
	for _, s := range text {
		p, err := pattern.Parse(kind, s)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// TestWith: one more line goes through the table, as a rule and as a remembered
// choice.
func TestWith(t *testing.T) {
	ask, firm := finding(User, SetAsk), finding(User, SetAsk)
	no := false
	firm.Remember = &no
	tests := []struct {
		name           string
		fired          []Finding
		onlyOrg        bool
		kind           effects.Kind
		line           string
		rule, choice   Verdict
		ruleAt, chosen int // rows
	}{
		{name: "nothing spoke", kind: "run", line: "frob x", rule: Allow, ruleAt: RowAllow, choice: Allow, chosen: RowRemembered},
		{name: "another line", kind: "run", line: "frob y", rule: Ask, ruleAt: RowDefault, choice: Ask, chosen: RowDefault},
		{name: "asked", fired: []Finding{ask}, kind: "run", line: "frob x", rule: Ask, ruleAt: RowAsk, choice: Allow, chosen: RowRemembered},
		{name: "asked each time", fired: []Finding{firm}, kind: "run", line: "frob x", rule: Ask, ruleAt: RowFirmAsk, choice: Ask, chosen: RowFirmAsk},
		{name: "denied", fired: []Finding{finding(Base, SetDeny)}, kind: "run", line: "frob x", rule: Deny, ruleAt: RowDeny, choice: Deny, chosen: RowDeny},
		{name: "org asks", fired: []Finding{finding(Org, SetAsk)}, kind: "run", line: "frob x", rule: Ask, ruleAt: RowOrgAsk, choice: Ask, chosen: RowOrgAsk},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _, _, e := newFakes(t)
			p.fired = tt.fired
			before, d := deliberate(t, e, "frob x")
			if with := d.With(nil, AsRule)[0]; with.Verdict != before.Effects[0].Verdict || with.Row != before.Effects[0].Row {
				t.Errorf("without a line it is %s in row %d, decided was %+v", with.Verdict, with.Row, before.Effects[0])
			}
			list := lines(t, tt.kind, tt.line)
			if got := d.With(list, AsRule)[0]; got.Verdict != tt.rule || got.Row != tt.ruleAt {
				t.Errorf("as a rule: %s in row %d, want %s in row %d", got.Verdict, got.Row, tt.rule, tt.ruleAt)
			}
			if got := d.With(list, AsChoice)[0]; got.Verdict != tt.choice || got.Row != tt.chosen {
				t.Errorf("as a choice: %s in row %d, want %s in row %d", got.Verdict, got.Row, tt.choice, tt.chosen)
			}
			if said := d.Result(0); said.Verdict != before.Verdict || len(d.Fired(0)) != len(tt.fired) {
				t.Errorf("trying changed what was decided: %+v, fired %v", said, d.Fired(0))
			}
		})
	}
}

// A guarded effect is allowed only by its exact path; what a word means, by a line
// of a rule but not by a remembered one.
func TestWithPaths(t *testing.T) {
	p, _, _, e := newFakes(t)
	p.fired = nil
	_, d := deliberate(t, e, "cat ./.env")
	read := -1
	for i := range d.Len() {
		if d.Effect(i).Kind == effects.KindRead {
			read = i
		}
	}
	if read < 0 {
		t.Fatalf("effects %+v", d.Effects())
	}
	for _, tt := range []struct {
		kind effects.Kind
		line string
		as   LineKind
		want Verdict
	}{
		{"read", "./.env", AsRule, Allow}, {"read", "./.env", AsChoice, Allow},
		{"read", "./**", AsRule, Ask}, {"read", "./**", AsChoice, Ask},
		{"run", "cat ./.env", AsRule, Ask}, {"run", "cat ./.env", AsChoice, Ask},
	} {
		if got := d.With(lines(t, tt.kind, tt.line), tt.as)[read]; got.Verdict != tt.want {
			t.Errorf("%s %s (voice %d): %s (%s), want %s", tt.kind, tt.line, tt.as, got.Verdict, got.Reason, tt.want)
		}
	}
	_, d = deliberate(t, e, "touch docs/a")
	wrote := d.Len() - 1
	for i := range d.Len() {
		if d.Effect(i).Kind == effects.KindWrite {
			wrote = i
		}
	}
	if got := d.With(lines(t, "run", "touch docs/a"), AsRule)[wrote]; got.Verdict != Allow {
		t.Errorf("the words of a rule's line: %+v", got)
	}
	if got := d.With(lines(t, "run", "touch docs/a"), AsChoice)[wrote]; got.Verdict == Allow {
		t.Errorf("the words of a remembered line: %+v", got)
	}
}

// A line does not change a decision that failed.
func TestWithFailure(t *testing.T) {
	p, _, _, e := newFakes(t)
	p.fired, p.err = nil, errors.New("broken")
	_, d := deliberate(t, e, "frob x")
	if got := d.With(lines(t, "run", "frob x"), AsRule)[0]; got.Verdict != Ask || got.Row != RowFailure {
		t.Errorf("got %+v", got)
	}
}

// Slim drops only what may be whole files.
func TestSlim(t *testing.T) {
	_, _, _, e := newFakes(t)
	_, d := deliberate(t, e, "frob x")
	if d.Input(0).Call.Input == nil {
		t.Fatal("the raw input is not there to begin with")
	}
	call := d.Input(0).Call
	d.Slim()
	if d.Input(0).Call.Input != nil {
		t.Error("the raw input is still there")
	}
	if call.Input == nil || d.Input(0).Call.Cwd != call.Cwd || d.Input(0).Effect != d.Effect(0) || d.Size() <= 0 {
		t.Errorf("too much has gone: %+v", d.Input(0))
	}
}

// TestSlimDropsWhatOnlyDenies: effects that only deny are as long as the words of a call,
// and no rule sees them.
func TestSlimDropsWhatOnlyDenies(t *testing.T) {
	_, _, _, e := newFakes(t)
	long := strings.Repeat("x", 40_000)
	_, d := deliberate(t, e, "frob '"+long+"'")
	whole, want := d.Size(), d.Input(0).Result
	if rest := effects.SizeOf(want.Rest); rest < len(long) || whole < len(d.Input(0).Call.Input)+rest {
		t.Errorf("%d bytes are counted, with %d of effects that only deny", whole, rest)
	}
	d.Slim()
	got := d.Input(0).Result
	if left := whole - d.Size(); got.Rest != nil || left < 2*len(long) {
		t.Errorf("%d effects that only deny are still there, %d bytes were dropped", len(got.Rest), left)
	}
	want = &effects.Result{Effects: want.Effects, Defects: want.Defects, Completeness: want.Completeness, Missing: want.Missing, Project: want.Project}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what rules see (-before +after):\n%s", diff)
	}
}

// TestReasons: if several effects are allowed, each reason is given once.
func TestReasons(t *testing.T) {
	for _, tt := range []struct {
		reasons []string
		want    string
	}{
		{[]string{"a"}, "a"}, {[]string{"a", "a"}, "a"}, {[]string{"a", "b", "a"}, "a; b"},
		{[]string{"a", "b", "c"}, "a; b; c"}, {[]string{"a", "b", "c", "d"}, "a; b; c; and more"},
	} {
		var results []effectResult
		for _, r := range tt.reasons {
			results = append(results, effectResult{verdict: Allow, reason: r})
		}
		var d Decision
		d.conclude(make([]effects.Effect, len(results)), results)
		if d.Reason != tt.want || d.Verdict != Allow {
			t.Errorf("%v: %q, want %q", tt.reasons, d.Reason, tt.want)
		}
	}
}
