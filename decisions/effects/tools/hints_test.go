package tools

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// hintsOf returns the hints of a result, each as its kind and its path.
func hintsOf(r effects.Result) []string {
	var out []string
	for _, e := range r.Hints {
		if !e.Claimed || !e.Hint || e.File == nil {
			out = append(out, "not a claimed path: "+e.Text)
			continue
		}
		p := strings.Replace(e.File.Path, effectstest.Cwd, ".", 1)
		if e.File.Recursive {
			p += "/**"
		}
		out = append(out, string(e.Kind)+" "+p)
	}
	return out
}

// TestHints has claims of paths that the input does not name.
func TestHints(t *testing.T) {
	at := func(paths ...string) (list []effects.Location) {
		for i, p := range paths {
			list = append(list, effects.Location{Path: p, From: fmt.Sprintf("locations[%d].path", i)})
		}
		return list
	}
	m := effectstest.Cwd + "/migrations/1.sql"
	all := []string{"read ./migrations/1.sql", "write ./migrations/1.sql", "delete ./migrations/1.sql/**"}
	tests := []struct {
		name string
		call *effects.Call
		want []string
	}{
		{"a stranger's diff", acp("nobody", func(c *effects.Call) {
			c.Claims.Diffs = []effects.Diff{{Path: m, From: "content[0]"}}
		}), []string{"write ./migrations/1.sql"}},
		{"a diff under a kind that reads", acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Diffs = "read", []effects.Diff{{Path: m, From: "content[0]"}}
		}), []string{"write ./migrations/1.sql"}},
		{"a diff that deletes", acp("nobody", func(c *effects.Call) {
			c.Claims.Diffs = []effects.Diff{{Path: m, Operation: "delete", From: "content[0]"}}
		}), []string{"delete ./migrations/1.sql"}},
		{"a diff that moves", acp("nobody", func(c *effects.Call) {
			c.Claims.Diffs = []effects.Diff{{Path: effectstest.Cwd + "/b", OldPath: m, Operation: "move", From: "content[0]"}}
		}), []string{"write ./b", "read ./migrations/1.sql", "delete ./migrations/1.sql"}},
		{"a diff that copies", acp("nobody", func(c *effects.Call) {
			c.Claims.Diffs = []effects.Diff{{Path: effectstest.Cwd + "/b", OldPath: m, Operation: "copy", From: "content[0]"}}
		}), []string{"write ./b", "read ./migrations/1.sql"}},
		{"edit", acp("cline", func(c *effects.Call) { c.Claims.Kind, c.Claims.Locations = "edit", at(m) }), []string{"write ./migrations/1.sql"}},
		{"delete", acp("cline", func(c *effects.Call) { c.Claims.Kind, c.Claims.Locations = "delete", at(m) }), []string{"delete ./migrations/1.sql/**"}},
		{"read", acp("cline", func(c *effects.Call) { c.Claims.Kind, c.Claims.Locations = "read", at(m) }), []string{"read ./migrations/1.sql"}},
		{"search", acp("cline", func(c *effects.Call) { c.Claims.Kind, c.Claims.Locations = "search", at(effectstest.Cwd) }), []string{"read ./**"}},
		{"move", acp("cline", func(c *effects.Call) { c.Claims.Kind, c.Claims.Locations = "move", at(m) }), all},
		{"execute", acp("nobody", func(c *effects.Call) { c.Claims.Kind, c.Claims.Locations = "execute", at(m) }), all},
		{"a kind of the future", acp("nobody", func(c *effects.Call) { c.Claims.Kind, c.Claims.Locations = "x", at(m) }), all},
		{"no kind", acp("nobody", func(c *effects.Call) { c.Claims.Locations = at(m) }), all},
		{"through a link", acp("cline", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Locations = "edit", at("/home/ana/link/migrations/1.sql")
		}),
			[]string{"write ./migrations/1.sql", "write /home/ana/link/migrations/1.sql"}},
		{"each path once", acp("cline", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Locations = "edit", at(m, m, "migrations/1.sql")
			c.Claims.Diffs = []effects.Diff{{Path: m, From: "content[0]"}}
		}), []string{"write ./migrations/1.sql"}},
		{"a server's tool", acp("claude-agent-acp", func(c *effects.Call) {
			c.Tool.Name, c.Claims.Kind, c.Claims.Locations, c.Input = "mcp__fs__put", "other", at(m), []byte(`{"n":1}`)
		}), all},
		{"a server's tool that reads", acp("claude-agent-acp", func(c *effects.Call) {
			c.Tool.Name, c.Claims.Kind, c.Claims.Locations, c.Input = "mcp__fs__get_file", "other", at(m), []byte(`{"n":1}`)
		}), []string{"read ./migrations/1.sql"}},
		{"an agent whose claims are effects", acp("gemini-cli", func(c *effects.Call) {
			c.ID, c.Claims.Kind, c.Claims.Locations = "replace__1", "edit", at(m)
		}), nil},
		{"an agent without input", acp("claude-agent-acp", func(c *effects.Call) {
			c.Tool.Name, c.Claims.Kind, c.Claims.Locations = "Edit", "edit", at(m)
		}), []string{"write ./migrations/1.sql"}},

		// Ordinary calls.
		{"the path of the input", acp("claude-agent-acp", func(c *effects.Call) {
			c.Tool.Name, c.Claims.Kind, c.Claims.Locations, c.Input = "Edit", "edit", at(m), []byte(`{"file_path":"migrations/1.sql"}`)
			c.Claims.Diffs = []effects.Diff{{Path: m, From: "content[0]"}}
		}), nil},
		{"the file that is read", acp("claude-agent-acp", func(c *effects.Call) {
			c.Tool.Name, c.Claims.Kind, c.Claims.Locations, c.Input = "Read", "read", at(m), []byte(`{"file_path":"migrations/1.sql"}`)
		}), nil},
		{"what a command that is understood names", acp("claude-agent-acp", func(c *effects.Call) {
			c.Tool.Name, c.Claims.Kind, c.Claims.Locations, c.Input = "Bash", "execute", at(m), []byte(`{"command":"cat migrations/1.sql"}`)
		}), nil},
		{"a stranger's command that is understood", acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Locations, c.Input = "execute", at(m), []byte(`{"command":"cat migrations/1.sql"}`)
		}), nil},
	}
	w := toolWorld(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := w.Effects(tt.call)
			if diff := cmp.Diff(tt.want, hintsOf(r)); diff != "" {
				t.Errorf("hints (-want +got):\n%s\neffects %q", diff, lines(r))
			}
		})
	}
}

