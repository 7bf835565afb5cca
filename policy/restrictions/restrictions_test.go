package restrictions

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/policy/input/inputtest"
)

// whole are restrictions of every kind.
func whole() Restrictions {
	return Restrictions{
		RequireLayers: []decisions.Layer{decisions.User}, NoRemember: true, RememberAtMost: 48 * time.Hour, ForbidModes: []string{"yolo"},
		DenyUnknownPrograms: true, DenyUnknownServers: true, Revoked: []Revocation{{ID: "a"}}, Lock: "incident",
	}
}

// TestStricter: what is added holds, what is left out still does and is named.
func TestStricter(t *testing.T) {
	for key, weaken := range map[string]func(r *Restrictions){
		"require_layers": func(r *Restrictions) { r.RequireLayers = nil }, "remember": func(r *Restrictions) { r.NoRemember = false },
		"remember_at_most": func(r *Restrictions) { r.RememberAtMost = 72 * time.Hour }, "forbid_modes": func(r *Restrictions) { r.ForbidModes = []string{"other"} },
		"unknown_programs": func(r *Restrictions) { r.DenyUnknownPrograms = false }, "unknown_servers": func(r *Restrictions) { r.DenyUnknownServers = false },
		"revoke": func(r *Restrictions) { r.Revoked = []Revocation{{ID: "b"}} }, "lock": func(r *Restrictions) { r.Lock = "" },
	} {
		inForce, read := whole(), whole()
		weaken(&read)
		use, milder := inForce.Stricter(&read)
		if milder != key {
			t.Errorf("%s: %q is milder", key, milder)
		}
		if again, milder := use.Stricter(&inForce); key != "forbid_modes" && key != "revoke" && (milder != "" || cmp.Diff(inForce, again) != "") {
			t.Errorf("%s: what is in force is %+v", key, use)
		}
	}
	none, all := Restrictions{}, whole()
	if use, milder := none.Stricter(&all); milder != "" || cmp.Diff(all, use) != "" {
		t.Errorf("added: %+v, %q is milder", use, milder)
	}
	if none.Text() != "" || none.Sentences() != nil || len(all.Sentences()) != 8 {
		t.Errorf("none are %q %q, all %q", none.Text(), none.Sentences(), all.Sentences())
	}
}

// TestDenies has the effects that are denied, and those that are not.
func TestDenies(t *testing.T) {
	r := whole()
	unknownProgram, unnamed := inputtest.Run("frob"), inputtest.Why(effects.KindUnknown, "odd")
	unknownProgram.Run.Known = false
	overlay := inputtest.Run("frob")
	overlay.Run.WithoutOverlay = unknownProgram.Run
	undescribed, variable := inputtest.Run("npx", "frob"), inputtest.Why(effects.KindState, "PAGER=frob")
	undescribed.Undescribed, variable.Undescribed = true, true
	unanswered := unnamed
	unanswered.Cause = effects.CauseUnanswered
	guess := unknownProgram
	guess.Guessed = true
	own := inputtest.Use("", "web", "{}")
	own.Use.Own = true
	allow := func(l decisions.Layer) decisions.Finding {
		return decisions.Finding{Rule: decisions.RuleRef{Layer: l}, Set: decisions.SetAllow}
	}
	covering := allow(decisions.Org)
	covering.CoversUnknown = true
	for name, tt := range map[string]struct {
		e     effects.Effect
		fired []decisions.Finding
		mode  string
		input string
		want  string
	}{
		"a known program":                    {e: inputtest.Run("ls")},
		"an unknown one":                     {e: unknownProgram, want: idPrograms},
		"one that org allows":                {e: unknownProgram, fired: []decisions.Finding{allow(decisions.Org)}},
		"one that the user allows":           {e: unknownProgram, fired: []decisions.Finding{allow(decisions.User)}, want: idPrograms},
		"one that the user describes":        {e: overlay, want: idPrograms},
		"a guess":                            {e: guess},
		"a known one that runs another":      {e: undescribed, want: idPrograms},
		"the same, if org allows it":         {e: undescribed, fired: []decisions.Finding{allow(decisions.Org)}},
		"a variable that names a program":    {e: variable, want: idPrograms},
		"one that org lets set":              {e: variable, fired: []decisions.Finding{allow(decisions.Org)}},
		"another state":                      {e: inputtest.Why(effects.KindState, "A=b")},
		"what is not understood":             {e: unnamed, want: idPrograms},
		"the same, allowed":                  {e: unnamed, fired: []decisions.Finding{allow(decisions.Org)}, want: idPrograms},
		"the same, covered":                  {e: unnamed, fired: []decisions.Finding{covering}},
		"a file system that does not answer": {e: unanswered},
		"a server":                           {e: inputtest.Use("s", "t", "{}"), want: idServers},
		"one that org allows, too":           {e: inputtest.Use("s", "t", "{}"), fired: []decisions.Finding{allow(decisions.Org)}},
		"the agent's own tool":               {e: own},
		"a forbidden mode":                   {e: inputtest.File(effects.KindRead, "/a"), mode: "yolo", want: idModes},
		"another mode":                       {e: inputtest.File(effects.KindRead, "/a"), mode: "yolo2"},
		"a switch to it":                     {e: inputtest.Why(effects.KindMode, "m"), input: `{"a":[{"modeId":"Yolo"}]}`, want: idModes},
		"a switch from it":                   {e: inputtest.Why(effects.KindMode, "m"), mode: "yolo", input: `{"modeId":"default"}`},
	} {
		in := inputtest.Of(tt.e)
		in.Session.Mode = tt.mode
		if tt.input != "" {
			in.Call.Input = []byte(tt.input)
		}
		got := ""
		for _, f := range r.With(in, tt.fired) {
			if f.Set == decisions.SetDeny {
				got += f.Rule.ID
				if f.Rule.Layer != decisions.Org || !strings.HasPrefix(f.Reason, "the organisation forbids ") {
					t.Errorf("%s: %+v", name, f)
				}
			}
		}
		if got != tt.want {
			t.Errorf("%s: denied by %q, want %q", name, got, tt.want)
		}
	}
}

