package decisions

import "testing"

func TestConfined(t *testing.T) {
	for _, tt := range []struct {
		name string
		ref  SessionRef
		want bool
	}{
		{"no mode", SessionRef{}, false},
		{"ordinary", SessionRef{Mode: "default"}, false},
		{"wide", SessionRef{Mode: "bypassPermissions"}, false},
		{"edits", SessionRef{Mode: "acceptEdits"}, false},
		{"does not ask", SessionRef{Mode: "dontAsk"}, false},
		{"part of a word", SessionRef{Mode: "explained"}, false},
		{"plan", SessionRef{Mode: "plan"}, true},
		{"plan in capitals", SessionRef{Mode: "Plan Mode"}, true},
		{"address", SessionRef{Mode: "https://agents.example/modes#plan"}, true},
		{"read-only", SessionRef{Mode: "read-only"}, true},
		{"read only", SessionRef{Mode: "Read Only"}, true},
		{"ask", SessionRef{Mode: "ask"}, true},
		{"child", SessionRef{Mode: "default", Ancestors: []string{"s1"}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.ref.confinement(); (got != "") != tt.want {
				t.Errorf("got %q, want confined %v", got, tt.want)
			}
		})
	}
}

// TestSubAgentOfConfinedSession: a rule that allows the tool does not allow a sub-agent of a
// confined session.
func TestSubAgentOfConfinedSession(t *testing.T) {
	for _, tt := range []struct {
		name string
		ref  SessionRef
		want Verdict
	}{
		{"ordinary", SessionRef{ID: "s", Mode: "default"}, Allow},
		{"plan", SessionRef{ID: "s", Mode: "plan"}, Ask},
		{"child", SessionRef{ID: "s", Ancestors: []string{"p"}}, Ask},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, _, e := newFakes(t) // whose one rule allows everything
			req := bash(t, "true")
			req.Call.Tool.Name, req.Call.Input = "Task", []byte(`{"prompt":"x"}`)
			req.Session = tt.ref
			if d := e.Decide(t.Context(), req)[0]; d.Verdict != tt.want {
				t.Errorf("got %s (%s), want %s", d.Verdict, d.Reason, tt.want)
			}
		})
	}
}
