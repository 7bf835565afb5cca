package tools

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/shell"
	"github.com/permd/permd/internal/strictjson"
)

// TestDefects has calls whose parts contradict each other or are not what they
// seem, and similar honest calls.
func TestDefects(t *testing.T) {
	claude := func(tool, input, kind, title string) *effects.Call {
		c := agentCall("claude-code", tool, input)
		c.Claims.Kind, c.Claims.Title = kind, title
		return c
	}
	stranger := func(input, kind, title string) *effects.Call {
		c := agentCall("nobody", "", input)
		c.Claims.Kind, c.Claims.Title = kind, title
		return c
	}
	with := func(c *effects.Call, change func(c *effects.Call)) *effects.Call {
		change(c)
		return c
	}
	tests := []struct {
		name string
		call *effects.Call
		want []string
	}{
		{"title is the command", claude("Bash", `{"command":"make a"}`, "execute", "make a"), nil},
		{"title in back quotes", claude("Bash", "{\"command\":\"echo `date`\"}", "execute", "`echo \\`date\\``"), nil},
		{"title is another command", claude("Bash", `{"command":"make b"}`, "execute", "make a"), []string{"contradiction @title"}},
		{"title is the beginning", claude("Bash", `{"command":"make a && make b"}`, "execute", "make a"), []string{"contradiction @title"}},
		{"title is cut", claude("Bash", `{"command":"make aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa && make b"}`, "execute", "make aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…"), nil},
		{"title is cut short", claude("Bash", `{"command":"make a && make b"}`, "execute", "make a…"), []string{"contradiction @title"}},
		{"title of an agent that sums up", stranger(`{"command":"make a"}`, "execute", "Build everything"), nil},

		{"kind says read, command changes", stranger(`{"command":"rm build"}`, "read", "Read a"), []string{"contradiction @kind"}},
		{"kind says read, command of a program nobody knows", stranger(`{"command":"frobnicate"}`, "search", ""), []string{"contradiction @kind"}},
		{"kind says read, command reads", stranger(`{"command":"cat a"}`, "read", ""), nil},
		{"kind says read, with a diff", with(claude("Read", `{"file_path":"a"}`, "read", ""), func(c *effects.Call) { c.Claims.Diffs = []effects.Diff{{Path: "a", From: "content[0]"}} }),
			[]string{"contradiction @kind", "contradiction @content[0]"}},
		{"kind of an agent that guesses it", with(agentCall("codex", "shell", `{"command":"rm build"}`), func(c *effects.Call) { c.Claims.Kind = "read" }), nil},

		{"diff of another file", with(claude("Edit", `{"file_path":"a"}`, "edit", ""), func(c *effects.Call) {
			c.Claims.Diffs = []effects.Diff{{Path: "/home/ana/.bashrc", From: "content[0]"}}
		}),
			[]string{"contradiction @content[0]"}},
		{"second diff of another file", with(claude("Edit", `{"file_path":"a"}`, "edit", ""), func(c *effects.Call) {
			c.Claims.Diffs = []effects.Diff{{Path: effectstest.Cwd + "/a", From: "content[0]"}, {Path: ".git/hooks/pre-commit", From: "content[1]"}}
		}), []string{"contradiction @content[1]"}},
		{"diff of the same file by another name", with(claude("Edit", `{"file_path":"/home/ana/link/src/vat.ts"}`, "edit", ""), func(c *effects.Call) {
			c.Claims.Diffs = []effects.Diff{{Path: effectstest.Cwd + "/src/vat.ts", From: "content[0]"}}
		}), nil},
		{"location elsewhere", with(claude("Write", `{"file_path":"/home/ana/.bashrc"}`, "edit", ""), func(c *effects.Call) {
			c.Claims.Locations = []effects.Location{{Path: effectstest.Cwd + "/a", From: "locations[0].path"}}
		}), []string{"contradiction @locations[0].path"}},
		{"location of a parent", with(claude("Write", `{"file_path":"/home/ana/.bashrc"}`, "edit", ""), func(c *effects.Call) {
			c.Claims.Locations = []effects.Location{{Path: "/home/ana", From: "locations[0].path"}}
		}), nil},
		{"location of a file with a longer name", with(claude("Write", `{"file_path":"/home/ana/notes"}`, "edit", ""), func(c *effects.Call) {
			c.Claims.Locations = []effects.Location{{Path: "/home/ana/notes.txt", From: "locations[0].path"}}
		}), []string{"contradiction @locations[0].path"}},
		{"locations of a command are guesses", with(claude("Bash", `{"command":"cat a"}`, "execute", "cat a"), func(c *effects.Call) {
			c.Claims.Locations = []effects.Location{{Path: "/etc/hosts", From: "locations[0].path"}}
		}), nil},

		{"two commands", stranger(`{"command":"make a","cmd":"make b"}`, "execute", ""), []string{"contradiction @rawInput.cmd"}},
		{"the same command twice", stranger(`{"command":"make a","cmd":"make a"}`, "execute", ""), nil},
		{"command and another list", stranger(`{"command":"make a","commands":["make b"]}`, "execute", ""), []string{"contradiction @rawInput.commands"}},
		{"two paths", claude("Read", `{"file_path":"a","path":"/etc/hosts"}`, "read", ""), []string{"contradiction @rawInput.path"}},
		{"two folders", with(agentCall("codex", "exec_command", `{"cmd":"make","workdir":"/tmp","cwd":"/etc"}`), func(*effects.Call) {}), []string{"contradiction @rawInput.cwd"}},
		{"folder of a tool that takes none", claude("Read", `{"file_path":"a","cwd":"/tmp"}`, "read", ""), []string{"contradiction @rawInput.cwd"}},
		{"command of a file tool", claude("Read", `{"file_path":"a","command":"make b"}`, "read", ""), []string{"contradiction @rawInput.command", "contradiction @kind"}},
		{"address of a shell", claude("Bash", `{"command":"make a","url":"https://a.example"}`, "execute", ""), []string{"contradiction @rawInput.url"}},
		{"server in the name and beside it", with(claude("mcp__github__merge", `{}`, "other", ""), func(c *effects.Call) { c.Tool.Server = "evil" }), []string{"contradiction @tool"}},
		{"server written as names are", with(claude("mcp__my_srv__merge", `{}`, "other", ""), func(c *effects.Call) { c.Tool.Server = "my srv" }), nil},
		{"title names another server's tool", stranger(`{"server":"github","tool":"read","arguments":{}}`, "other", "mcp.prod.drop"), []string{"contradiction @title"}},

		{"two servers", stranger(`{"server":"github","serverName":"evil","tool":"x"}`, "other", ""), []string{"contradiction @rawInput"}},
		{"arguments twice", stranger(`{"server":"github","tool":"x","arguments":{},"args":{}}`, "other", ""), []string{"contradiction @rawInput.args"}},
		{"server under another case", stranger(`{"server":"github","tool":"x","Tool":"y"}`, "other", ""), []string{"near_miss @rawInput"}},

		{"case beside", claude("Bash", `{"command":"git status","Command":"make b"}`, "execute", ""), []string{"near_miss @rawInput", "contradiction @rawInput.Command"}},
		{"case alone", stranger(`{"COMMAND":"make b"}`, "execute", ""), []string{"near_miss @rawInput"}},
		{"zero width", claude("Read", "{\"file_path\":\"a\",\"file\u200b_path\":\"/etc/hosts\"}", "read", ""), []string{"near_miss @rawInput", "contradiction @rawInput[\"file\\u200b_path\"]"}},
		{"Kelvin sign", stranger("{\"wor\u212adir\":\"/tmp\",\"command\":\"make a\"}", "execute", ""), []string{"near_miss @rawInput"}},
		{"NUL at the end", stranger(`{"command\u0000":"make b"}`, "execute", ""), []string{"near_miss @rawInput"}},
		{"in a list", with(agentCall("cline", "run_commands", `{"commands":[{"command":"make a","Command":"make b"}]}`), func(*effects.Call) {}), []string{"near_miss @rawInput.commands[0]"}},
		{"in changes", with(agentCall("codex", "apply_patch", `{"changes":{"a":{"type":"update","Move_path":"/etc/hosts"}}}`), func(*effects.Call) {}), []string{"near_miss @rawInput.changes.a"}},
		{"in arguments of a server", claude("mcp__x__y", `{"a":{"PATH":"/etc/hosts"}}`, "other", ""), []string{"near_miss @rawInput.a"}},
		{"another word", claude("Bash", `{"command":"make a","commander":"x","descriptioN":"y"}`, "execute", ""),
			[]string{"contradiction @rawInput.commander", "contradiction @rawInput.descriptioN"}},

		// Claude's Bash has no member for a folder: the command ignores it, so the
		// path is another one than it seems.
		{"folder that the tool does not take", claude("Bash", `{"command":"cat ../x","cwd":"docs"}`, "execute", ""), []string{"contradiction @rawInput.cwd"}},
		{"another name of such a folder", claude("Bash", `{"command":"cat ../x","workdir":"docs"}`, "execute", ""), []string{"contradiction @rawInput.workdir"}},
		{"folder by another agent's name", agentCall("opencode", "bash", `{"command":"cat ../x","cwd":"docs"}`), []string{"contradiction @rawInput.cwd"}},
		{"folder by another agent's name, in gemini", agentCall("gemini-cli", "run_shell_command", `{"command":"cat ../x","workdir":"docs"}`), []string{"contradiction @rawInput.workdir"}},
		{"folder that gemini's tool takes", agentCall("gemini-cli", "run_shell_command", `{"command":"cat x","directory":"docs"}`), nil},
		{"folder that the tool takes", agentCall("opencode", "bash", `{"command":"cat x","workdir":"docs"}`), nil},

		{"bidi in the title", stranger(`{"command":"make a"}`, "execute", "make \u202ea"), []string{"characters @title"}},
		{"zero width in a path", claude("Read", "{\"file_path\":\"a\u200b\"}", "read", ""), []string{"characters @rawInput.file_path"}},
		{"escape in a command", claude("Bash", `{"command":"make a\u001b[2K"}`, "execute", ""), []string{"characters @rawInput.command"}},
		{"hidden character in the tool's name", claude("Read\u200b", `{"file_path":"a"}`, "read", ""), []string{"characters @tool"}},
		{"letters of any language", claude("Bash", `{"command":"make żółć 日本"}`, "execute", "make żółć 日本"), nil},
	}
	w := toolWorld(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := strictjson.Check(tt.call.Input); err != nil {
				t.Fatalf("the test's input is not valid: %v", err)
			}
			r := w.Effects(tt.call)
			if got := codes(r); !slices.Equal(got, tt.want) {
				t.Errorf("defects %q, want %q; effects %q", got, tt.want, lines(r))
			}
			checkResult(t, r)
		})
	}
}

