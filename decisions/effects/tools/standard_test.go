package tools

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// claimLines returns the claims of a result that stand for the use of its tool, as lines does.
func claimLines(t *testing.T, r effects.Result) []string {
	t.Helper()
	var claims effects.Result
	for _, e := range r.Hints {
		if e.StandsFor == 0 {
			continue
		}
		if !e.Claimed || e.Hint || r.Effects[e.StandsFor-1].Kind != effects.KindUse {
			t.Errorf("%s: claimed %t, hint %t, stands for %s", e.Text, e.Claimed, e.Hint, r.Effects[e.StandsFor-1].Text)
		}
		claims.Effects = append(claims.Effects, e)
	}
	return lines(claims)
}

// strange is a call of an agent that permd has no profile of.
func strange(tool, input string) *effects.Call {
	c := agentCall("nobody", tool, input)
	c.Protocol = "permd"
	return c
}

// TestStandardNames has tools of agents without a profile, by names that mean the same to
// nearly all agents. Their use stays an effect of the call.
func TestStandardNames(t *testing.T) {
	with := func(c *effects.Call, change func(*effects.Call)) *effects.Call {
		change(c)
		return c
	}
	none := []string{}
	tests := []struct {
		name string
		call *effects.Call
		want []string
	}{
		{"shell text", strange("bash", `{"command":"git log | head","timeout":5}`), []string{"?run git log @rawInput.command", "?run head @rawInput.command"}},
		{"shell text with what it names", strange("shell", `{"command":"cat a > b"}`),
			[]string{"?write ./b @rawInput.command", "?run cat a @rawInput.command", "?read ./a @rawInput.command"}},
		{"shell text that is not plain", strange("bash", `{"command":"x=$(a); $x"}`), nil},
		{"the session's folder", strange("bash", `{"command":"make a","cwd":"`+effectstest.Cwd+`"}`), []string{"?run make a @rawInput.command"}},
		{"another folder", strange("bash", `{"command":"make a","cwd":"/tmp"}`), none},
		{"a list of words", strange("bash", `{"command":["rm","a"]}`), []string{"?run rm a @rawInput.command", "?delete ./a @rawInput.command"}},
		{"a list of words that as text would be others", strange("bash", `{"cmd":["ls","a;rm b"]}`),
			[]string{"?run ls a;rm b @rawInput.cmd", "?read ./a;rm b @rawInput.cmd"}},
		{"a list of commands", strange("bash", `{"commands":["ls a","rm b"]}`),
			[]string{"?run ls a @rawInput.commands[0]", "?read ./a @rawInput.commands[0]", "?run rm b @rawInput.commands[1]", "?delete ./b @rawInput.commands[1]"}},
		{"a list and a command", strange("bash", `{"commands":["ls"],"command":"rm a"}`), none},
		{"two commands", strange("bash", `{"command":"ls","cmd":"rm a"}`), none},
		{"wider permissions", strange("bash", `{"command":"ls","dangerouslyDisableSandbox":true}`), none},
		{"a member that is not known", strange("bash", `{"command":"ls","prefix":"sudo"}`), none},
		{"a member in another case", strange("bash", `{"command":"ls","Command":"rm a"}`), none},
		{"a harmless member that holds more", strange("bash", `{"command":"ls","description":{"command":"rm a"}}`), none},
		{"nothing to run", strange("bash", `{"command":""}`), none},
		{"no input", strange("bash", ""), none},
		{"read", strange("read_file", `{"path":"a.go","limit":3}`), []string{"?read ./a.go @rawInput.path"}},
		{"read of two", strange("read_file", `{"path":"a.go","file_path":"b"}`), none},
		{"read of a list", strange("read_file", `{"path":["a.go"]}`), none},
		{"read with new content", strange("read_file", `{"path":"a.go","content":"x"}`), none},
		{"write", strange("write_file", `{"path":"a.go","content":"x"}`), []string{"?write ./a.go @rawInput.path"}},
		{"edit", strange("edit", `{"file_path":"a.go","old_string":"x","new_string":"y"}`), []string{"?write ./a.go @rawInput.file_path"}},
		{"edit of further files", strange("edit", `{"file_path":"a.go","edits":[{"path":"b"}]}`), none},
		{"grep", strange("grep", `{"pattern":"x","path":"src"}`), []string{"?read ./src/** @rawInput.path"}},
		{"grep that leaves its folder", strange("grep", `{"pattern":"x","path":"src","glob":"../*"}`), []string{"?read ./src/** @rawInput.path", "?unknown - @rawInput.glob"}},
		{"glob", strange("glob", `{"pattern":"src/*.go"}`), []string{"?read ./src/** @rawInput.pattern"}},
		{"fetch", strange("fetch", `{"url":"https://example.com/a"}`), []string{"?connect example.com send @rawInput.url"}},
		{"fetch that sends", strange("fetch", `{"url":"https://example.com/a","method":"POST"}`), none},
		{"a name that means nothing", strange("deploy", `{"command":"ls"}`), none},
		{"another case", strange("BASH", `{"command":"ls"}`), none},

		{"a server's tool", with(strange("bash", `{"command":"ls"}`), func(c *effects.Call) { c.Tool.Server = "x" }), none},
		{"a server's tool by its name", strange("mcp__x__bash", `{"command":"ls"}`), none},
		{"the source of a server", with(strange("bash", `{"command":"ls"}`), func(c *effects.Call) { c.Tool.Source = "project" }), none},
		{"a tool that may destroy something", with(strange("bash", `{"command":"ls"}`), func(c *effects.Call) { c.Tool.Destructive = true }), none},
		{"a tool that gets a secret", with(strange("bash", `{"command":"ls"}`), func(c *effects.Call) { c.Credentials.Secrets = []string{"K"} }), none},
		{"an agent with a profile", with(strange("bash", `{"command":"ls"}`), func(c *effects.Call) { c.Agent.Name = "cline" }), none},
		{"a runtime of servers' tools", with(strange("bash", `{"command":"ls"}`), func(c *effects.Call) { c.Protocol = "otc" }), none},
		{"a declared tool", with(strange("bash", `{"command":"ls"}`), func(c *effects.Call) { c.Declared = declaration(t, "bash(command: command)") }), none},
		{"a name that is only shown", acp("nobody", func(c *effects.Call) { c.Claims.Title, c.Input = "read_file", []byte(`{"path":"a"}`) }), none},
		{"hidden characters", strange("read_file", `{"path":"a\u202e"}`), none},
	}
	w := toolWorld(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := w.Effects(tt.call)
			got := claimLines(t, r)
			if tt.want == nil {
				// The claims say that something is not understood.
				if !slices.ContainsFunc(got, func(l string) bool { return strings.HasPrefix(l, "?unknown") }) {
					t.Errorf("claims %q", got)
				}
			} else if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			checkResult(t, r)
		})
	}
}

