package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/socket/hook"
)

// TestHarnessApprovals: what harnesses remember by themselves is seen, of every harness that has
// hooks.
func TestHarnessApprovals(t *testing.T) {
	home, other := t.TempDir(), t.TempDir()
	project := filepath.Join(home, "shop")
	t.Setenv("HOME", home)
	t.Setenv("COPILOT_HOME", other)
	for name, text := range map[string]string{
		filepath.Join(project, ".git/HEAD"):                                 "ref: refs/heads/main\n",
		filepath.Join(home, ".cursor/cli-config.json"):                      `{"permissions": {"allow": ["Shell(git)", "Read(src/**)", 7], "deny": ["Shell(rm)"]}}`,
		filepath.Join(project, ".cursor/cli.json"):                          `{"permissions": {"allow": []}}`,
		filepath.Join(home, ".cursor/permissions.json"):                     "{\"terminalAllowlist\": [\"git\"], // mine\n \"mcpAllowlist\": [\"x:*\",]}",
		filepath.Join(project, ".cursor/permissions.json"):                  `{"terminalAllowlist": ["make"`,
		filepath.Join(other, "permissions-config.json"):                     `{"locations": {"/p": {"tool_approvals": [{"kind": "commands", "commandIdentifiers": ["make", "git push"]}, {"kind": "write"}], "allowed_directories": ["/srv"]}, "/q": []}}`,
		filepath.Join(home, ".cline/data/globalState.json"):                 `{"autoApprovalSettings": {"enabled": true, "actions": {"readFiles": true, "editFiles": false, "executeSafeCommands": true}}}`,
		filepath.Join(home, ".cline/data/settings/cline_mcp_settings.json"): `{"mcpServers": {"gh": {"autoApprove": ["list"]}, "x": {}}}`,
		filepath.Join(home, ".claude/settings.local.json"):                  `{"permissions": {"allow": ["Bash(make:*)"]}}`,
		filepath.Join(home, ".codex/rules/default.rules"):                   "prefix_rule(pattern = [\"make\"], decision = \"allow\")\n",
		filepath.Join(home, ".gemini/settings.json"):                        `{"tools": {"allowed": ["run_shell_command(make)"]}}`,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(project)
	x := new(examination)
	x.harnessRules(t.Context())
	x.harnessApprovals()
	var all []string
	for _, f := range x.All {
		all = append(all, f.Text)
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{
		"cursor: 3 approvals of its own in " + home + "/.cursor/cli-config.json, which permd does not follow",
		"cursor: 2 approvals of its own in " + home + "/.cursor/permissions.json",
		"copilot: 4 approvals of its own in " + other + "/permissions-config.json",
		"cline: 2 approvals of its own in " + home + "/.cline/data/globalState.json",
		"cline: 1 approval of its own in " + home + "/.cline/data/settings/cline_mcp_settings.json",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no finding says: %s", want)
		}
	}
	for _, harness := range hook.Names() {
		if !strings.Contains(text, harness+": ") {
			t.Errorf("what %s remembers by itself is not seen:\n%s", harness, text)
		}
	}
	if strings.Contains(text, project+"/.cursor") {
		t.Errorf("files without approvals are named:\n%s", text)
	}
}

// TestApprovalsUnread: a file that cannot be read has none, and nothing waits for it.
func TestApprovalsUnread(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "null", `{"permissions": 7}`, `{"permissions": {"allow": {"a": "b"}}}`, `{"locations": [[]], "autoApprovalSettings": {"enabled": false, "actions": {"a": true}}}`,
		`{"autoApprovalSettings": 1, "mcpServers": [1]}`, strings.Repeat("[", 1<<20)} {
		name := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, a := range allApprovals {
			if n := countApprovals(name, a.count); n > 1 || n == 1 && !strings.Contains(text, `"a": "b"`) {
				t.Errorf("%d approvals in %.60s", n, text)
			}
		}
	}
	if n := countApprovals(t.TempDir(), cursorRules); n != 0 {
		t.Errorf("%d approvals in a folder", n)
	}
}
