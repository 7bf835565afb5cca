package tools

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// declaration reads "name(member: meaning, …)", as DeclaredTool.String writes it.
func declaration(t testing.TB, text string) *effects.DeclaredTool {
	t.Helper()
	name, rest, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	d := &effects.DeclaredTool{Name: name}
	for m := range strings.SplitSeq(rest, ", ") {
		if member, means, ok := strings.Cut(m, ": "); ok {
			d.Members = append(d.Members, effects.DeclaredMember{Name: member, Means: means})
		}
	}
	slices.SortFunc(d.Members, func(a, b effects.DeclaredMember) int { return strings.Compare(a.Name, b.Name) })
	return d
}

// declaredCall is a call of a declared tool of an agent without a profile.
func declaredCall(t testing.TB, declared, input string) *effects.Call {
	t.Helper()
	d := declaration(t, declared)
	c := agentCall("helper", d.Name, input)
	c.Protocol, c.Declared = "permd", d
	return c
}

func TestDeclaredTools(t *testing.T) {
	const (
		sh     = "run_command(cmd: command, dir: cwd, why: harmless)"
		exec   = "start(words: argv)"
		search = "find_text(needle: harmless, folder: tree, only: filter)"
		edit   = "change(file: write, text: harmless)"
	)
	call := func(declared, input string) *effects.Call { return declaredCall(t, declared, input) }
	with := func(c *effects.Call, change func(*effects.Call)) *effects.Call {
		change(c)
		return c
	}
	undeclared := []string{"contradiction @rawInput.x"}
	runToolCases(t, []toolCase{
		{name: "shell text", call: call(sh, `{"cmd":"git log | head","why":"look"}`), want: []string{"run git log @rawInput.cmd", "run head @rawInput.cmd"}},
		{name: "shell text in a folder", call: call(sh, `{"cmd":"cat a","dir":"/etc"}`), want: []string{"run cat a @rawInput.cmd", "read /etc/a @rawInput.cmd"}},
		{name: "shell text in a folder of a shell that moved", call: with(call(sh, `{"cmd":"cat a","dir":"."}`), func(c *effects.Call) {
			c.Folders = []string{effectstest.Cwd + "/src"}
		}), want: []string{"run cat a @rawInput.cmd", "unknown - @rawInput.cmd"}},
		{name: "a list as shell text", call: call(sh, `{"cmd":["echo","a; rm b"]}`),
			want: []string{"run echo a; rm b @rawInput.cmd"}, defects: []string{"contradiction @rawInput.cmd"}},
		{name: "words", call: call(exec, `{"words":["echo","a; rm b"]}`), want: []string{"run echo a; rm b @rawInput.words"}},
		{name: "text as words", call: call(exec, `{"words":"echo a"}`), want: []string{"unknown - @rawInput.words"}, defects: []string{"dropped @rawInput.words"}},
		{name: "search", call: call(search, `{"needle":"key","folder":"src"}`), want: []string{"read ./src/** @rawInput.folder"}},
		{name: "search everywhere", call: call(search, `{"needle":"key"}`), want: []string{"read ./** @cwd", "read /etc/** @cwd"}}, // by the link "out"
		{name: "search that leaves its folder", call: call(search, `{"needle":"x","folder":"src","only":"../*"}`),
			want: []string{"read ./src/** @rawInput.folder", "unknown - @rawInput.only"}},
		{name: "edit", call: call(edit, `{"file":"src/a","text":"x"}`), want: []string{"write ./src/a @rawInput.file"}},
		{name: "move", call: call("rename(old: from, new: write)", `{"old":"a","new":"b"}`),
			want: []string{"read ./a @rawInput.old", "delete ./a @rawInput.old", "write ./b @rawInput.new"}},
		{name: "address", call: call("browse(page: connect)", `{"page":"https://example.com/a"}`), want: []string{"connect example.com send @rawInput.page"}},
		{name: "code", call: call("python(source_text: code)", `{"source_text":"1"}`), want: []string{"unknown - @rawInput.source_text"}},
		{name: "text that is no patch", call: call("apply(file: read, diff_text: patch)", `{"file":"a","diff_text":"x"}`),
			want: []string{"read ./a @rawInput.file", "unknown - @rawInput"}, missing: true},
		{name: "grant", call: call("run_command(cmd: command, root: grant)", `{"cmd":"ls","root":true}`), want: []string{"run ls @rawInput.cmd", "mode - @rawInput.root"}},

		{name: "an undeclared member", call: call(sh, `{"cmd":"ls","x":"sudo"}`), want: []string{"run ls @rawInput.cmd"}, defects: undeclared},
		{name: "an undeclared member that is false", call: call(sh, `{"cmd":"ls","x":false}`), want: []string{"run ls @rawInput.cmd"}, defects: undeclared},
		{name: "an undeclared member that is null", call: call(sh, `{"cmd":"ls","x":null}`), want: []string{"run ls @rawInput.cmd"}},
		{name: "an undeclared member that others call harmless", call: call(sh, `{"cmd":"ls","description":"x"}`),
			want: []string{"run ls @rawInput.cmd"}, defects: []string{"contradiction @rawInput.description"}},
		{name: "an undeclared member that others run", call: call(sh, `{"cmd":"ls","command":"make"}`),
			want: []string{"run ls @rawInput.cmd", "run make @rawInput.command"}, defects: []string{"contradiction @rawInput.command", "contradiction @rawInput.command"}},
		{name: "an undeclared grant that is false", call: call(sh, `{"cmd":"ls","dangerouslyDisableSandbox":false}`),
			want: []string{"run ls @rawInput.cmd"}, defects: []string{"contradiction @rawInput.dangerouslyDisableSandbox"}},
		{name: "a declared member in other letters", call: call(sh, `{"cmd":"ls","Command":"make"}`),
			want: []string{"run ls @rawInput.cmd", "run make @rawInput.Command"}, defects: []string{"near_miss @rawInput", "contradiction @rawInput.Command"}},
		{name: "objects in a list", call: call("open_files(list: read)", `{"list":["a",{"path":"b","x":1}]}`),
			want: []string{"unknown - @rawInput.list[1]", "read ./a @rawInput.list[0]"}, defects: []string{"dropped @rawInput.list[1]"}},
		{name: "new content for a tool that reads", call: call("open_file(file: read, content: harmless)", `{"file":"a","content":"x"}`),
			want: []string{"read ./a @rawInput.file"}, defects: []string{"contradiction @rawInput"}},
		{name: "nothing of what it works on", call: call(sh, `{"why":"x"}`), want: []string{"unknown - @rawInput"}, missing: true},
		{name: "no input", call: call(edit, ``), want: []string{"unknown - @rawInput"}, missing: true},

		{name: "a kind that says more", call: with(call("open_file(file: read)", `{"file":"a"}`), func(c *effects.Call) { c.Claims.Kind = "edit" }),
			want: []string{"read ./a @rawInput.file"}, defects: []string{"contradiction @kind"}},
		{name: "a diff of another file", call: with(call(edit, `{"file":"src/a","text":"x"}`), func(c *effects.Call) {
			c.Claims.Diffs = []effects.Diff{{Path: "/etc/hosts", From: "content[0]"}}
		}), want: []string{"write ./src/a @rawInput.file"}, defects: []string{"contradiction @content[0]"}},

		// Tools that a declaration is not about.
		{name: "of a server", call: with(call("open_file(file: read)", `{"file":"a"}`), func(c *effects.Call) { c.Tool.Server = "files" }),
			want: []string{"use files:open_file @tool"}},
		{name: "of an agent with a profile", call: with(call("open_file(file: read)", `{"file":"a"}`), func(c *effects.Call) { c.Agent.Name = "codex" }),
			want: []string{"use :open_file @tool"}},
		{name: "of another name", call: with(call("open_file(file: read)", `{"file":"a"}`), func(c *effects.Call) { c.Tool.Name = "opens" }),
			want: []string{"use :opens @tool"}},
		{name: "over a protocol of servers", call: with(call("open_file(file: read)", `{"file":"a"}`), func(c *effects.Call) { c.Protocol = "otc" }),
			want: []string{"?use :open_file @tool"}},
		{name: "an object in a harmless member", call: call("peek(p: read, z: harmless)", `{"p":"a","z":{"command":"git push x"}}`),
			want: []string{"use :peek @tool", "run git push x @rawInput.z.command"}},
		{name: "a list in a harmless member", call: call("peek(p: read, z: harmless)", `{"p":"a","z":[{"path":"b"}]}`),
			want: []string{"use :peek @tool", "^read ./b @rawInput.z[0].path", "^write ./b @rawInput.z[0].path"}},
		{name: "declared wrongly", call: call("open_file(path: harmless)", `{"path":"a"}`),
			want: []string{"use :open_file @tool", "^read ./a @rawInput.path"}},
	})
}