// TestAttacks has calls that a careless reader would take for harmless, each with
// an effect that it must have, or that a person must be asked.
func TestAttacks(t *testing.T) {
	stranger := func(tool, input string) *effects.Call { return agentCall("nobody", tool, input) }
	claude := func(tool, input string) *effects.Call { return agentCall("claude-code", tool, input) }
	tests := []struct {
		name string
		call *effects.Call
		want string // the beginning of a line of the effects
	}{
		{"command under another case", claude("Bash", `{"command":"git status","Command":"make PWNED"}`), "run make PWNED"},
		{"homoglyph of a known tool", claude("Re\u0430d", `{"file_path":"a"}`), "use :"},
		{"name of a language's own property", claude("toString", `{}`), "use :toString"},
		{"server whose name begins like another", claude("mcp__github_evil__delete_repo", `{}`), "use github_evil:delete_repo"},
		{"server's tool named like a built-in", claude("mcp__x__Bash", `{"command":"ls"}`), "use x:Bash"},
		{"built-in's name with a server apart", func() *effects.Call { c := claude("Bash", `{"command":"ls"}`); c.Tool.Server = "x"; return c }(), "use x:Bash"},
		{"built-in of an agent that nobody knows", stranger("Bash", `{"command":"ls"}`), "use :Bash"},
		{"server that calls its source agent", func() *effects.Call {
			c := claude("mcp__x__y", `{}`)
			c.Tool.Server, c.Tool.Source = "x", " Agent"
			return c
		}(), "use x:y of server agent"},
		{"unknown tool that calls its source agent", func() *effects.Call { c := claude("x", `{}`); c.Tool.Source = "agent"; return c }(), "use :x of server agent"},
		{"JSON inside a harmless member", claude("Bash", `{"description":"x\",\"command\":\"git status","command":"make PWNED"}`), "run make PWNED"},
		{"gateway", claude("mcp__gateway__invoke_tool", `{"name":"gmail_delete"}`), "use gateway:invoke_tool"},
		{"patch hidden in an edit", agentCall("opencode", "edit", `{"filePath":"a","patchText":"*** Begin Patch\n*** Add File: /etc/cron.d/x\n*** End Patch"}`), "write /etc/cron.d/x"},
		{"file in free text of a fetch", agentCall("gemini-cli", "web_fetch", `{"prompt":"summarise file:///home/ana/.ssh/id_ed25519"}`), "read /home/ana/.ssh/id_ed25519"},
		{"list of paths", agentCall("gemini-cli", "read_many_files", `{"paths":["a","/home/ana/.ssh/id_ed25519"]}`), "read /home/ana/.ssh/id_ed25519"},
		{"stranger with a path and a verb", stranger("view_or_delete", `{"path":"/home/ana/.bashrc"}`), "^delete /home/ana/.bashrc"},
		{"text that asks to look like a tool", func() *effects.Call {
			c := agentCall("gemini-cli", "", "")
			c.ID, c.Claims.Kind, c.Claims.Title = "write_todos__mcp_x__1", "think", "x"
			return c
		}(), "use :"},
	}
	w := toolWorld(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := w.Effects(tt.call)
			got := lines(r)
			if !slices.ContainsFunc(got, func(l string) bool { return strings.HasPrefix(l, tt.want) }) {
				t.Errorf("effects %q, want one that begins with %q", got, tt.want)
			}
			if !strings.HasPrefix(tt.want, "use") {
				return
			}
			for i := range r.Effects {
				if u := r.Effects[i].Use; u != nil && u.Source == sourceAgent {
					t.Errorf("passes for the agent's own: %q", got)
				}
			}
		})
	}
}

