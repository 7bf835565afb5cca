package tools

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestSecretSearchTools is TestSecrets for tools with a folder and a pattern.
func TestSecretSearchTools(t *testing.T) {
	for _, tt := range []struct {
		name, agent, tool, input string
		want                     bool
	}{
		{"everywhere", "claude-code", "Grep", `{"pattern":"KEY"}`, true},
		{"a folder with one", "claude-code", "Grep", `{"pattern":"KEY","path":"config"}`, true},
		{"a folder without", "claude-code", "Grep", `{"pattern":"KEY","path":"src"}`, false},
		{"what git leaves out", "claude-code", "Grep", `{"pattern":"KEY","path":"deploy"}`, false},
		{"only code", "claude-code", "Grep", `{"pattern":"KEY","glob":"*.{ts,tsx}"}`, false},
		{"only a type of code", "claude-code", "Grep", `{"pattern":"KEY","type":"go"}`, false},
		{"another type", "claude-code", "Grep", `{"pattern":"KEY","type":"yaml"}`, true},
		{"code and more", "claude-code", "Grep", `{"pattern":"KEY","glob":"*.{ts,env}"}`, true},
		{"names", "claude-code", "Glob", `{"pattern":"**/*"}`, false},
		{"names of a folder", "claude-code", "LS", `{"path":"infra"}`, false},
		{"another agent", "gemini-cli", "search_file_content", `{"pattern":"KEY"}`, true},
		{"many files", "gemini-cli", "read_many_files", `{"paths":["infra/**"]}`, true},
		{"many files of code", "gemini-cli", "read_many_files", `{"paths":["infra/**/*.ts"]}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := *toolWorld(t)
			w.FS, w.Table = effectstest.IndexOf(effectstest.SecretFiles()), effectstest.Table(t)
			r := w.Effects(agentCall(tt.agent, tt.tool, tt.input))
			got := false
			for i := range r.Effects {
				got = got || r.Effects[i].Kind == effects.KindRead && r.Effects[i].Tags.Has(effects.Secret)
			}
			if got != tt.want {
				t.Errorf("secret %v, want %v; %+v", got, tt.want, r.Effects)
			}
		})
	}
}
