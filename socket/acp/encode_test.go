package acp

import (
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
)

// TestResultForm compares with encoding/json's output for the same struct.
func TestResultForm(t *testing.T) {
	for name, r := range map[string]permissionResult{
		"nothing":             {},
		"cancelled":           cancelled(),
		"an option":           selected("a\"b"),
		"with a decision":     selected("a").with(&decisions.Decision{ID: "d", Effects: []decisions.EffectDecision{{Text: "x\ty"}}}),
		"without a decision":  selected("a").with(nil),
		"an id that is bytes": selected("\xff"),
		"a text that is":      cancelled().with(&decisions.Decision{Reason: "\xff"}),
	} {
		t.Run(name, func(t *testing.T) {
			want, wantErr := json.Marshal(r, json.Deterministic(true))
			got, err := r.AppendJSON(nil)
			if (err != nil) != (wantErr != nil) || err == nil && string(got) != string(want) {
				t.Errorf("have %s, %v\nwant %s, %v", got, err, want, wantErr)
			}
		})
	}
}