// TestStandardAddsOnly: the usual meaning of a tool's name changes none of its effects, and
// takes no hint away.
func TestStandardAddsOnly(t *testing.T) {
	with := toolWorld(t)
	without := with
	profiles := *with.Profiles
	profiles.standard = nil
	without.Profiles = &profiles
	for name := range with.Profiles.standard {
		for _, input := range []string{
			`{"command":"git push && rm -rf a","description":"x"}`, `{"path":".env"}`, `{"file_path":"a","content":"x"}`, `{"path":"src","pattern":"x"}`,
			`{"pattern":"**"}`, `{"url":"https://example.com"}`, `{"command":"cd /tmp","x":1}`, `{}`, `null`, `"ls"`,
		} {
			a, b := with.Effects(strange(name, input)), without.Effects(strange(name, input))
			a.Hints = slices.DeleteFunc(a.Hints, func(e effects.Effect) bool { return e.StandsFor > 0 })
			if diff := cmp.Diff(lines(b), lines(a)); diff != "" {
				t.Errorf("%s %s: effects %s", name, input, diff)
			}
			if len(a.Hints) < len(b.Hints) || len(a.Rest) < len(b.Rest) || !cmp.Equal(codes(a), codes(b)) || a.Missing != b.Missing {
				t.Errorf("%s %s: hints %d and %d, defects %q and %q", name, input, len(a.Hints), len(b.Hints), codes(a), codes(b))
			}
		}
	}
}
