package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// TestACPInstallAgain: another permd replaces the installed one, and later changes
// by the person stay.
func TestACPInstallAgain(t *testing.T) {
	uid := uint32(os.Geteuid())
	for client, file := range map[string]struct{ text, old, mine string }{
		"zed":       {"{}\n", `"env": {}`, `"env": {"KEY": "mine"}, "default_mode": "plan"`},
		"jetbrains": {`{"agent_servers": {"Claude": {"command": "claude-agent-acp", "args": []}}}`, `"--"`, `"--require", "--"`},
		"acpx":      {`{"agents": {"claude": {"command": "claude-agent-acp"}}}`, `acp --`, `acp --require --`},
	} {
		t.Run(client, func(t *testing.T) {
			p, e, store := acpPlaceOf(t, client, "claude")
			writeConfig(t, p.path, file.text)
			if err := os.Chmod(p.path, 0o600); err != nil {
				t.Fatal(err)
			}
			install := func(program string) string {
				return string(applied(t, store, func() (*configChange, error) { return planACPInstall(p, e, store, program, uid) }))
			}
			edited := strings.Replace(install("/old/permd"), file.old, file.mine, 1)
			writeConfig(t, p.path, edited)
			if got, want := install("/new/permd"), strings.Replace(edited, "/old/permd", "/new/permd", 1); got != want || !strings.Contains(got, file.mine) {
				t.Errorf("it is\n%s\nwant\n%s", got, want)
			}
			again := install("/new/permd")
			if !strings.Contains(again, file.mine) {
				t.Errorf("once more, and it is\n%s", again)
			}
		})
	}
}

// TestACPInstallAgainUnknown: what the doctor names puts another permd in front of
// an agent that only its person knows how to start.
func TestACPInstallAgainUnknown(t *testing.T) {
	uid := uint32(os.Geteuid())
	p, e, store := acpPlaceOf(t, "zed", "mine", "/opt/mine", "--acp")
	old := string(applied(t, store, func() (*configChange, error) { return planACPInstall(p, e, store, "/old/permd", uid) }))
	p, e, store = acpPlaceIn(t, e.home, "zed", "mine (permd)")
	got := string(applied(t, store, func() (*configChange, error) { return planACPInstall(p, e, store, "/new/permd", uid) }))
	if want := strings.Replace(old, "/old/permd", "/new/permd", 1); got != want {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
}

// TestACPLinkedFolder: settings in a linked folder are no error.
func TestACPLinkedFolder(t *testing.T) {
	p, e, store := acpPlaceOf(t, "zed", "claude")
	real := filepath.Join(e.home, "dotfiles")
	link := filepath.Dir(p.path)
	for _, dir := range []string{real, filepath.Dir(link)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	_, err := planACPInstall(p, e, store, testProgram, uint32(os.Geteuid()))
	if err == nil || cli.HintOf(err, "") != linkHint {
		t.Errorf("%v, hint %q", err, cli.HintOf(err, ""))
	}
}

// TestACPOtherCommand: if a given command is not used, install says so.
func TestACPOtherCommand(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		command    []string
		want       string
	}{
		{"another", `{"agent_servers": {"Claude": {"command": "npx", "args": ["claude-agent-acp", "a b"]}}}`, []string{"/opt/claude"}, "Claude was there and keeps its own command, npx claude-agent-acp 'a b': change that in the file"},
		{"another, behind permd", `{"agent_servers": {"Claude": {"command": "` + testProgram + `", "args": ["acp", "--", "npx"]}}}`, []string{"/opt/claude"}, "Claude was there and keeps its own command, npx: change that in the file"},
		{"the same", `{"agent_servers": {"Claude": {"command": "/opt/claude", "args": []}}}`, []string{"/opt/claude"}, ""},
		{"none named", `{"agent_servers": {"Claude": {"command": "npx"}}}`, nil, ""},
		{"none there", `{}`, []string{"/opt/claude", "--acp"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, e, _ := acpPlaceOf(t, "zed", "claude", tt.command...)
			after, err := e.install([]byte(tt.text), testProgram)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(e.otherCommands(after), "\n"); got != tt.want {
				t.Errorf("the note is %q, want %q", got, tt.want)
			}
		})
	}
}

// TestACPRemoveKeepsComments: what a person has noted in the list of agents stays
// when nothing else is left in it.
func TestACPRemoveKeepsComments(t *testing.T) {
	_, e, _ := acpPlaceOf(t, "zed", "claude")
	const text = "{\n  \"agent_servers\": {\n    // mine\n  }\n}\n"
	after, err := e.install([]byte(text), testProgram)
	if err != nil {
		t.Fatal(err)
	}
	if rest, found, err := e.remove(after); err != nil || !found || !strings.Contains(string(rest), "// mine") {
		t.Errorf("%v, %v, %s", err, found, rest)
	}
}

// TestACPShown: the name of an entry is printed without control characters.
func TestACPShown(t *testing.T) {
	_, e, _ := acpPlaceOf(t, "zed", "claude", "/opt/claude")
	for _, text := range []string{
		`{"agent_servers": {"claude\u001b[2K\n": {"command": "npx"}}}`,
		`{"agent_servers": {"claude\u001b[2K\n": {"command": "$X"}}}`,
		`{"agent_servers": {"claude\u001b[2K\n": 7}}`,
	} {
		e.agent.aliases = append(e.agent.aliases, "claude2k")
		after, err := e.install([]byte(text), testProgram)
		if got := fmt.Sprint(err, e.otherCommands(after)); strings.ContainsAny(got, "\x1b\n") || !strings.Contains(got, `claude\u{1b}`) {
			t.Errorf("%q", got)
		}
	}
}

// TestACPStarted: an agent is recognised by the program that a command starts, and
// not by its arguments.
func TestACPStarted(t *testing.T) {
	for _, tt := range []struct {
		agent, command string
		want           bool
	}{
		{"gemini", "npx -y @google/gemini-cli@1 --acp", true},
		{"gemini", "npx --package @google/gemini-cli -- gemini", true},
		{"gemini", "npx --package=@google/gemini-cli gemini", true},
		{"gemini", "npx --registry r gemini", true},
		{"gemini", "/usr/bin/env -u X A=b gemini --acp", true},
		{"gemini", "node --max-old-space-size=4096 /x/node_modules/@google/gemini-cli/dist/index.js", true},
		{"gemini", "pnpm dlx @google/gemini-cli", true},
		{"gemini", "uv tool run gemini", true},
		{"gemini", "npx -y other-agent --model gemini", false},
		{"gemini", "npx other-agent gemini", false},
		{"claude", "uvx --from other-agent other --provider claude", false},
		{"claude", "env MODEL=claude other", false},
		{"claude", "node /x/other.js claude", false},
		{"codex", "npm exec -- other-acp codex", false},
	} {
		agent, err := acpAgentOf(tt.agent, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := agent.matchesCommand(strings.Fields(tt.command)); got != tt.want {
			t.Errorf("%s: starts %s: %v", tt.command, tt.agent, got)
		}
	}
}
