package pattern_test

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// TestQuotedTools begins with a deny that was copied from a label: read literally,
// it named a tool with quotes in its name and denied nothing.
func TestQuotedTools(t *testing.T) {
	for _, line := range []string{`"a@1"`, `"a:b"`, `"s:x":get`, `s:"x@1"`, `"Developer: Shell"`, `s:get@"1 2"`, `"a@1"@"2*"`, `"`, `s:"`, `a@":a"`} {
		if p, err := pattern.Parse(effects.KindUse, line); err == nil {
			t.Errorf("%s is read as %v", line, p)
		}
	}
	for line, use := range map[string]effects.Use{
		`a@1`:             {Tool: "a@1"},
		`get@1`:           {Tool: "get", Version: "1.0.0"},
		`s:x*1`:           {Server: "s", Tool: "x@1"},
		`Developer*Shell`: {Tool: "Developer Shell"},
		`a"b`:             {Tool: `a"b`},
	} {
		p, err := pattern.Parse(effects.KindUse, line)
		if err != nil || p.String() != line || !p.Match(&effects.Effect{Kind: effects.KindUse, Use: &use}, nil, pattern.Context{}) {
			t.Errorf("%s of %+v: %v, %v", line, use, p, err)
		}
	}
}