// TestHintsAreBounded: a call with more paths than the bound is not understood.
func TestHintsAreBounded(t *testing.T) {
	w := toolWorld(t)
	for n, known := range map[int]bool{maxHints: true, maxHints + 1: false} {
		c := agentCall("claude-agent-acp", "Bash", `{"command":"ls docs"}`)
		c.Claims.Kind = "read"
		for i := range n {
			c.Claims.Locations = append(c.Claims.Locations, effects.Location{Path: fmt.Sprint(effectstest.Cwd, "/docs/", i), From: "locations"})
		}
		r := w.Effects(c)
		if len(r.Hints) != maxHints || (r.Missing == "") != known {
			t.Errorf("%d locations: %d hints, missing %q", n, len(r.Hints), r.Missing)
		}
	}
}

// TestStrongerKind: a kind that claims more than the tool's name reaches denies. Without a
// name, the same calls are writes and deletes.
func TestStrongerKind(t *testing.T) {
	const file, folder = `{"file_path":"src/vat.ts"}`, `{"path":"src"}`
	for _, tt := range []struct {
		agent, tool, kind, input string
		want                     []string // hints
	}{
		{"codex", "Read", "edit", file, []string{"write ./src/vat.ts"}},
		{"nobody", "Read", "edit", file, []string{"write ./src/vat.ts"}},
		{"claude-code", "Read", "edit", file, []string{"write ./src/vat.ts"}},
		{"nobody", "Read", "delete", file, []string{"delete ./src/vat.ts"}},
		{"nobody", "Read", "move", file, []string{"write ./src/vat.ts", "delete ./src/vat.ts"}},
		{"nobody", "mcp__fs__read", "edit", file, []string{"write ./src/vat.ts"}},
		{"claude-code", "Edit", "delete", file, []string{"delete ./src/vat.ts"}},
		{"claude-code", "Grep", "edit", folder, []string{"write ./src and all below"}},
		{"nobody", "Read", "read", file, nil},
		{"claude-code", "Edit", "edit", file, nil},
		{"nobody", "", "edit", file, nil},
		{"claude-code", "Bash", "edit", `{"command":"cat src/vat.ts"}`, nil},
	} {
		call := agentCall(tt.agent, tt.tool, tt.input)
		call.Claims.Kind = tt.kind
		r := toolWorld(t).Effects(call)
		var got []string
		for i := range r.Hints {
			if e := &r.Hints[i]; e.File != nil && (e.Kind == effects.KindWrite || e.Kind == effects.KindDelete) {
				got = append(got, e.Text)
			}
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%+v: hints (-want +got):\n%s\neffects %v", tt, d, lines(r))
		}
	}
}

// TestWriteOfFolder: a tool that writes to an existing folder may write to all in it.
func TestWriteOfFolder(t *testing.T) {
	for path, want := range map[string]bool{".": true, "src": true, "src/vat.ts": false, "src/new": false} {
		call := agentCall("nobody", "", `{"path":"`+path+`"}`)
		call.Claims.Kind = "edit"
		r := toolWorld(t).Effects(call)
		if len(r.Effects) != 1 || r.Effects[0].Kind != effects.KindWrite || r.Effects[0].File.Recursive != want {
			t.Errorf("%s: %v", path, lines(r))
		}
	}
}