// TestRefusesAhead checks that an allow dated in the future does not apply if remember_at_most or
// a revocation depends on its date, and applies otherwise.
func TestRefusesAhead(t *testing.T) {
	now := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
	limited := (&Restrictions{RememberAtMost: 24 * time.Hour}).Compile(nil, nil)
	other := (&Restrictions{Revoked: []Revocation{{ID: "z"}}}).Compile(nil, nil)
	for name, tt := range map[string]struct {
		c    Choice
		want bool
	}{
		"now":              {Choice{Made: now}, false},
		"seconds ahead":    {Choice{Made: now.Add(maxAhead)}, false},
		"a year ahead":     {Choice{Made: now.AddDate(1, 0, 0)}, true},
		"confirmed so":     {Choice{Made: now, Confirmed: now.AddDate(1, 0, 0)}, true},
		"older than a day": {Choice{Made: now.Add(-24 * time.Hour)}, true},
	} {
		if got := limited.Refuses(&tt.c, nil, now); (got != "") != tt.want {
			t.Errorf("%s: %q", name, got)
		}
		if got := other.Refuses(&tt.c, nil, now); got != "" {
			t.Errorf("%s, where the age does not count: %q", name, got)
		}
	}
	before := (&Restrictions{Revoked: []Revocation{{Before: now.AddDate(0, -1, 0)}}}).Compile(nil, nil)
	for made, want := range map[time.Time]string{now.AddDate(1, 0, 0): revoked, now: "", now.AddDate(0, -2, 0): revoked} {
		if got := before.Refuses(&Choice{Made: made}, nil, now); got != want {
			t.Errorf("made at %v: %q, want %q", made, got, want)
		}
	}
}

// TestRefuses has revocations by each of their members.
func TestRefuses(t *testing.T) {
	now := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
	c := Choice{ID: "a", UID: 7, Kind: effects.KindRun, Made: now.Add(-time.Hour)}
	in := inputtest.Of(inputtest.Run("git", "push", "origin"))
	q := &decisions.MemoryQuery{UID: 7, Effect: in.Effect, All: in.All, Call: in.Call, Now: now}
	names := map[uint32]string{7: "ana"}
	for name, tt := range map[string]struct {
		v    Revocation
		want bool
	}{
		"id":             {Revocation{ID: "a"}, true},
		"another id":     {Revocation{ID: "b"}, false},
		"uid":            {Revocation{User: "7"}, true},
		"another uid":    {Revocation{User: "8"}, false},
		"name":           {Revocation{User: "ana"}, true},
		"another name":   {Revocation{User: "ben"}, false},
		"line":           {Revocation{Kind: effects.KindRun, Pattern: "git push *"}, true},
		"another line":   {Revocation{Kind: effects.KindRun, Pattern: "git pull *"}, false},
		"kind":           {Revocation{Kind: effects.KindRun}, true},
		"another kind":   {Revocation{Kind: effects.KindRead}, false},
		"before":         {Revocation{Before: now}, true},
		"before it":      {Revocation{Before: c.Made}, false},
		"both":           {Revocation{ID: "a", User: "ana"}, true},
		"one of the two": {Revocation{ID: "a", User: "ben"}, false},
	} {
		r := Restrictions{Revoked: []Revocation{tt.v}}
		got := r.Compile(nil, func(uid uint32) string { return names[uid] }).Refuses(&c, q, now)
		if (got != "") != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	r := Restrictions{Revoked: []Revocation{{User: "ben"}}}
	if got := r.Compile(nil, func(uint32) string { return "" }).Refuses(&c, q, now); got == "" {
		t.Error("a user whose name is not known is not revoked")
	}
	line, err := pattern.Parse(effects.KindRun, "git push origin")
	if err != nil {
		t.Fatal(err)
	}
	r = Restrictions{Revoked: []Revocation{{Kind: effects.KindRun, Pattern: "git push *"}}}
	of := r.Compile(nil, nil)
	if of.Refuses(&c, nil, now) != "" || of.RefusesWhole(&c, line, now) == "" {
		t.Error("which choices a line covers as a whole")
	}
}
