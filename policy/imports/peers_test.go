package imports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// peerTest is one settings file, with permd's verdicts about calls under it alone,
// and the notes about rules that were not imported as they are.
type peerTest struct {
	name string
	file string // below home
	text string
	// calls has lines "verdict call".
	calls string
	// notes has lines "outcome reason text".
	notes string
}

func testPeers(t *testing.T, peer Tool, tests []peerTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			im := translate(t, peer, home+"/"+tt.file, tt.text)
			w := newWorld(t, im, nil)
			for line := range strings.Lines(tt.calls) {
				want, call, ok := strings.Cut(strings.TrimSpace(line), " ")
				if !ok {
					continue
				}
				in := project
				if rest, ok := strings.CutPrefix(call, "(elsewhere) "); ok {
					in, call = home+"/other", rest
				}
				if d := w.decideIn(t, call, in); string(d.Verdict) != want {
					t.Errorf("%s: %s (%s), want %s", call, d.Verdict, d.Reason, want)
				}
			}
			var notes []string
			for _, n := range im.Notes {
				if n.Outcome != Kept && n.Outcome != Remark {
					notes = append(notes, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", n.Outcome, n.Reason, n.Text)), " "))
				}
			}
			var want []string
			for line := range strings.Lines(tt.notes) {
				if line = strings.TrimSpace(line); line != "" {
					want = append(want, line)
				}
			}
			if diff := cmp.Diff(want, notes); diff != "" {
				t.Errorf("what became of the rules (-want +got):\n%s", diff)
			}
			if t.Failed() {
				for _, f := range im.Files {
					t.Logf("-- %s --\n%s", f.Name, f.Text)
				}
			}
		})
	}
}

func TestCodex(t *testing.T) {
	const rules, config = ".codex/rules/default.rules", ".codex/config.toml"
	testPeers(t, Codex, []peerTest{
		{
			name: "prefixes with alternatives", file: rules,
			text:  "# mine\nprefix_rule(pattern = [\"git\", [\"log\", \"status\"]], match = [\"git log\"])\nprefix_rule(\n  pattern=['rm', '-rf'],\n  decision=\"forbidden\", justification = \"no\",\n)\nprefix_rule(pattern=[\"git\",\"push\"], decision=\"prompt\")\n",
			calls: "allow git log -3\nallow git status && git log\ndeny rm -fr x\nask git push\nask git diff",
		},
		{
			name: "the strictest of all that match", file: rules,
			text:  "prefix_rule(pattern=[\"git\"])\nprefix_rule(pattern=[\"git\",\"log\"], decision=\"forbidden\")\n",
			calls: "deny git log",
			notes: "narrower not known prefix_rule git: allow",
		},
		{
			name: "a shell is no prefix", file: rules, text: "prefix_rule(pattern=[[\"bash\",\"ls\"]])\nnetwork_rule(host=\"docs.rs\", protocol=\"https\", decision=\"allow\")\nnetwork_rule(host=\"evil.example\", decision=\"deny\")\nhost_executable(name=\"git\", paths=[\"/usr/bin/git\"])\n",
			calls: "ask bash x\nallow ls\nallow Fetch https://docs.rs/x\ndeny Fetch https://evil.example/",
			notes: "narrower interpreter prefix_rule bash|ls: allow\nleft out elsewhere host_executable git",
		},
		{
			name: "settings", file: config,
			text:  "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\nmodel = \"x\"\n[projects.\"/x\"]\ntrust_level = \"trusted\"\n[mcp_servers.github]\ncommand = \"x\"\ndisabled_tools = [\"delete_repo\"]\nenabled_tools = [\"a\"]\n[mcp_servers.github.tools.get_issue]\napproval_mode = \"approve\"\n[mcp_servers.github.tools.create]\napproval_mode = \"auto\"\n",
			calls: "ask rm x\ndeny mcp__github__delete_repo\nallow mcp__github__get_issue\nask mcp__github__create",
			notes: `mode elsewhere approval_policy: never
				mode elsewhere sandbox_mode: danger-full-access
				mode elsewhere projects."/x"
				left out elsewhere mcp_servers.github.enabled_tools
				mode elsewhere mcp_servers.github.tools.create.approval_mode: auto`,
		},
	})
}

