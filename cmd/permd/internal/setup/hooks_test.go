package setup

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

const testProgram = "/opt/my tools/permd"

// placeOf returns the place of a harness's hook in a home, and its store.
func placeOf(t *testing.T, harness string, managed bool) (*configPlace, configStore) {
	t.Helper()
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME"} {
		t.Setenv(name, "")
	}
	dir := t.TempDir()
	for _, name := range []string{"home", "root"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	places := managedPlaces(hookPlaces(filepath.Join(dir, "root"), harness, filepath.Join(dir, "home"), hookOptions{}), managed)
	if len(places) != 1 {
		t.Fatalf("%d places", len(places))
	}
	return &places[0], configStore{filepath.Join(dir, "data", "hooks")}
}

func writeConfig(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

// awkward are files as people have them.
var awkward = map[string][]struct{ name, text string }{
	"claude": {
		{"nothing in it", ""},
		{"an empty object", "{}"},
		{"white space", " \n\n"},
		{"no line end, tabs", "{\n\t\"permissions\": {\"allow\": [\"Bash(ls)\"]}\n}"},
		{"an empty hooks", "{\n  \"hooks\": { }\n}\n"},
		{"others' hooks", "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"a permd hook claude\"}]}], \"Stop\": []}}\n"},
		{"line ends of two characters", "{\r\n  \"model\": \"x\",\r\n  \"hooks\": {\r\n  }\r\n}\r\n"},
		{"unknown members and long numbers", "{\"x\": 12345678901234567890.10, \"\\u00e9\": [1e400, null], \"y\": {\"hooks\": {}}}"},
	},
	"gemini": {
		{"comments", "// my settings\n{\n  \"ui\": {} // dark, {\n  /* hooks: none */\n}\n"},
		{"another hook that is off", "{\n  \"hooksConfig\": {\"enabled\": true, \"disabled\": [\"other\"]}\n}\n"},
		{"comments in hooks", "{\n  \"hooks\": {\n    // nothing yet\n  }\n}\n"},
	},
	"cursor": {
		{"a version", "{\n  \"version\": 1,\n  \"hooks\": {\n    \"beforeShellExecution\": [{\"command\": \"./mine.sh\"}]\n  }\n}\n"},
		{"no version", "{\"hooks\": {}}"},
	},
	"codex": {
		{"nothing in it", ""},
		{"no line end", "model = \"x\""},
		{"comments and tables", "# mine\nmodel = \"x\" # why\n\n[features]\nweb = true\n\n[mcp_servers.a]\ncommand = \"b\"\n"},
		{"others' hooks", "[[hooks.PreToolUse]]\nmatcher = \"^Bash$\"\n\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"mine\"\n\n[hooks.state.\"/a:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:1\"\n"},
		{"line ends of two characters", "model = \"x\"\r\n\r\n[tui]\r\ntheme = \"dark\"\r\n"},
		{"a text that looks like a table", "x = \"\"\"\n[features]\nhooks = false\n\"\"\"\n"},
		{"the marks in a text", "x = '''\n# <<< permd hook codex\n'''\n"},
	},
}

// TestHookRoundTrip installs into files as people have them, and uninstalls: with
// the record the files have their old bytes again; without it, the same meaning.
func TestHookRoundTrip(t *testing.T) {
	for harness, files := range awkward {
		for _, managed := range []bool{false, true} {
			for _, file := range files {
				name := harness + "/" + file.name
				if managed {
					name += ", managed"
				}
				t.Run(name, func(t *testing.T) {
					p, store := placeOf(t, harness, managed)
					writeConfig(t, p.path, file.text)
					uid := uint32(os.Geteuid())

					c, err := planInstall(p, store, testProgram, uid)
					if err != nil {
						t.Fatal(err)
					}
					if err := c.apply(store, uid); err != nil {
						t.Fatal(err)
					}
					written := read(t, p.path)
					if info, err := os.Stat(p.path); err != nil || info.Mode().Perm() != 0o640 {
						t.Errorf("the mode is not kept: %v, %v", info.Mode(), err)
					}
					e, err := p.edit.check(written)
					if err != nil || !cmp.Equal(e.programs, []string{testProgram}) || len(e.problems) > 0 {
						t.Fatalf("installed: %+v, %v\n%s", e, err, written)
					}
					if again, err := planInstall(p, store, testProgram, uid); err != nil || !again.isEmpty() {
						t.Errorf("installing again changes something: %v", err)
					}
					if backup := read(t, store.backup(p)); string(backup) != file.text {
						t.Errorf("the backup is %q", backup)
					}

					// Without the record: permd's entries go, and nothing else.
					rest, found, err := p.edit.remove(written)
					if err != nil || !found {
						t.Fatalf("removing: %v, %v", found, err)
					}
					if e, err := p.edit.check(rest); err != nil || len(e.programs) > 0 {
						t.Errorf("some are left: %+v, %v", e, err)
					}
					if want, err := p.edit.install([]byte(file.text), testProgram); err != nil || !bytes.Equal(want, written) {
						t.Errorf("not what is installed into the file: %v", err)
					}
					if twice, err := p.edit.install(rest, testProgram); err != nil || len(twice) == 0 {
						t.Errorf("not installed again: %v", err)
					}

					undo, err := planUninstall(p, store, uid)
					if err != nil {
						t.Fatal(err)
					}
					if err := undo.apply(store, uid); err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(file.text, string(read(t, p.path))); diff != "" {
						t.Errorf("undone (-want +got):\n%s", diff)
					}
					if _, err := os.Stat(store.dir); err == nil {
						t.Error("the record is still there")
					}
				})
			}
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestHookRemoveEdited removes permd from files that were changed after it was
// installed.
func TestHookRemoveEdited(t *testing.T) {
	const ours = `{"type": "command", "command": "/usr/bin/permd hook claude || exit 2", "timeout": 10}`
	tests := []struct{ harness, name, text, want string }{
		{"claude", "beside another in its group",
			`{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "mine"}, ` + ours + `]}]}}`,
			`{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "mine"}]}]}}`},
		{"claude", "twice", `{"a": 1, "hooks": {"PreToolUse": [{"hooks": [` + ours + `]}, {"hooks": [` + ours + `, ` + ours + `]}]}}`, `{"a": 1}`},
		{"claude", "an older form", `{"hooks": {"PreToolUse": [{"hooks": [{"command": "'/opt/my tools/permd' hook claude"}]}], "Stop": []}}`, `{"hooks": {"Stop": []}}`},
		{"claude", "another harness's", `{"hooks": {"PreToolUse": [{"hooks": [{"command": "/usr/bin/permd hook codex"}]}]}}`, ""},
		{"claude", "a pipe of a person's own", `{"hooks": {"PreToolUse": [{"hooks": [{"command": "tee log | permd hook claude"}]}]}}`, ""},
		{"claude", "an empty group of a person's own", `{"hooks": {"PreToolUse": [{"hooks": []}, {"hooks": [` + ours + `]}]}}`, `{"hooks": {"PreToolUse": [{"hooks": []}]}}`},
		{"claude", "hooks of another kind", `{"hooks": {"PreToolUse": "none"}}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.harness+"/"+tt.name, func(t *testing.T) {
			p, _ := placeOf(t, tt.harness, false)
			got, found, err := p.edit.remove([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			want := tt.want
			if want == "" {
				want = tt.text
			}
			if diff := cmp.Diff(want, string(got)); diff != "" || found != (tt.want != "") {
				t.Errorf("found %v (-want +got):\n%s", found, diff)
			}
		})
	}
}

// TestHookTOMLEdited: Codex and people also write into its configuration; entries
// that cannot be distinguished from theirs are left in place.
func TestHookTOMLEdited(t *testing.T) {
	edit := &tomlHooks{}
	installed, err := edit.install([]byte("model = \"x\"\n"), testProgram)
	if err != nil {
		t.Fatal(err)
	}
	const state = "\n[hooks.state.\"/a:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:1\"\n"
	rest, found, err := edit.remove(append(bytes.Clone(installed), state...))
	if err != nil || !found || string(rest) != "model = \"x\"\n"+state {
		t.Errorf("with Codex's own table behind it: %q, %v, %v", rest, found, err)
	}
	for name, text := range map[string]string{
		"no end mark":     strings.Replace(string(installed), tomlEnd, "", 1),
		"no marks":        strings.NewReplacer(tomlEnd, "", tomlBegin, "").Replace(string(installed)),
		"a hook inside":   strings.Replace(string(installed), tomlEnd, "\n[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"mine\"\n"+tomlEnd, 1),
		"a table inside":  strings.Replace(string(installed), tomlEnd, "[tui]\ntheme = \"dark\"\n"+tomlEnd, 1),
		"another outside": string(installed) + "\n[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"/usr/bin/permd hook codex\"\n",
	} {
		if rest, _, err := edit.remove([]byte(text)); err == nil {
			t.Errorf("%s: became %q", name, rest)
		}
	}
}

// TestHookRefused has files that are not changed.
func TestHookRefused(t *testing.T) {
	tests := []struct{ harness, name, text, why string }{
		{"claude", "comments", "{} // mine", "comments"},
		{"claude", "a name twice", `{"hooks": {}, "hooks": {}}`, "duplicate"},
		{"claude", "a trailing comma", `{"a": 1,}`, "cannot be read"},
		{"claude", "an array", `[]`, "the file is not an object"},
		{"claude", "hooks that are none", `{"hooks": []}`, "hooks is not an object"},
		{"claude", "an event that is none", `{"hooks": {"PreToolUse": {}}}`, "hooks.PreToolUse is not an array"},
		{"claude", "hooks that are off", `{"disableAllHooks": true}`, "disableAllHooks turns hooks off"},
		{"gemini", "hooks that are off", `{"hooksConfig": {"enabled": false}}`, "hooksConfig.enabled turns hooks off"},
		{"gemini", "permd that is off", `{"hooksConfig": {"disabled": ["a", "permd"]}}`, "hooksConfig.disabled turns hooks off"},
		{"codex", "no TOML", "model = ", "line 1"},
		{"codex", "hooks in one line", "hooks = {PreToolUse = []}\n", "cannot be added to"},
		{"codex", "an event in one line", "[hooks]\nPreToolUse = []\n", "cannot be added to"},
		{"codex", "hooks that are off", "[features]\nhooks = false\n", "features.hooks turns hooks off"},
		{"codex", "hooks that are off by the old name", "features.codex_hooks = false\n", "features.codex_hooks turns hooks off"},
		{"codex", "an unfinished block", tomlBegin + "\n", "were changed"},
		{"cline", "another's program", "#!/bin/sh\n", "another file in its place"},
		{"cline", "permd's program, changed", string(clineFile(testProgram, hookOptions{})) + "# mine\n", "was changed"},
		{"copilot", "another's file", "{}", "another file in its place"},
	}
	for _, tt := range tests {
		t.Run(tt.harness+"/"+tt.name, func(t *testing.T) {
			p, store := placeOf(t, tt.harness, false)
			writeConfig(t, p.path, tt.text)
			_, err := planInstall(p, store, testProgram, uint32(os.Geteuid()))
			if err == nil || !strings.Contains(err.Error(), tt.why) || !strings.Contains(err.Error(), p.path) || cli.HintOf(err, "") == "" {
				t.Errorf("%v (hint %q), want %q", err, cli.HintOf(err, ""), tt.why)
			}
			if got := read(t, p.path); string(got) != tt.text {
				t.Errorf("it became %q", got)
			}
		})
	}
}

func TestHookProgram(t *testing.T) {
	for command, want := range map[string]string{
		hookCommand("/usr/bin/permd", "claude", hookOptions{}): "/usr/bin/permd",
		hookCommand(testProgram, "claude", hookOptions{}):      testProgram,
		"permd hook claude":            "permd",
		"/usr/bin/permd-2 hook claude": "/usr/bin/permd-2",
		hookCommand(testProgram, "claude", hookOptions{wait: 90 * time.Second}): testProgram,
		"permd hook claude --wait 5m":                                           "permd",
		hookCommand(testProgram, "claude", hookOptions{time.Minute, true}):      testProgram,
		"permd hook claude --system || exit 2":                                  "permd",
		"permd hook claude --system --after":                                    "",
		"permd hook claude --wait 5m --system":                                  "",
		"permd hook claude --wait 5m --after":                                   "",
		"permd hook claude --wait 2h":                                           "",
		"permd hook claude --wait 0s":                                           "",
		"permd hook claude --wait":                                              "",
		"permd hook claude --wait 5m; log":                                      "",
		"/usr/bin/permd hook codex":                                             "",
		"/usr/bin/other hook claude":                                            "",
		"permd hook claude --permission-prompt-tool":                            "",
		"log; permd hook claude":                                                "",
		"'a' 'permd' hook claude":                                               "",
		"'a'; 'permd' hook claude":                                              "",
		" hook claude":                                                          "",
		"":                                                                      "",
	} {
		if got := hookProgram(command, "claude"); got != want {
			t.Errorf("%q runs %q, want %q", command, got, want)
		}
	}
	for _, path := range []string{"/a'b/permd", "/a\"/permd", "/$HOME/permd", "/a`b/permd", "/a\\b/permd", "/a\nb/permd", "/%h/permd", "/{a}/permd", "/usr/bin/other"} {
		if checkNamedProgram(path) == nil {
			t.Errorf("%q is taken", path)
		}
	}
	if err := checkNamedProgram(testProgram); err != nil {
		t.Error(err)
	}
}

// TestHookWeak: the doctor reports every way around permd's entry.
func TestHookWeak(t *testing.T) {
	install := func(t *testing.T, harness string) string {
		p, _ := placeOf(t, harness, false)
		text, err := p.edit.install(nil, testProgram)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	tests := []struct{ harness, from, to, want string }{
		{"claude", `"block"`, `"continue"`, "onFailure"},
		{"claude", `"timeout": 10`, `"timeout": 1`, "timeout is not 10"},
		{"claude", `"matcher": "*"`, `"matcher": "Bash"`, "matcher leaves tools out"},
		{"claude", ` || exit 2`, ``, "exit 2"},
		{"claude", `"timeout": 10`, `"timeout": 10, "async": true`, "async"},
		{"claude", `"timeout": 10`, `"timeout": 10, "asyncRewake": true`, "async"},
		{"claude", `"timeout": 10`, `"timeout": 10, "if": "Bash(git *)"`, "its if leaves calls out"},
		{"claude", `"type": "command"`, `"type": "prompt"`, "type is not command"},
		{"claude", "{\n  \"hooks\"", "{\"disableAllHooks\": true,\n  \"hooks\"", "turns hooks off"},
		{"gemini", `10000`, `10`, "timeout is not 10000"},
		{"gemini", "{\n  \"hooks\"", "{\"hooksConfig\": {\"enabled\": false},\n  \"hooks\"", "turns hooks off"},
		{"cursor", `"failClosed": true`, `"failClosed": false`, "failClosed"},
		{"cursor", "beforeReadFile", "beforeReadFiles", "nothing asks permd at beforeReadFile"},
		{"codex", "timeout = 10", "timeout = 1", "timeout is not 10"},
		{"codex", "PermissionRequest", "Stop", "nothing asks permd at PermissionRequest"},
		{"codex", "[[hooks.PreToolUse]]\n", "[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n", "matcher leaves tools out"},
		{"codex", "timeout = 10", "timeout = 10\nasync = true", "async"},
		{"codex", " || exit 2", "", "exit 2"},
		{"codex", "# >>>", "[features]\nhooks = false\n# >>>", "turn hooks off"},
		{"copilot", "timeoutSec", "timeout", "was changed"},
		{"cline", "&& exit 0", "; exit 0", "was changed"},
	}
	for _, tt := range tests {
		t.Run(tt.harness+"/"+tt.want, func(t *testing.T) {
			good := install(t, tt.harness)
			p, _ := placeOf(t, tt.harness, false)
			if e, err := p.edit.check([]byte(good)); err != nil || len(e.problems) > 0 || len(e.programs) != 1 {
				t.Fatalf("as installed: %+v, %v", e, err)
			}
			bad := strings.ReplaceAll(good, tt.from, tt.to)
			if bad == good {
				t.Fatalf("%q is not in it:\n%s", tt.from, good)
			}
			e, err := p.edit.check([]byte(bad))
			if err != nil || !strings.Contains(strings.Join(e.problems, "\n"), tt.want) {
				t.Errorf("%+v, %v\n%s", e, err, bad)
			}
		})
	}
}

// TestHookDocs: the documents name the files that are changed.
func TestHookDocs(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, harness := range hookHarnesses() {
		own, _ := placeOf(t, harness, false)
		// From the home of the test on.
		_, path, _ := strings.Cut(own.path, "/home/")
		line := "| `" + harness + "` | `~/" + path + "` | "
		if !strings.Contains(string(text), line) {
			t.Errorf("docs/hooks.md has no line %q", line)
		}
		if runtime.GOOS != "linux" {
			continue // the organisation's are elsewhere
		}
		for _, p := range managedPlaces(hookPlaces("", harness, "/home", hookOptions{}), true) {
			if line += "`" + p.path + "` | "; !strings.Contains(string(text), line) {
				t.Errorf("docs/hooks.md has no line %q", line)
			}
		}
	}
}
