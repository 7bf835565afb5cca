package list

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// TestAgreesOnNamedOptions is like TestAgreesWithMatcher, for lines that name
// options, which that test rarely draws.
func TestAgreesOnNamedOptions(t *testing.T) {
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`prog( (a|-a|/a)){0,2} \*( (-a|--b|-b x|--b=1|-a -5|-b '')){1,3}`).Draw(t, "line")
		set := rapid.SampledFrom([]decisions.Set{decisions.SetAllow, decisions.SetAllow, decisions.SetAsk}).Draw(t, "set")
		p, err := pattern.Parse(effects.KindRun, line)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Compile("user", "rules.yaml", fmt.Appendf(nil, "%s:\n  run:\n    - '%s'\n", set, strings.ReplaceAll(line, "'", "''")), false, nil)
		if err != nil {
			t.Fatal(err)
		}
		if set != decisions.SetAllow {
			p = p.Resolved(nil)
		}
		for range 6 {
			e := effects.Effect{Kind: effects.KindRun, Run: drawRun(t, p.Run)}
			want := says(p, set, &e, []effects.Effect{e})
			if want.Fired {
				matched++
			}
			if diff := gocmp.Diff(want, evaluate(t, m, set, listInput(&e, []effects.Effect{e}))); diff != "" {
				t.Fatalf("%s: %s on %+v (-matcher +Rego):\n%s\n%s", set, line, *e.Run, diff, m)
			}
		}
	})
	if matched < 5 {
		t.Errorf("only %d lines fired", matched)
	}
}