func TestGemini(t *testing.T) {
	const settings, policies = ".gemini/settings.json", ".gemini/policies/mine.toml"
	testPeers(t, Gemini, []peerTest{
		{
			name: "the highest priority decides", file: policies,
			text: `[[rule]]
toolName = "run_shell_command"
decision = "deny"
priority = 1
[[rule]]
toolName = "run_shell_command"
commandPrefix = ["git log", "git status"]
decision = "allow"
priority = 100
[[rule]]
commandPrefix = "git log --all"
decision = "ask_user"
priority = 200
denyMessage = "x"
`,
			calls: "allow git log -3\nallow git status\nask git log --all\ndeny ls\ndeny git push",
		},
		{
			name: "expressions over the command", file: policies,
			text: `[[rule]]
toolName = "run_shell_command"
commandRegex = "cargo (build|test)\\b"
decision = "allow"
priority = 10
[[rule]]
toolName = "run_shell_command"
argsPattern = '"command":"git status'
decision = "allow"
priority = 10
[[rule]]
toolName = "run_shell_command"
argsPattern = "secret"
decision = "deny"
priority = 10
`,
			calls: "allow cargo build\nallow cargo test\nask cargo run\nallow cargo build && cargo test\nallow git status\ndeny cat secret.txt\ndeny git status; echo secret",
			notes: "narrower loose prefix run_shell_command argsPattern \"command\":\"git status: allow",
		},
		{
			name: "conditions", file: policies,
			text: `[[rule]]
toolName = "write_file"
decision = "allow"
priority = 10
modes = ["autoEdit"]
[[rule]]
mcpName = "github"
toolName = ["get_issue", "list"]
decision = "allow"
priority = 10
modes = ["default", "autoEdit", "yolo", "plan"]
[[rule]]
mcpName = "db"
decision = "deny"
priority = 10
interactive = false
[[rule]]
toolName = "mcp_web_*"
decision = "deny"
priority = 10
[[safety_checker]]
x = 1
`,
			calls: "ask Write src/a.py\nallow mcp__github__get_issue\nask mcp__github__x\nask mcp__db__q\ndeny mcp__web__get",
			notes: `left out condition write_file: allow
				asks condition db *: deny
				left out elsewhere safety_checker`,
		},
		{
			name: "settings", file: settings,
			text:  `{"tools": {"allowed": ["run_shell_command(git log)", "run_shell_command", "ReadFileTool"], "exclude": ["run_shell_command(rm -rf)", "web_fetch"], "new": 1}, "mcpServers": {"gh": {"trust": true, "excludeTools": ["drop"]}}, "mcp": {"excluded": ["bad"], "allowed": ["x"]}, "general": {"defaultApprovalMode": "yolo"}}`,
			calls: "allow git log\nask ls\nallow Read src/main.py\ndeny rm -fr x\ndeny Fetch https://x.example/\nallow mcp__gh__get\ndeny mcp__gh__drop\ndeny mcp__bad__x",
			notes: `unknown new
				left out elsewhere mcp.allowed
				mode elsewhere defaultApprovalMode: yolo
				left out everything allowed run_shell_command
				narrower loose prefix allowed ReadFileTool`,
		},
		{
			name: "only these tools", file: settings,
			text:  `{"tools": {"core": ["ReadFileTool", "run_shell_command(git log)"]}}`,
			calls: "ask git log\ndeny git push\ndeny Write src/a.py\nask Read src/main.py",
		},
	})
}