// TestProfilesNeverReachServers calls a server's tool under every profile, with
// every name that a profile knows.
func TestProfilesNeverReachServers(t *testing.T) {
	w := toolWorld(t)
	for _, p := range w.Profiles.agents {
		for name := range p.tools {
			for _, c := range []*effects.Call{
				{Protocol: "acp", Tool: effects.Tool{Name: name, Server: "srv"}},
				{Protocol: "acp", Tool: effects.Tool{Name: "mcp__srv__" + name}},
				{Protocol: "acp", Claims: effects.Claims{Title: "mcp.srv." + name, Kind: "execute"}},
				{Protocol: "acp", Input: []byte(fmt.Sprintf(`{"server":"srv","tool":%q,"arguments":{}}`, name)), Claims: effects.Claims{Kind: "execute"}},
				{Protocol: "aap", Tool: effects.Tool{Name: name}},
			} {
				c.Agent, c.Cwd = effects.Party{Name: p.id}, effectstest.Cwd
				r := w.Effects(c)
				use := slices.IndexFunc(r.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindUse })
				if use < 0 || r.Effects[use].Use.Source == sourceAgent {
					t.Fatalf("%s: %s: %q", p.id, name, lines(r))
				}
			}
		}
	}
}

func TestBounds(t *testing.T) {
	w := toolWorld(t)
	many := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	tests := []struct {
		name, agent, tool, input string
	}{
		{"paths", "gemini-cli", "read_many_files", `{"paths":[` + many(5000, `"a"`) + `]}`},
		{"commands", "cline", "run_commands", `{"commands":[` + many(5000, `"make a"`) + `]}`},
		{"changes", "codex", "apply_patch", `{"changes":[` + many(5000, `{"path":"a","kind":"add"}`) + `]}`},
		{"patch", "codex", "apply_patch", `{"input":"*** Begin Patch\n` + strings.Repeat(`*** Add File: a\n`, 5000) + `*** End Patch"}`},
		{"arguments", "claude-code", "mcp__x__y", `{"a":[` + many(5000, `{"path":"a"}`) + `]}`},
		{"addresses", "gemini-cli", "web_fetch", `{"prompt":"` + strings.Repeat("http://a.example ", 5000) + `"}`},
		{"effects", "cline", "run_commands", `{"commands":[` + many(60, `"`+strings.Repeat("make a;", 60)+`"`) + `]}`},
		{"defects", "claude-code", "mcp__x__y", `{"a":[` + many(5000, `{"PATH":"a"}`) + `]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := w.Effects(agentCall(tt.agent, tt.tool, tt.input))
			if len(r.Effects) > shell.MaxEffects+1 || len(r.Defects) > shell.MaxEffects {
				t.Errorf("%d effects, %d defects", len(r.Effects), len(r.Defects))
			}
			unknown := slices.ContainsFunc(r.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindUnknown })
			if !unknown && len(r.Defects) == 0 {
				t.Error("neither unknown nor defective")
			}
		})
	}
}
