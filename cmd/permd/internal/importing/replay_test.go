package importing

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// TestParseRecord: a past call is read from the details of its record, and not from the
// displayed text.
func TestParseRecord(t *testing.T) {
	effect := func(kind effects.Kind, text string) decisions.EffectDecision {
		return decisions.EffectDecision{Kind: kind, Text: text}
	}
	run, read := effect(effects.KindRun, "run ls *.go"), effect(effects.KindRead, "read ./a and all below (given as b)")
	for name, tt := range map[string]struct {
		effects []decisions.EffectDecision
		details []decisions.EffectDetail
		want    []pastToolCall // nil if it is not known
	}{
		"of an earlier permd": {effects: []decisions.EffectDecision{run}},
		"of another length":   {[]decisions.EffectDecision{run, read}, []decisions.EffectDetail{{Words: []string{"ls"}}}, nil},
		"something is masked": {[]decisions.EffectDecision{run, read}, []decisions.EffectDetail{{Words: []string{"ls"}}, {Partial: true}}, nil},
		"a command":           {[]decisions.EffectDecision{run, read}, []decisions.EffectDetail{{Words: []string{"ls", "*.go"}}, {Path: "/p", Recursive: true}}, []pastToolCall{{"Bash", map[string]string{"command": "ls *.go"}}}},
		"a name that looks like a remark": {
			[]decisions.EffectDecision{read}, []decisions.EffectDetail{{Path: "/p/a and all below (given as b)"}},
			[]pastToolCall{{"Read", map[string]string{"file_path": "/p/a and all below (given as b)"}}},
		},
		"all below": {[]decisions.EffectDecision{read}, []decisions.EffectDetail{{Path: "/p/a", Recursive: true}}, nil},
		"a port": {
			[]decisions.EffectDecision{effect(effects.KindConnect, "connect [::1]:81 (get)")}, []decisions.EffectDetail{{Host: "::1", Port: 81}},
			[]pastToolCall{{"WebFetch", map[string]string{"url": "https://[::1]:81/"}}},
		},
		"a tool": {
			[]decisions.EffectDecision{effect(effects.KindUse, "use s:t@2, which may destroy something")}, []decisions.EffectDetail{{Server: "s", Tool: "t", Version: "2"}},
			[]pastToolCall{{"mcp__s__t", map[string]string{}}},
		},
	} {
		past := parseRecord(&decisions.Record{Decision: decisions.Decision{Effects: tt.effects}, Details: tt.details})
		if (past == nil) != (tt.want == nil) {
			t.Errorf("%s: got %v, want %v", name, past, tt.want)
			continue
		}
		if past != nil {
			if diff := cmp.Diff(tt.want, past.calls, cmp.AllowUnexported(pastToolCall{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}
