package setup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/findings"
)

// TestACPRefused has texts that are not changed, each with the error.
func TestACPRefused(t *testing.T) {
	uid := uint32(os.Geteuid())
	tests := []struct{ client, name, text, why string }{
		{"zed", "no JSON", "{\n  \"a\": 1\n  \"b\": 2\n}", "settings.json: it cannot be read: line 3: "},
		{"zed", "a name twice", "{\"agent_servers\": {},\n\"agent_servers\": {}}", "it cannot be read: line 2: "},
		{"zed", "null", `{"agent_servers": null}`, "agent_servers is not an object"},
		{"zed", "a list", `{"agent_servers": []}`, "agent_servers is not an object"},
		{"zed", "no object", `[]`, "the file is not an object"},
		{"zed", "the agent is no object", `{"agent_servers": {"claude": "claude-agent-acp"}}`, "agent_servers.claude is not an object"},
		{"zed", "a command in an old shape", `{"agent_servers": {"claude": {"command": {"path": "x"}}}}`, "a command that is no text"},
		{"zed", "args are a text", `{"agent_servers": {"claude": {"command": "x", "args": "y"}}}`, "args that are no list"},
		{"zed", "args with a number", `{"agent_servers": {"claude": {"command": "x", "args": [1]}}}`, "args that are no list"},
		{"zed", "a variable", `{"agent_servers": {"claude": {"command": "$HOME/bin/x"}}}`, "has a variable"},
		{"zed", "a command with arguments", `{"agent_servers": {"claude": {"command": "npx -y x"}}}`, "may be a program with arguments"},
		{"zed", "permd in another way", `{"agent_servers": {"claude": {"command": "permd", "args": ["acp", "claude-agent-acp"]}}}`, "not as install writes it"},
		{"zed", "permd behind another program", `{"agent_servers": {"claude": {"command": "env", "args": ["A=b", "/usr/bin/permd", "acp", "--", "claude-agent-acp"]}}}`, "not as install writes it"},
		{"acpx", "permd in the text of a shell", `{"agents": {"claude": {"command": "sh -c 'permd acp -- claude-agent-acp'"}}}`, "not as install writes it"},
		{"zed", "the name is taken", `{"agent_servers": {"Claude (permd)": {"env": {}}}}`, "Claude (permd) is something else"},
		{"jetbrains", "null", `{"agent_servers": null}`, "agent_servers is not an object"},
		{"acpx", "comments", "{} // no", "it has comments"},
		{"acpx", "a comma behind a last member", `{"agents": {},}`, "it cannot be read: line 1: "},
		{"acpx", "a byte order mark", "\ufeff{}", "it cannot be read: line 1: "},
		{"acpx", "no quote at the end", `{"agents": {"claude": {"command": "npx 'x"}}}`, "a quote without an end"},
		{"acpx", "both ways", `{"agents": {"claude": {"command": "x", "argv": ["x"]}}}`, "argv is not the whole command"},
		{"acpx", "an empty list", `{"agents": {"claude": {"argv": []}}}`, "argv is not the whole command"},
		{"acpx", "args, and a path with a blank", `{"agents": {"claude": {"command": "x", "args": ["y"]}}}`, "takes no command with blanks"},
	}
	for _, tt := range tests {
		t.Run(tt.client+"/"+tt.name, func(t *testing.T) {
			p, e, store := acpPlaceOf(t, tt.client, "claude")
			writeConfig(t, p.path, tt.text)
			if _, err := planACPInstall(p, e, store, testProgram, uid); err == nil || !strings.Contains(err.Error(), tt.why) || !strings.HasPrefix(err.Error(), p.path+": ") {
				t.Errorf("%v, want %q", err, tt.why)
			}
			if _, err := planUninstall(p, store, uid); err == nil && strings.HasPrefix(tt.why, "it cannot") {
				t.Error("it was read to take permd out")
			}
			if got := read(t, p.path); string(got) != tt.text {
				t.Errorf("it became %q", got)
			}
		})
	}
	// The same file, and a permd without a blank.
	_, e, _ := acpPlaceOf(t, "acpx", "claude")
	got, err := e.install([]byte(`{"agents": {"claude": {"command": "x", "args": ["y"]}}}`), "/usr/bin/permd")
	if want := `{"agents": {"claude": {"command": "/usr/bin/permd", "args": ["acp", "--", "x", "y"]}}}`; err != nil || string(got) != want {
		t.Errorf("%v, %s", err, got)
	}
	// An agent that nobody knows.
	if _, err := (&acpEntries{client: e.client, agent: &clientAgent{name: "nobody"}}).install(nil, testProgram); err == nil || !strings.Contains(err.Error(), `no entry called "nobody"`) {
		t.Errorf("nobody: %v", err)
	}
}

