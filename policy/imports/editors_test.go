package imports

import "testing"

func TestZed(t *testing.T) {
	const user = ".config/zed/settings.json"
	wrap := func(s string) string {
		return "{\n  // mine\n  \"agent\": {\"tool_permissions\": {" + s + "}},\n}"
	}
	testTool(t, Zed, []toolTest{
		{
			name: "expressions that spell out words", file: user,
			text:  wrap(`"tools": {"terminal": {"always_allow": [{"pattern": "^cargo\\s+(build|check)\\b"}, {"pattern": "^git (log|status)$"}, {"pattern": "^ls\\b"}], "always_deny": [{"pattern": "rm\\s+-rf"}], "always_confirm": [{"pattern": "git\\s+push"}]}}`),
			calls: "allow cargo build\nallow cargo check && ls\nask cargo run\nallow git log\nask git log -3\ndeny rm -rf x\ndeny ls; rm  -rf x\nask git push\ndeny RM -rf x",
		},
		{
			name: "loose expressions", file: user,
			text:  wrap(`"tools": {"terminal": {"always_allow": [{"pattern": "git status"}, {"pattern": ".*"}, {"pattern": "^git .*status"}, {"pattern": "^(ls"}], "always_deny": [{"pattern": "sudo", "case_sensitive": true}]}}`),
			calls: "allow git status\nask x git status\nask git -c core.pager=x status\ndeny sudo ls\nask sud ls",
			notes: `narrower loose prefix terminal always_allow: git status
				left out everything terminal always_allow: .*
				left out no words terminal always_allow: ^git .*status
				left out unreadable terminal always_allow: ^(ls`,
		},
		{
			name: "defaults", file: user,
			text:  wrap(`"default": "allow", "tools": {"terminal": {"default": "deny", "always_allow": [{"pattern": "^git log\\b"}]}, "delete_path": {"default": "confirm"}, "mcp:gh:get": {"default": "allow"}, "web_search": {"default": "deny"}}`),
			calls: "allow git log\ndeny ls\nallow mcp__gh__get\nask mcp__gh__put\nask Write src/a.py",
			notes: "mode elsewhere default of every tool: allow",
		},
		{
			name: "paths and addresses", file: user,
			text:  wrap(`"tools": {"edit_file": {"always_allow": [{"pattern": "^src/"}, {"pattern": "\\.(md|txt)$"}, {"pattern": "x"}], "always_deny": [{"pattern": "\\.env"}]}, "fetch": {"always_allow": [{"pattern": "docs\\.rs"}, {"pattern": "github"}], "always_deny": [{"pattern": "internal\\.example"}]}}`),
			calls: "allow Write src/a.py\nallow Write deep/x.md\nask Write x\ndeny Write .env.local\nallow Fetch https://docs.rs/\nask Fetch https://docs.rs.evil.example/\nask Fetch https://evil.example/docs.rs\nask Fetch https://github.com/\ndeny Fetch https://a.internal.example/",
			notes: `narrower loose prefix edit_file always_allow: \.(md|txt)$
				left out no pattern edit_file always_allow: x
				wider no pattern edit_file always_deny: \.env
				narrower loose prefix fetch always_allow: docs\.rs
				left out no pattern fetch always_allow: github`,
		},
		{
			name: "an expression that permd cannot read", file: user,
			text:  wrap(`"tools": {"terminal": {"always_allow": [{"pattern": "^git log\\b"}], "always_deny": [{"pattern": "(?x) rm # all"}]}, "edit_file": {"always_confirm": [{"pattern": "["}]}}`),
			calls: "ask git log\nask ls\nask Write src/a.py",
			notes: `asks unreadable terminal always_deny: (?x) rm # all
				wider unreadable edit_file always_confirm: [`,
		},
		{
			name: "an exception looks at where a path leads", file: user,
			text:  wrap(`"tools": {"edit_file": {"default": "deny", "always_allow": [{"pattern": "^docs/"}]}}`),
			calls: "allow Write docs/a\ndeny Write docs/../src/a.py\ndeny Write src/a.py",
		},
		{
			name: "what Zed always denies", file: user, text: wrap(`"tools": {}`),
			calls: "deny rm -rf .\ndeny rm -rf ~\ndeny rm -rf /\ndeny rm -fr ../\ndeny echo x; rm -rf $HOME/\nask rm -rf build",
		},
	})
}

func TestVSCode(t *testing.T) {
	const user = ".config/Code/User/settings.json"
	wrap := func(s string) string {
		return `{"editor.fontSize": 12, "chat.tools.terminal.autoApprove": {` + s + `},}`
	}
	testTool(t, VSCode, []toolTest{
		{
			name: "words and expressions", file: user,
			text:  wrap(`"git log": true, "/^git (status|show\\b.*)$/": true, "rm": false, "/--force/": false, "cat": null, "/^npm run build$/": {"approve": true, "matchCommandLine": true}`),
			calls: "allow git log -3\nallow git status\nask git status -s\nask rm x\nask git log --force\nask cat x\nallow npm run build\nask npm run build && x",
		},
		{
			name: "patterns that VS Code ignores, and code", file: user,
			text:  wrap(`"": true, "/a*/": true, "/(/": true, "/.*/": true, "python": true, "/^git(?!.*push)/": true, "/^git .*/": true`),
			calls: "ask ls\nask python x.py\nask git push",
			notes: `left out broken : true
				left out broken /a*/: true
				left out unreadable /(/: true
				left out broken /.*/: true
				left out interpreter python: true
				left out no pattern /^git(?!.*push)/: true
				narrower not known /^git .*/: true`,
		},
		{
			name: "switched off", file: user, text: `{"chat.tools.terminal.enableAutoApprove": false, "chat.tools.terminal.autoApprove": {"ls": true, "rm": false}}`,
			calls: "ask ls\nask rm x",
			notes: "mode elsewhere chat.tools.terminal.enableAutoApprove: false\nleft out broken ls: true",
		},
		{
			name: "edits, addresses and the rest", file: user,
			text:  `{"chat.tools.edits.autoApprove": {"**/*": true, "**/*.lock": false, "a{b,c}": false}, "chat.tools.urls.autoApprove": {"https://docs.rs": true, "https://*.example.com/*": true, "https://x.example/a/*": true, "https://evil.example": {"approveRequest": false, "approveResponse": false}}, "chat.tools.global.autoApprove": true, "chat.tools.eligibleForAutoApproval": {"x": false}, "chat.tools.new": 1}`,
			calls: "allow Write src/a.py\nask Write go.lock\nask Write ab\nask Write .env\nallow Fetch https://docs.rs/x\nallow Fetch https://a.example.com/\nask Fetch https://x.example/a/b\nask Fetch https://evil.example/",
			notes: `mode elsewhere chat.tools.global.autoApprove: true
				unknown chat.tools.new
				narrower loose prefix edits **/*: true
				wider no pattern edits a{b,c}: false
				left out no pattern url https://x.example/a/*: true`,
		},
	})
}
