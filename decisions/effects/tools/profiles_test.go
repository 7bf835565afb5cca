package tools

import (
	"os"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/shell"
	"github.com/permd/permd/internal/strictjson"
)

const smallProfiles = `
version: 1
generic: {command: [command], touch: [path]}
shapes:
  shell: {command: [command], needs: [command]}
  todo: {use: agent}
agents:
  - {id: a, names: [A, other], versions: ">=1 <2", identity: [kind], byKind: {execute: sh}, beside: [timeout], tools: {shell: [sh]}}
  - {id: b, names: [a], versions: "<1", beside: [], tools: {todo: [sh]}}
`

func TestParseProfilesRefuses(t *testing.T) {
	if _, err := ParseProfiles([]byte(smallProfiles)); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, old, new, says string
	}{
		{"nothing", smallProfiles, "", "no document"},
		{"two documents", "agents:", "---\nagents:", "more than one document"},
		{"another version", "version: 1", "version: 2", "version 2"},
		{"unknown key", "version: 1", "version: 1\nextra: 1", "extra"},
		{"unknown key of an agent", "id: b,", "id: b, liveshell: true,", "liveshell"},
		{"key twice", "version: 1", "version: 1\nversion: 1", "already defined"},
		{"generic without paths", ", touch: [path]", "", "no command or no path"},
		{"member twice", "touch: [path]", "touch: [command]", "twice"},
		{"needs what it does not take", "needs: [command]", "needs: [read]", "does not take"},
		{"needs an unknown word", "needs: [command]", "needs: [frob]", "does not take"},
		{"says nothing", "{use: agent}", "{ignore: [x]}", "no effect of its own"},
		{"unknown use", "{use: agent}", "{use: other}", "use is"},
		{"a shell that is not read", "id: b,", "id: b, shells: [fish],", "fish"},
		{"a shell by its path", "id: b,", "id: b, shells: [/bin/sh],", "none of bash"},
		{"a shell twice", "id: b,", "id: b, shells: [sh, sh],", "twice"},
		{"interactive without a shell", "id: b,", "id: b, interactive: true,", "no name"},
		{"no names", "names: [a], ", "", "no name"},
		{"unknown shape", "tools: {todo: [sh]}", "tools: {todos: [sh]}", "not known"},
		{"tool twice", "tools: {todo: [sh]}", "tools: {todo: [sh], shell: [sh]}", "twice"},
		{"server's tool as a built-in", "tools: {todo: [sh]}", "tools: {todo: [mcp__a__b]}", "server's tool"},
		{"unknown kind", "byKind: {execute: sh}", "byKind: {exec: sh}", "no kind"},
		{"kind without a tool", "byKind: {execute: sh}", "byKind: {execute: bash}", "no tool"},
		{"unknown identity", "identity: [kind]", "identity: [guess]", "identity"},
		{"unknown claim", "id: b,", "id: b, claimed: [name],", "claimed"},
		{"bad range", `"<1"`, `"about 1"`, "no version"},
		{"a shell that takes nobody knows what", "beside: [timeout], ", "", "beside the command"},
		{"beside it twice", "beside: [timeout]", "beside: [timeout, timeout]", "twice"},
		{"too long", smallProfiles, strings.Repeat("# long\n", 200_000), "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := strings.Replace(smallProfiles, tt.old, tt.new, 1)
			if data == smallProfiles {
				t.Fatal("the test changes nothing")
			}
			_, err := ParseProfiles([]byte(data))
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one that says %q", err, tt.says)
			}
		})
	}
}

func TestProfileOf(t *testing.T) {
	p, err := ParseProfiles([]byte(smallProfiles))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, version, want string }{
		{"a", "1.0.0", "a"}, {"A", "1.9", "a"}, {"other", "1", "a"}, {"a", "0.13.0", "b"},
		{"a", "2.0.0", "generic"}, {"a", "", "generic"}, {"a", "x", "generic"}, {"", "1", "generic"},
		{"a ", "1", "generic"}, {"\u0430", "1", "generic"}, {"a", "1.2.3-beta.4", "a"},
	}
	for _, tt := range tests {
		if got := p.of(effects.Party{Name: tt.name, Version: tt.version}).id; got != tt.want {
			t.Errorf("of(%q, %q) = %s, want %s", tt.name, tt.version, got, tt.want)
		}
	}
	if got := (*Profiles)(nil).of(effects.Party{Name: "a"}).id; got != "generic" {
		t.Errorf("no profiles: %s", got)
	}
}

func TestVersionRange(t *testing.T) {
	tests := []struct {
		in, version string
		want        bool
	}{
		{"", "", true}, {"", "junk", true}, {">=1.2 <2", "1.2.0", true}, {">=1.2 <2", "1.10", true}, {">=1.2 <2", "1.1.9", false},
		{">=1.2 <2", "2", false}, {"<1", "0.13.0", true}, {"<1", "", false}, {"<1", "0.13.0.1", false}, {"<1", "-1", false},
		{"=1.2.3", "v1.2.3+build", true}, {">1 <=1.5", "1.5", true}, {">1 <=1.5", "1", false}, {"<1", "99999999999999999999", false},
	}
	for _, tt := range tests {
		r, err := parseVersionRange(tt.in)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Holds(tt.version); got != tt.want {
			t.Errorf("%q holds %q: %v", tt.in, tt.version, got)
		}
	}
	for _, bad := range []string{"1.2", "==1", ">= 1", ">=x", "~1"} {
		if _, err := parseVersionRange(bad); err == nil {
			t.Errorf("range %q was read", bad)
		}
	}
}