// TestACPFileRefused: files that permd must not replace are not replaced.
func TestACPFileRefused(t *testing.T) {
	uid := uint32(os.Geteuid())
	for name, tt := range map[string]struct {
		make func(path string) error
		why  string
	}{
		"a link": {func(path string) error {
			return os.Symlink("elsewhere", path)
		}, "is a link"},
		"a folder": {func(path string) error { return os.Mkdir(path, 0o700) }, "is no file"},
	} {
		p, e, store := acpPlaceOf(t, "zed", "claude")
		if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := tt.make(p.path); err != nil {
			t.Fatal(err)
		}
		if _, err := planACPInstall(p, e, store, testProgram, uid); err == nil || !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if uid == 0 {
		t.Skip("root reads every file")
	}
	p, e, store := acpPlaceOf(t, "zed", "claude")
	writeConfig(t, p.path, "{}")
	if err := os.Chmod(p.path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := planACPInstall(p, e, store, testProgram, uid); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("unreadable: %v", err)
	}
}

func TestACPAgentOf(t *testing.T) {
	for _, tt := range []struct {
		name    string
		command []string
		want    string // the label, "" for an error
	}{
		{"claude", nil, "Claude"},
		{"Claude", nil, "Claude"},
		{"mine", nil, "mine"},
		{"", []string{"/opt/x/agent", "--acp"}, "agent"},
		{"", []string{"gemini", "--yolo"}, "Gemini CLI"},
		{"", nil, ""},
		{"a\nb", nil, ""},
		{"", []string{"a", "\xff"}, ""},
		{"mine", []string{"/usr/bin/permd", "acp", "--", "x"}, ""},
	} {
		agent, err := acpAgentOf(tt.name, tt.command)
		if (err == nil) != (tt.want != "") || err == nil && agent.label != tt.want {
			t.Errorf("%q %q: %+v, %v", tt.name, tt.command, agent, err)
		}
		if err == nil && tt.command != nil && !slices.Equal(agent.command, tt.command) {
			t.Errorf("%q is started by %q", tt.name, agent.command)
		}
	}
	names := map[string]string{}
	for _, a := range acpAgents() {
		for _, name := range append(slices.Clone(a.aliases), a.name, a.label, a.codecompanion, a.avante) {
			if name == "" {
				continue
			}
			if other, ok := names[name]; ok && other != a.name || !a.hasName(name) {
				t.Errorf("%q is %q and %q, or neither", name, a.name, other)
			}
			names[name] = a.name
		}
		if !a.matchesCommand(a.command) {
			t.Errorf("%q does not start %s", a.command, a.name)
		}
	}
}

func TestSplitLine(t *testing.T) {
	for line, want := range map[string][]string{
		`a  b`:            {"a", "b"},
		`'a b'"c d" e\ f`: {"a bc d", "e f"},
		`a '' "\"" '\'`:   {"a", "", `"`, `\`},
		`'it'\''s'`:       {"it's"},
		`a\`:              {`a\`},
		`'a`:              nil,
		``:                nil,
		`'' a`:            nil,
		"\ta\n":           {"a"},
	} {
		words, ok := splitLine(line)
		var got []string
		for _, w := range words {
			got = append(got, w.text)
		}
		if ok != (want != nil) || ok && !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", line, got, ok)
		}
		// What permd writes is read as the same words.
		if again, ok := splitLine(cli.QuoteAll(want)); want != nil && (!ok || len(again) != len(want)) {
			t.Errorf("%q: written as %q", want, cli.QuoteAll(want))
		}
	}
}

// TestACPFullPath: an IDE does not have the PATH of a person's shell, so it gets
// the full path of an agent; a client that has the PATH gets the name.
func TestACPFullPath(t *testing.T) {
	for client, full := range map[string]bool{"jetbrains": true, "zed": false, "acpx": false} {
		_, e, _ := acpPlaceOf(t, client, "claude")
		bin := t.TempDir()
		t.Setenv("PATH", bin)
		path := filepath.Join(bin, "claude-agent-acp")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		written, err := e.install(nil, testProgram)
		if err != nil {
			t.Fatal(err)
		}
		want := "claude-agent-acp"
		if full {
			want = path
		}
		if words := entryOf(t, e, written, e.newKey()).words; words[len(words)-1] != want {
			t.Errorf("%s: %q", client, words)
		}
		// It is removed whatever PATH is by then.
		t.Setenv("PATH", "/nowhere")
		if rest, found, err := e.remove(written); err != nil || !found || string(rest) != "{}\n" {
			t.Errorf("%s: %v, %v, %s", client, found, err, rest)
		}
	}
}

// TestACPDoctor: a command that is gone, or differs from what install writes, is
// reported with a fix.
func TestACPDoctor(t *testing.T) {
	tests := []struct {
		client, text, state, want, fix string
	}{
		{"zed", `{"agent_servers": {"Mine": {"command": "PROGRAM", "args": ["acp", "--", "gemini"]}}}`, "ok", "zed: Mine runs PROGRAM", ""},
		{"zed", `{"agent_servers": {"My agent": {"command": "/gone/permd", "args": ["acp", "--", "x"]}}}`, "error", "My agent runs /gone/permd, which is not an executable", "permd acp install zed 'My agent'"},
		{"jetbrains", `{"agent_servers": {"G": {"command": "/gone/permd", "args": ["acp", "--", "gemini", "--acp"]}}}`, "error", "which is not an executable", "permd acp install jetbrains gemini"},
		{"acpx", `{"agents": {"codex": {"argv": ["/gone/permd", "acp", "--", "codex-acp"]}}}`, "error", "which is not an executable", "permd acp install acpx codex"},
		{"zed", `{"agent_servers": {"G": {"command": "env", "args": ["permd", "acp", "--", "gemini"]}}}`, "warn", "not as install writes it", "check it, and then: permd acp install zed gemini"},
		{"acpx", `{"agents": {"codex": {"command": "PROGRAM acp -- codex-acp"}}, "defaultPermissions": "approve-all"}`, "warn", "approve-all", "deny-all"},
		{"acpx", `{"defaultPermissions": "approve-all"} `, "", "", ""},
		{"zed", `{"agent_servers": {"permd" "x"}}`, "error", "it cannot be read: line 1", "correct the file first"},
		{"zed", `{"agent_servers": {"Claude": {"command": "claude-agent-acp"}}}`, "", "", ""},
		{"zed", `{"agent_servers": `, "", "", ""}, // nothing of permd
	}
	for _, tt := range tests {
		p, e, _ := acpPlaceOf(t, tt.client, "claude")
		program := filepath.Join(e.home, "permd")
		if err := os.WriteFile(program, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		writeConfig(t, p.path, strings.ReplaceAll(tt.text, "PROGRAM", program))
		x := &findings.List{}
		InspectACP(x)
		if tt.state == "" {
			if len(x.All) > 0 {
				t.Errorf("%s: %+v", tt.text, x.All)
			}
			continue
		}
		if !slices.ContainsFunc(x.All, func(f findings.Finding) bool {
			return f.Check == "acp" && string(f.State) == tt.state && strings.Contains(f.Text, strings.ReplaceAll(tt.want, "PROGRAM", program)) && strings.Contains(f.Fix, tt.fix)
		}) {
			t.Errorf("%s: %+v", tt.text, x.All)
		}
	}
}
