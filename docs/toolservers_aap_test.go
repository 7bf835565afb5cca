package docs

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// TestToolServersAAP decides calls with the rules that tool-servers.md shows for AAP.
func TestToolServersAAP(t *testing.T) {
	rego := ""
	for _, b := range read(t, "tool-servers.md").blocks {
		if b.info == "rego" && strings.Contains(b.text, "deploy_service") {
			rego += b.text
		}
	}
	w := newWorld(t, rules{user: folder(t, map[string]string{"aap.rego": rego})})
	const here = "https://agents.example.com/v1"
	for name, c := range map[string]struct {
		server, source, environment string
		want                        decisions.Verdict
		message                     string
	}{
		"staging":            {"release-helper", here, "staging", decisions.Allow, ""},
		"production":         {"release-helper", here, "production", decisions.Deny, "production is frozen, use staging"},
		"another":            {"release-helper", here, "test", decisions.Ask, ""},
		"of another agent":   {"helper", here, "staging", decisions.Ask, ""},
		"of another server":  {"release-helper", "https://elsewhere.example.com/v1", "staging", decisions.Ask, ""},
		"of a client":        {"", "", "staging", decisions.Ask, ""},
		"production, client": {"", "", "production", decisions.Deny, "production is frozen, use staging"},
	} {
		t.Run(name, func(t *testing.T) {
			d := w.decide(t, &effects.Call{
				ID: "c1", Protocol: effects.ProtocolAAP, Tool: effects.Tool{Name: "deploy_service", Server: c.server, Source: c.source},
				Input: []byte(`{"environment":"` + c.environment + `"}`), Cwd: w.project,
			})
			if d.Verdict != c.want || d.Message != c.message {
				t.Errorf("%s %q, want %s %q", d.Verdict, d.Message, c.want, c.message)
			}
		})
	}
}
