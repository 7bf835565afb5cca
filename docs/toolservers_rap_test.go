package docs

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket/rap"
)

// TestToolServersRAP decides calls with the rules that tool-servers.md shows for RAP.
func TestToolServersRAP(t *testing.T) {
	rego := ""
	for _, b := range read(t, "tool-servers.md").blocks {
		if b.info == "rego" && strings.Contains(b.text, "list_bins") {
			rego += b.text
		}
	}
	w := newWorld(t, rules{user: folder(t, map[string]string{"rap.rego": rego})})
	const here = "http://127.0.0.1:7410/invoke"
	for name, c := range map[string]struct {
		tool    effects.Tool
		want    decisions.Verdict
		message string
	}{
		"looking":           {effects.Tool{Name: "list_bins", Server: "warehouse", Source: here}, decisions.Allow, ""},
		"of another server": {effects.Tool{Name: "list_bins", Server: "warehouse", Source: "http://127.0.0.1:7411/invoke"}, decisions.Ask, ""},
		"of another name":   {effects.Tool{Name: "list_bins", Server: "stock", Source: here}, decisions.Ask, ""},
		"something else":    {effects.Tool{Name: "move_bin", Server: "warehouse", Source: here}, decisions.Ask, ""},
		"destructive":       {effects.Tool{Name: "list_bins", Server: "warehouse", Source: here, Destructive: true}, decisions.Deny, "nothing is thrown away during the audit"},
	} {
		t.Run(name, func(t *testing.T) {
			d := w.decide(t, &effects.Call{ID: "c1", Protocol: rap.Protocol, Tool: c.tool, Input: []byte(`{}`), Cwd: w.project})
			if d.Verdict != c.want || d.Message != c.message {
				t.Errorf("%s %q, want %s %q", d.Verdict, d.Message, c.want, c.message)
			}
		})
	}
}

// TestToolServersCallback decides calls with callbacks to hosts without a dot by the rule that
// tool-servers.md shows for one, and by rules that allow the call alone.
func TestToolServersCallback(t *testing.T) {
	rego := ""
	for _, b := range read(t, "tool-servers.md").blocks {
		if b.info == "rego" && strings.Contains(b.text, `"worker"`) {
			rego += b.text
		}
	}
	const tool = `
allow contains "looking" if input.effect.tool == "list"
`
	w, without := newWorld(t, rules{user: folder(t, map[string]string{"rap.rego": rego + tool})}), newWorld(t, rules{user: folder(t, map[string]string{"rap.rego": "package permd.user\nimport rego.v2\n" + tool})})
	for at, want := range map[string]decisions.Verdict{
		"http://worker:8080": decisions.Allow, "http://WORKER:8080": decisions.Allow, "http://worker": decisions.Ask, "http://worker:8081": decisions.Ask, "https://worker:8080": decisions.Ask,
		"http://worker.:8080": decisions.Allow, "http://worker.evil:8080": decisions.Ask, "http://workers:8080": decisions.Ask, "http://localhost:8080": decisions.Ask, "https://agents.example.org": decisions.Allow,
	} {
		call := func(w *world) decisions.Verdict {
			return w.decide(t, &effects.Call{ID: "c1", Protocol: rap.Protocol, Tool: effects.Tool{Name: "list", Server: "w"}, Input: []byte(`{}`), Cwd: w.project, ReplyTo: at}).Verdict
		}
		if got := call(w); got != want {
			t.Errorf("%s: %s, want %s", at, got, want)
		}
		if got := call(without); strings.Contains(at, "worker") && got != decisions.Ask {
			t.Errorf("%s, without the rule: %s", at, got)
		}
	}
}
