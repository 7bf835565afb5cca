package docs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket/otc"
)

// TestToolServersOTC decides calls with the rules that tool-servers.md shows for Open Tool
// Calling.
func TestToolServersOTC(t *testing.T) {
	rego := ""
	for _, b := range read(t, "tool-servers.md").blocks {
		if b.info == "rego" && strings.Contains(b.text, "PostEntry") {
			rego += b.text
		}
	}
	w := newWorld(t, rules{user: folder(t, map[string]string{"otc.rego": rego})})
	for name, c := range map[string]struct {
		version, amount, secret string
		want                    decisions.Verdict
	}{
		"small":             {"2.1.0", "10000", "LEDGER_HMAC_KEY", decisions.Allow},
		"more":              {"2.1.0", "10001", "LEDGER_HMAC_KEY", decisions.Ask},
		"too much":          {"2.1.0", "100001", "LEDGER_HMAC_KEY", decisions.Deny},
		"no number":         {"2.1.0", `{}`, "LEDGER_HMAC_KEY", decisions.Deny},
		"nothing":           {"2.1.0", `null`, "LEDGER_HMAC_KEY", decisions.Ask},
		"less than nothing": {"2.1.0", `-5`, "LEDGER_HMAC_KEY", decisions.Ask},
		"another version":   {"2.2.0", "1", "LEDGER_HMAC_KEY", decisions.Ask},
		"the latest, maybe": {"", "1", "LEDGER_HMAC_KEY", decisions.Ask},
		"another secret":    {"2.1.0", "1", "ROOT_KEY", decisions.Ask},
	} {
		t.Run(name, func(t *testing.T) {
			d := w.decide(t, &effects.Call{
				ID: "c1", Protocol: otc.Protocol, Input: fmt.Appendf(nil, `{"amount_cents":%s}`, c.amount), InputFrom: "input",
				Tool:        effects.Tool{Name: "PostEntry", Server: "Ledger", Source: "https://tools.example.com/v1", Version: c.version},
				Credentials: effects.Credentials{Secrets: []string{c.secret}}, Cwd: w.project,
			})
			if d.Verdict != c.want {
				t.Errorf("%s: %s, want %s", d.Verdict, d.Reason, c.want)
			}
		})
	}
}
