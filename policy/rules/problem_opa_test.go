package rules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/diag"
)

// hintFields is the end of every error about a field of the input.
const hintFields = "the fields of input are listed in docs/policy.md and rego/input.schema.json"

// OPA's long messages are reported in few words, and the likely intention is
// the hint.
func TestOPAProblems(t *testing.T) {
	tests := []struct{ name, rule, text, hint string }{
		{"misspelt field", `deny contains "x" if input.effect.progam == "git"`,
			"undefined ref: input.effect.progam", "did you mean input.effect.program?; " + hintFields},
		{"nearest of several", `deny contains "x" if input.effect.patH == "/x"`,
			"undefined ref: input.effect.patH", "did you mean input.effect.path?; " + hintFields},
		{"nothing like it among many", `deny contains "x" if input.effect.nonsense`,
			"undefined ref: input.effect.nonsense", hintFields},
		{"nothing like it among few", `deny contains "x" if input.nonsense`,
			"undefined ref: input.nonsense", "input has call, effect, now, project, recent, session, user; " + hintFields},
		{"in an object of its own", `deny contains "x" if {"one": 1, "two": 2}.three == 1`,
			`undefined ref: {"one": 1, "two": 2}.three`, `{"one": 1, "two": 2} has one, two`},
		{"member of a text", `deny contains "x" if input.effect.program.name == "git"`,
			"undefined ref: input.effect.program.name: input.effect.program is neither an object nor a list", hintFields},
		{"wrong argument", `deny contains "x" if startswith(input.effect.args, "git")`,
			"startswith: invalid argument(s); have: (array[string], string); want: (search: string, base: string, result: boolean)", ""},
		{"not Rego", `deny: everything`, "unexpected : token; deny: everything", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, ps := Compile(unitOf(decisions.User, map[string]string{"a.rego": tt.rule}), testSchema(t))
			want := []diag.Problem{{File: "/p/a.rego", Line: 3, Severity: diag.SeverityError, Text: tt.text, Hint: tt.hint}}
			if diff := cmp.Diff(want, ps.Errors()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProblemTextIsBounded(t *testing.T) {
	long := strings.Repeat("long_name_", 200)
	_, ps := Compile(unitOf(decisions.User, map[string]string{"a.rego": "deny contains \"x\" if input." + long}), testSchema(t))
	if errs := ps.Errors(); len(errs) != 1 || len(errs[0].Text) > diag.MaxText+len("…") || !strings.HasSuffix(errs[0].Text, "…") {
		t.Errorf("got %v", errs)
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"program", "program", 0}, {"progam", "program", 1},
		{"prgoram", "program", 2}, {"host", "port", 2}, {"kitten", "sitting", 3}, {strings.Repeat("x", 65), "x", 64},
	} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q to %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