func TestOpenCode(t *testing.T) {
	const user = ".config/opencode/opencode.json"
	testPeers(t, OpenCode, []peerTest{
		{
			name: "the last rule decides", file: user,
			text:  `{"permission": {"bash": {"*": "ask", "git *": "allow", "git push *": "deny", "git push origin *": "ask", "grep *": "allow"}}}`,
			calls: "ask git log\ndeny git push\nask git push origin main\nallow grep x\nask ls",
			notes: "narrower not known bash git *: allow",
		},
		{
			name: "an exception is no copy of its program", file: user,
			text:  `{"permission": {"bash": {"*": "deny", "npm test *": "allow"}, "web*": "deny"}}`,
			calls: "allow npm test\ndeny ./npm test\ndeny /tmp/npm test\ndeny npm test && ls\ndeny Fetch https://x.example/",
		},
		{
			name: "a deny that a later rule undoes asks", file: user,
			text:  `{"permission": {"bash": {"rm *": "deny", "*": "allow"}}}`,
			calls: "ask rm x\nask ls",
			notes: "asks overruled bash rm *: deny\nleft out everything bash *: allow",
		},
		{
			name: "everything is denied but for", file: user,
			text:  `{"permission": {"*": "deny", "bash": {"git log *": "allow"}, "edit": {"docs/*": "allow", "*.env": "deny"}, "read": "allow"}}`,
			calls: "allow git log\ndeny ls\nallow Write docs/deep/a\ndeny Write src/a\ndeny Write docs/x.env\nallow Read src/main.py\ndeny Fetch https://x.example/\ndeny mcp__a__b",
			notes: "narrower loose prefix read *: allow",
		},
		{
			name: "paths, folders outside, tools and agents", file: user,
			text: `{"mcp": {"gh": {}}, "permission": {"edit": {"src/*/x?.ts": "deny", "~/notes/*": "allow"}, "external_directory": {"*": "deny", "~/other/**": "allow"},
				"webfetch": {"https://docs.rs/*": "allow", "https://x.example/a/*": "deny"}, "gh_get": "allow", "zz_*": "deny", "doom_loop": "ask"},
				"tools": {"skill": false}, "agent": {"build": {"permission": {"bash": {"ls *": "allow"}, "websearch": "deny"}}}}`,
			calls: "deny Write src/a/x1.ts\ndeny Read /srv/x\nallow Fetch https://docs.rs/x\nask Fetch https://x.example/b\ndeny Fetch https://x.example/a/b\nallow mcp__gh__get\nask mcp__gh__put\ndeny mcp__zz__x\ndeny skill\nask ls",
			notes: `wider no pattern edit src/*/x?.ts: deny
				narrower loose prefix external_directory ~/other/**: allow
				left out elsewhere doom_loop *: ask
				wider no pattern webfetch https://x.example/a/*: deny
				left out condition bash ls *: allow
				asks condition websearch *: deny`,
		},
	})
}

// TestRefused: a file that cannot be read completely is refused, since it is not
// known what it denies.
func TestRefused(t *testing.T) {
	tests := []struct {
		name string
		peer Tool
		file string
		text string
		want string
	}{
		{"a key twice", Claude, "a.json", `{"permissions": {"deny": []}, "permissions": {}}`, "duplicate"},
		{"no object", Claude, "a.json", `[1]`, "an object is expected"},
		{"a list that is none", Claude, "a.json", `{"permissions": {"deny": "Bash"}}`, "a list is expected"},
		{"a rule that is no text", Claude, "a.json", `{"permissions": {"deny": [1]}}`, "a text is expected"},
		{"cut off", Claude, "a.json", `{"permissions": {"deny": [`, "reading"},
		{"a comment that is open", Claude, "a.json", `{} /* x`, "comment"},
		{"a loop", Codex, "a.rules", "for x in []:\n  pass\n", "only calls"},
		{"a variable", Codex, "a.rules", "prefix_rule(pattern = WORDS)\n", "a text or a list"},
		{"an expression", Codex, "a.rules", "prefix_rule(pattern = [\"a\" + \"b\"])\n", "expressions"},
		{"an unknown call", Codex, "a.rules", "deny_all()\n", "permd does not know deny_all"},
		{"an unknown argument", Codex, "a.rules", "prefix_rule(pattern = [\"a\"], when = \"x\")\n", "no argument when"},
		{"an unknown decision", Codex, "a.rules", "prefix_rule(pattern = [\"a\"], decision = \"never\")\n", "no decision"},
		{"TOML that is none", Gemini, "a.toml", "[[rule]\n", "reading"},
		{"a rule without a decision", Gemini, "a.toml", "[[rule]]\ntoolName = \"x\"\n", "no decision"},
		{"an unknown action", OpenCode, "a.json", `{"permission": {"bash": "maybe"}}`, "not allow, ask or deny"},
		{"an alias", OpenCode, "a.md", "---\npermission: &x\n  bash: deny\nagent: *x\n---\n", "alias"},
		{"an unknown default", Zed, "a.json", `{"agent": {"tool_permissions": {"default": "maybe"}}}`, "expected"},
		{"no true or false", VSCode, "a.json", `{"chat.tools.terminal.autoApprove": {"rm": "no"}}`, "true or false"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tryTranslate(t, tt.peer, home+"/"+tt.file, tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