// TestWithoutProfiles: without profiles no tool is known.
func TestWithoutProfiles(t *testing.T) {
	w := toolWorld(t)
	w.Profiles = nil
	for _, c := range []*effects.Call{
		agentCall("claude-code", "Bash", `{"command":"ls"}`), agentCall("claude-code", "", `{"command":"ls"}`),
		agentCall("", "", `{"path":"/etc/hosts"}`), agentCall("", "mcp__a__b", `{"path":[{"path":"x"}]}`),
	} {
		r := w.Effects(c)
		checkResult(t, r)
		if k := r.Effects[0].Kind; k != effects.KindUse && k != effects.KindUnknown {
			t.Errorf("%s: %q", c.Tool.Name, lines(r))
		}
	}
}

// FuzzTool gives inputs to tools of every shape. Whatever they are, the result is
// valid, and the call of a server's tool is a use.
func FuzzTool(f *testing.F) {
	w := toolWorld(f)
	for _, s := range []string{
		`{"command":"make a","cwd":"/tmp"}`, `{"command":["bash","-lc","x"]}`, `{"file_path":"a","path":["b",{"path":"c"}]}`,
		`{"changes":{"a":{"type":"update","move_path":"b"}}}`, `{"changes":[{"path":"a","kind":{"type":"add"}}]}`,
		`{"input":"*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch"}`, `{"pattern":"{a,b}/**","path":"c"}`,
		`{"url":"https://a.example","urls":["x"]}`, `{"server":"a","tool":"b","arguments":{"path":"c"}}`, `{"COMMAND":"x","pa\u200bth":1}`,
		`{"permissions":{"network":true},"edits":[{"file_path":"x"}]}`, `[1]`, `"x"`, `null`, `{"commands":[{"command":"x"}]}`,
		`{"networkApprovalContext":{"host":"a","protocol":"https"}}`, `{"chars":"ls\n"}`, `{"command":7,"cwd":[]}`,
	} {
		f.Add(s, "title", "read", uint(0))
	}
	names := []string{
		"Bash", "Read", "Grep", "Glob", "Write", "WebFetch", "TodoWrite", "shell", "apply_patch", "write_stdin", "request_permissions",
		"run_commands", "str_replace_editor", "web_fetch", "external_directory", "mcp__a__b", "nobody", "",
	}
	agents := []string{"claude-code", "codex", "gemini", "opencode", "cline", "openhands", "copilot", "nobody"}
	f.Fuzz(func(t *testing.T, input, title, kind string, pick uint) {
		if strictjson.Check([]byte(input)) != nil {
			return
		}
		c := agentCall(agents[pick%uint(len(agents))], names[pick/8%uint(len(names))], input)
		c.Claims = effects.Claims{Kind: kind, Title: title, Locations: []effects.Location{{Path: title, From: "locations[0].path"}}, Diffs: []effects.Diff{{Path: title, From: "content[0]"}}, Texts: []string{title}}
		r := w.Effects(c)
		checkResult(t, r)
		if len(r.Effects) > shell.MaxEffects+1 {
			t.Errorf("%d effects", len(r.Effects))
		}
		if strings.HasPrefix(c.Tool.Name, "mcp__") && r.Effects[0].Kind != effects.KindUse {
			t.Errorf("a server's tool is %s", r.Effects[0].Kind)
		}
		if (r.Completeness == effects.Full) != (r.Missing == "") {
			t.Errorf("%s, missing %q", r.Completeness, r.Missing)
		}
	})
}

func BenchmarkOf(b *testing.B) {
	w := toolWorld(b)
	for _, bb := range []struct {
		name string
		call *effects.Call
	}{
		{"bash", agentCall("claude-code", "Bash", `{"command":"cat src/vat.ts docs/readme","description":"Show two files","timeout":120000}`)},
		{"read", agentCall("claude-code", "Read", `{"file_path":"`+effectstest.Cwd+`/src/vat.ts","offset":1,"limit":200}`)},
		{"edit", agentCall("claude-code", "Edit", `{"file_path":"`+effectstest.Cwd+`/src/vat.ts","old_string":"`+strings.Repeat("x", 500)+`","new_string":"`+strings.Repeat("y", 500)+`"}`)},
		{"server", agentCall("claude-code", "mcp__github__get_issue", `{"owner":"acme","repo":"shop","number":12}`)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.Effects(bb.call)
			}
		})
	}
}

func BenchmarkParseProfiles(b *testing.B) {
	data, err := os.ReadFile("../../../rego/profiles.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := ParseProfiles(data); err != nil {
			b.Fatal(err)
		}
	}
}