// TestDeclaredMark checks that all effects of a declared tool say so, its hints and what
// may only be denied too, and that no others do.
func TestDeclaredMark(t *testing.T) {
	w := toolWorld(t)
	for _, input := range []string{`{"cmd":"make -f ~/x; cat out/hosts"}`, `{"cmd":"find . -type f | xargs cat"}`} {
		c := declaredCall(t, "sh(cmd: command)", input)
		c.Claims.Locations = []effects.Location{{Path: effectstest.Cwd + "/src", From: "locations[0].path"}}
		for _, undo := range []bool{false, true} {
			if undo {
				c.Declared = nil
			}
			r := w.Effects(c)
			for _, list := range [][]effects.Effect{r.Effects, r.Hints, r.Rest} {
				for i := range list {
					if list[i].Declared == undo {
						t.Errorf("%s: %s: declared is %v", input, list[i].Text, undo)
					}
				}
			}
		}
	}
}

// TestDeclaredSearchReadsSecrets checks that a search is taken for one, whatever its
// members are called: a tool of an unknown agent may print what it finds.
func TestDeclaredSearchReadsSecrets(t *testing.T) {
	w := toolWorld(t)
	known := w.Effects(agentCall("claude-code", "Grep", `{"pattern":"x","path":"."}`))
	for _, input := range []string{`{"needle":"x","folder":"."}`, `{"folder":".","type":"go","include":"*.go"}`} {
		got := w.Effects(declaredCall(t, "find_text(needle: harmless, folder: tree, type: harmless, include: filter)", input))
		if got.Effects[0].Tags != known.Effects[0].Tags {
			t.Errorf("%s: tags %v, want those of Grep, %v", input, got.Effects[0].Tags.Names(), known.Effects[0].Tags.Names())
		}
	}
}

