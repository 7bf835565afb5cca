package rules

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
)

// TestOrderOfReasons: of the rules of a layer that fire, the first is the one whose reason
// says most; all are there.
func TestOrderOfReasons(t *testing.T) {
	c, ps := Compile(unitOf(decisions.User, map[string]string{
		"a.rego": `
# METADATA
# custom: {id: any, general: true}
ask contains "anything" if input.effect.kind == "run"
# METADATA
# custom: {id: push}
ask contains "a push" if {
	input.effect.kind == "run"
	input.effect.subcommand == "push"
}
`,
		"rules.yaml": `
ask:
  run:
    - git *
    - git push origin main
    - {match: "git push *", reason: release week, message: leave it to me}
    - git push *
`,
	}), testSchema(t))
	if ps.Failed() {
		t.Fatal(ps.Errors())
	}
	in := inputOf(run("git", "push", "origin", "main"))
	got, err := snapshotOf(c).Evaluate(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, f := range got.Fired {
		reasons = append(reasons, f.Reason)
	}
	want := []string{
		"release week", "a push", "listed under ask run: git push origin main", "listed under ask run: git push *",
		"listed under ask run: git *", "anything",
	}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if first, last := got.Fired[0], got.Fired[5]; first.Message != "leave it to me" || first.General || !last.General {
		t.Errorf("%+v … %+v", first, last)
	}
}