func TestDeclarable(t *testing.T) {
	p := toolWorld(t).Profiles
	unknown := effects.Party{Name: "helper"}
	list := func(texts ...string) (all []effects.DeclaredTool) {
		for _, text := range texts {
			all = append(all, *declaration(t, text))
		}
		return all
	}
	many := func(n int, format string) (all []effects.DeclaredTool) {
		for i := range n {
			all = append(all, *declaration(t, fmt.Sprintf(format, i)))
		}
		return all
	}
	wide := func(n int) effects.DeclaredTool {
		d := effects.DeclaredTool{Name: "wide"}
		for i := range n {
			d.Members = append(d.Members, effects.DeclaredMember{Name: fmt.Sprintf("m%03d", i), Means: "read"})
		}
		return d
	}
	long := strings.Repeat("n", maxDeclaredName)
	for _, tt := range []struct {
		name  string
		agent effects.Party
		tools []effects.DeclaredTool
		err   string // "" if it is taken
	}{
		{"shell and file", unknown, list("sh(cmd: command)", "open(file: read)"), ""},
		{"no name of the agent", effects.Party{}, list("sh(cmd: command)"), ""},
		{"known members, refined", unknown, list("find(path: tree, directory: read, url: connect, command: argv)"), ""},
		{"as many as may be", unknown, many(maxDeclaredTools, "t%d(a: read)"), ""},
		{"as wide as may be", unknown, []effects.DeclaredTool{wide(maxDeclaredMembers)}, ""},
		{"as long as may be", unknown, list(long + "(a: read)"), ""},

		{"an agent with a profile", effects.Party{Name: "Claude-Code"}, list("sh(cmd: command)"), "has a profile"},
		{"too many tools", unknown, many(maxDeclaredTools+1, "t%d(a: read)"), "more than 64 tools"},
		{"too many members", unknown, []effects.DeclaredTool{wide(maxDeclaredMembers + 1)}, "more than 32 members"},
		{"a long name", unknown, list(long + "n(a: read)"), "longer than 128 bytes"},
		{"a long member", unknown, list("t(" + long + "n: read)"), "longer than 128 bytes"},
		{"too many bytes", unknown, func() (all []effects.DeclaredTool) {
			for i := range maxDeclaredTools {
				d := effects.DeclaredTool{Name: fmt.Sprint("t", i)}
				for j := range maxDeclaredMembers {
					d.Members = append(d.Members, effects.DeclaredMember{Name: fmt.Sprintf("m%02d%s", j, long[:maxDeclaredName-3]), Means: "harmless"})
				}
				d.Members[0].Means = "read"
				all = append(all, d)
			}
			return all
		}(), "32768 bytes"},
		{"no name", unknown, list("(a: read)"), "the name is empty"},
		{"no name of a member", unknown, list("t(: read)"), "is empty"},
		{"a hidden character", unknown, list("t\u202e(a: read)"), "hidden"},
		{"a line break", unknown, list("t\n(a: read)"), "control"},
		{"a tool twice", unknown, list("t(a: read)", "u(a: read)", "t(a: write)"), "tools[2]: the name repeats"},
		{"a member twice", unknown, list("t(a: read, a: harmless)"), "stands twice"},
		{"a server's tool", unknown, list("mcp__files__read(path: read)"), "server's tool"},
		{"a server's tool, unclear", unknown, list("mcp_read(path: read)"), "server's tool"},
		{"an unknown meaning", unknown, list("t(a: path)"), "meaning that is not known"},
		{"a meaning of profiles alone", unknown, list("t(a: read, b: ignore)"), "meaning that is not known"},
		{"no meaning", unknown, list("t(a: )"), "meaning that is not known"},
		{"no members", unknown, list("t()"), "no member says"},
		{"only harmless members", unknown, list("t(a: harmless, b: cwd)"), "no member says"},
		{"a command that is harmless", unknown, list("t(a: read, command: harmless)"), "less than its name"},
		{"a command in other letters", unknown, list("t(a: read, Command: harmless)"), "less than its name"},
		{"a command that is read", unknown, list("t(cmd: read)"), "less than its name"},
		{"a path that is an address", unknown, list("t(path: connect)"), "less than its name"},
		{"an address that is harmless", unknown, list("t(a: read, url: harmless)"), "less than its name"},
		{"a target that is read", unknown, list("t(destination: read)"), "less than its name"},
		{"a grant that is code", unknown, list("t(grantRoot: code)"), "less than its name"},
		{"changes", unknown, list("t(changes: write)"), "less than its name"},
		{"a shell that reads", unknown, list("bash(script: read)"), "less than the tools of that name"},
		{"a write that reads", unknown, list("write_file(path: read)"), "less than the tools of that name"},
		{"a write that writes", unknown, list("write_file(path: write)"), ""},
		{"a fetch that reads", unknown, list("WebFetch(file: read)"), "less than the tools of that name"},
		{"a move to nowhere", unknown, list("t(a: from)"), "where to"},
		{"a filter of nothing", unknown, list("t(a: read, b: filter)"), "filter"},
		{"a shell of nothing", unknown, list("t(a: read, b: shell)"), "shell"},
	} {
		err := p.Declarable(tt.agent, tt.tools)
		if got := fmt.Sprint(err); (err == nil) != (tt.err == "") || err != nil && !strings.Contains(got, tt.err) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
	}
	if err := p.WithoutDeclared().Declarable(unknown, list("sh(cmd: command)")); err == nil {
		t.Error("declarations that the settings refuse are taken")
	}
	w := toolWorld(t)
	w.Profiles = w.Profiles.WithoutDeclared()
	if got := lines(w.Effects(declaredCall(t, "sh(cmd: command)", `{"cmd":"ls"}`))); !slices.Contains(got, "use :sh @tool") {
		t.Errorf("by settings that refuse what was declared before: %v", got)
	}
}
