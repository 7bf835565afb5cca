package setup

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/jsonedit"
)

// acpPlaceOf returns the place of a client's file in a home of the test, and its
// store.
func acpPlaceOf(t *testing.T, client, name string, command ...string) (*configPlace, *acpEntries, configStore) {
	t.Helper()
	t.Setenv("PATH", "/nowhere")
	t.Setenv("XDG_CONFIG_HOME", "")
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	return acpPlaceIn(t, home, client, name, command...)
}

func acpPlaceIn(t *testing.T, home, client, name string, command ...string) (*configPlace, *acpEntries, configStore) {
	t.Helper()
	c, err := acpClientOf(client)
	if err != nil {
		t.Fatal(err)
	}
	agent, err := acpAgentOf(name, command)
	if err != nil {
		t.Fatal(err)
	}
	p, e, s, err := (&Installer{}).acpPlace(c, agent, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(p.path, home) || !strings.HasPrefix(s.dir, home) {
		t.Fatalf("%s and %s are not in %s", p.path, s.dir, home)
	}
	return p, e, s
}

// acpFiles are files as people have them, each with the words that start the agent
// after install.
var acpFiles = map[string][]struct {
	name, text, key string
	want            []string
}{
	"zed": {
		{"nothing in it", "", "Claude (permd)", []string{testProgram, "acp", "--", "claude-agent-acp"}},
		{"an empty object", "{}", "Claude (permd)", []string{testProgram, "acp", "--", "claude-agent-acp"}},
		{"comments, commas behind last members",
			"// mine\n{\n  \"theme\": \"x\", // {\n  \"agent_servers\": {\n    /* one */\n    \"Gemini\": {\"type\": \"custom\", \"command\": \"gemini\",},\n  },\n}\n// over",
			"Claude (permd)", []string{testProgram, "acp", "--", "claude-agent-acp"}},
		{"line ends of two characters, a byte order mark, no line end",
			"\ufeff{\r\n\t\"agent_servers\": {\r\n\t\t\"claude\": {\r\n\t\t\t\"command\": \"claude-agent-acp\",\r\n\t\t\t\"args\": [\r\n\t\t\t\t\"--debug\"\r\n\t\t\t]\r\n\t\t}\r\n\t}\r\n}",
			"claude", []string{testProgram, "acp", "--", "claude-agent-acp", "--debug"}},
		{"an entry without args, with variables", `{"agent_servers": {"Claude Code": {"type": "custom", "command": "claude-code-acp", "env": {"KEY": "kept"}}}}`,
			"Claude Code", []string{testProgram, "acp", "--", "claude-code-acp"}},
		{"an entry by what it starts, args that begin with a dash",
			"{\n  \"agent_servers\": {\n    \"Mine\": {\n      \"type\": \"custom\",\n      \"command\": \"npx\",\n      \"args\": [\n        \"-y\", // yes\n        \"@zed-industries/claude-agent-acp@0.30\",\n        \"--\",\n        \"-x\",\n      ],\n      \"env\": {},\n    },\n  },\n}\n",
			"Mine", []string{testProgram, "acp", "--", "npx", "-y", "@zed-industries/claude-agent-acp@0.30", "--", "-x"}},
		{"an entry that Zed starts by itself", `{"agent_servers": {"claude-acp": {"type": "registry", "env": {}}}}`,
			"Claude (permd)", []string{testProgram, "acp", "--", "claude-agent-acp"}},
		{"a short name of the home folder", `{"agent_servers": {"Claude": {"command": "~/bin/my agent", "args": []}}}`,
			"Claude", []string{testProgram, "acp", "--", "HOME/bin/my agent"}},
		{"names that look like others", `{"agent_servers": {"x\"Claude": {"command": "/home/claude/other"}, "claudette": {"command": "node", "args": ["/home/claude/x.js"]}}, "Claude": {"command": "claude-agent-acp"}}`,
			"Claude (permd)", []string{testProgram, "acp", "--", "claude-agent-acp"}},
		{"other agents in another shape", `{"agent_servers": {"Odd": null, "Odder": {"command": {"path": "x"}}, "claude": {"command": "claude-agent-acp"}}}`,
			"claude", []string{testProgram, "acp", "--", "claude-agent-acp"}},
	},
	"jetbrains": {
		{"nothing in it", "", "Claude (permd)", []string{testProgram, "acp", "--", "claude-agent-acp"}},
		{"as its help shows it",
			"{\n  \"default_mcp_settings\": {\"use_idea_mcp\": true},\n  \"agent_servers\": {\n    \"Claude Code\": {\n      \"command\": \"/opt/my tools/claude-agent-acp\",\n      \"args\": [\"--verbose\"],\n      \"env\": {\"A\": \"b\"}\n    }\n  }\n}\n",
			"Claude Code", []string{testProgram, "acp", "--", "/opt/my tools/claude-agent-acp", "--verbose"}},
		{"one of the registry", `{"agent_servers": {"acp.registry.claude-acp": {"env": {"A": "b"}}}}`,
			"Claude (permd)", []string{testProgram, "acp", "--", "claude-agent-acp"}},
	},
	"acpx": {
		{"nothing in it", "", "claude", []string{testProgram, "acp", "--", "claude-agent-acp"}},
		{"settings, no agents", "{\n  \"defaultAgent\": \"claude\",\n  \"agents\": {}\n}\n", "claude", []string{testProgram, "acp", "--", "claude-agent-acp"}},
		{"a command in one text", `{"agents": {"Claude": {"command": "npx -y '@agentclientprotocol/claude-agent-acp@^0.100.0' \"a b\""}}}`,
			"Claude", []string{testProgram, "acp", "--", "npx", "-y", "@agentclientprotocol/claude-agent-acp@^0.100.0", "a b"}},
		{"all words in a list", `{"agents": {"claude": {"argv": ["claude-agent-acp", "--x"]}, "codex": {"command": "codex-acp"}}}`,
			"claude", []string{testProgram, "acp", "--", "claude-agent-acp", "--x"}},
	},
}

// TestACPRoundTrip installs permd for an agent, again, and for another agent, in
// files as people have them, and removes it for both: the files then have their old
// bytes.
func TestACPRoundTrip(t *testing.T) {
	uid := uint32(os.Geteuid())
	for client, files := range acpFiles {
		for _, file := range files {
			t.Run(client+"/"+file.name, func(t *testing.T) {
				p, e, store := acpPlaceOf(t, client, "claude")
				want := slices.Clone(file.want)
				for i := range want {
					want[i] = strings.ReplaceAll(want[i], "HOME", e.home)
				}
				writeConfig(t, p.path, file.text)
				written := applied(t, store, func() (*configChange, error) { return planACPInstall(p, e, store, testProgram, uid) })
				entry := entryOf(t, e, written, file.key)
				if diff := cmp.Diff(want, entry.words); diff != "" {
					t.Fatalf("(-want +got):\n%s%s", diff, written)
				}
				if info, err := os.Stat(p.path); err != nil || info.Mode().Perm() != 0o640 {
					t.Errorf("the mode is not kept: %v, %v", info.Mode(), err)
				}
				if backup := read(t, store.backup(p)); string(backup) != file.text {
					t.Errorf("the backup is %q", backup)
				}
				if lost := lostLines(file.text, string(written)); client == "zed" && lost != "" {
					t.Errorf("a comment is lost: %s", lost)
				}
				unchanged(t, p, e, store)

				// Another agent, and then the first one again.
				p2, e2, store2 := acpPlaceIn(t, e.home, client, "my agent", "/opt/my agent/bin", "-v", `a "b" \c`)
				both := applied(t, store2, func() (*configChange, error) { return planACPInstall(p2, e2, store2, testProgram, uid) })
				unchanged(t, p, e, store)
				unchanged(t, p2, e2, store2)
				if got := entryOf(t, e2, both, e2.newKey()).words; !slices.Equal(got, []string{testProgram, "acp", "--", "/opt/my agent/bin", "-v", `a "b" \c`}) {
					t.Errorf("the other agent is started by %q", got)
				}

				if got := applied(t, store2, func() (*configChange, error) { return planUninstall(p2, store2, uid) }); !bytes.Equal(got, written) {
					t.Errorf("without the other: %s", got)
				}
				if diff := cmp.Diff(file.text, string(applied(t, store, func() (*configChange, error) { return planUninstall(p, store, uid) }))); diff != "" {
					t.Errorf("undone (-want +got):\n%s", diff)
				}
				if _, err := os.Stat(store.dir); err == nil {
					t.Error("the record is still there")
				}
				if c, err := planUninstall(p, store, uid); err != nil || !c.none() {
					t.Errorf("uninstalling again: %v", err)
				}
			})
		}
	}
}

// TestACPRemoveEdited removes permd from files that were changed after it was
// installed: the agents start as before, and everything else stays.
func TestACPRemoveEdited(t *testing.T) {
	for client, files := range acpFiles {
		for _, file := range files {
			t.Run(client+"/"+file.name, func(t *testing.T) {
				_, e, _ := acpPlaceOf(t, client, "claude")
				written, err := e.install([]byte(file.text), testProgram)
				if err != nil {
					t.Fatal(err)
				}
				added := e.added
				rest, found, err := e.remove(written)
				if err != nil || !found {
					t.Fatalf("%v, %v", found, err)
				}
				if added {
					want := file.text
					if want == "" {
						want = "{}"
					}
					if diff := cmp.Diff(compactText(t, e, want), strings.ReplaceAll(compactText(t, e, string(rest)), `,"agents":{}`, "")); diff != "" && !strings.Contains(file.text, `"agents": {}`) {
						t.Errorf("(-want +got):\n%s", diff)
					}
				} else {
					before := entryOf(t, e, []byte(file.text), file.key).words
					before[0] = strings.Replace(before[0], "~", e.home, 1)
					if diff := cmp.Diff(before, entryOf(t, e, rest, file.key).words); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
				}
				if lost := lostLines(file.text, string(rest)); client == "zed" && lost != "" {
					t.Errorf("a comment is lost: %s", lost)
				}
				if again, found, err := e.remove(rest); err != nil || found || !bytes.Equal(again, rest) {
					t.Errorf("removing again: %v, %v", found, err)
				}
			})
		}
	}
}

// TestACPNewFile: a file that install made is deleted again, with its folders.
func TestACPNewFile(t *testing.T) {
	uid := uint32(os.Geteuid())
	for _, client := range []string{"zed", "jetbrains", "acpx"} {
		p, e, store := acpPlaceOf(t, client, "claude")
		applied(t, store, func() (*configChange, error) { return planACPInstall(p, e, store, testProgram, uid) })
		if info, err := os.Stat(p.path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", client, err)
		}
		if c, err := planUninstall(p, store, uid); err != nil || c.after != nil || c.apply(store, uid) != nil {
			t.Errorf("%s: %v", client, err)
		}
		rel, err := filepath.Rel(e.home, p.path)
		if err != nil {
			t.Fatal(err)
		}
		top, _, _ := strings.Cut(rel, string(filepath.Separator))
		if _, err := os.Stat(filepath.Join(e.home, top)); err == nil {
			t.Errorf("%s is still there", top)
		}
	}
}

// TestACPTwoUnknown: the record of one unknown agent is not used for another.
func TestACPTwoUnknown(t *testing.T) {
	uid := uint32(os.Geteuid())
	p1, e1, store := acpPlaceOf(t, "zed", "one", "agent-one")
	p2, e2, _ := acpPlaceIn(t, e1.home, "zed", "two", "agent-two")
	const text = "{ \"theme\":  1 }"
	writeConfig(t, p1.path, text)
	first := applied(t, store, func() (*configChange, error) { return planACPInstall(p1, e1, store, testProgram, uid) })
	applied(t, store, func() (*configChange, error) { return planACPInstall(p2, e2, store, testProgram, uid) })
	if got := applied(t, store, func() (*configChange, error) { return planUninstall(p2, store, uid) }); !bytes.Equal(got, first) {
		t.Errorf("%s", got)
	}
	if got := applied(t, store, func() (*configChange, error) { return planUninstall(p1, store, uid) }); string(got) != text {
		t.Errorf("%s", got)
	}
}

// TestACPMoved: another permd replaces the installed one, and keeps the flags that
// a person added.
func TestACPMoved(t *testing.T) {
	for _, tt := range []struct{ client, text, want string }{
		{"zed", `{"agent_servers": {"Claude": {"command": "/old/permd-1", "args": ["acp", "--require", "--grace", "1m", "--", "claude-agent-acp"]}}}`,
			`{"agent_servers": {"Claude": {"command": "/opt/my tools/permd", "args": ["acp", "--require", "--grace", "1m", "--", "claude-agent-acp"]}}}`},
		{"acpx", `{"agents": {"claude": {"command": "/old/permd acp --require -- claude-agent-acp  x"}}}`,
			`{"agents": {"claude": {"command": "'/opt/my tools/permd' acp --require -- claude-agent-acp  x"}}}`},
		{"acpx", `{"agents": {"claude": {"argv": ["/old/permd", "acp", "--", "claude-agent-acp"]}}}`,
			`{"agents": {"claude": {"argv": ["/opt/my tools/permd", "acp", "--", "claude-agent-acp"]}}}`},
		{"zed", `{"agent_servers": {"Claude": {"command": "/opt/my tools/permd", "args": ["acp", "--", "/usr/bin/permd", "acp", "--", "claude-agent-acp"]}}}`, ""},
	} {
		_, e, _ := acpPlaceOf(t, tt.client, "claude")
		if got, err := e.install([]byte(tt.text), testProgram); err != nil || tt.want != "" && string(got) != tt.want || tt.want == "" && string(got) != tt.text {
			t.Errorf("%s: %v, %s", tt.text, err, got)
		}
	}
}

// applied plans and makes a change, and returns the text after it.
func applied(t *testing.T, s configStore, plan func() (*configChange, error)) []byte {
	t.Helper()
	c, err := plan()
	if err == nil {
		err = c.apply(s, uint32(os.Geteuid()))
	}
	if err != nil {
		t.Fatal(err)
	}
	return read(t, c.place.path)
}

func unchanged(t *testing.T, p *configPlace, e *acpEntries, s configStore) {
	t.Helper()
	if c, err := planACPInstall(p, e, s, testProgram, uint32(os.Geteuid())); err != nil || !c.none() {
		t.Errorf("installing again changes something: %v\n%s", err, c.after)
	}
}

func entryOf(t *testing.T, e *acpEntries, text []byte, key string) acpEntry {
	t.Helper()
	parsed, err := e.parse(text)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := e.entries(parsed, true)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(entries, func(entry acpEntry) bool { return entry.key == key })
	if i < 0 {
		t.Fatalf("there is no %q in:\n%s", key, text)
	}
	return entries[i]
}

func compactText(t *testing.T, e *acpEntries, text string) string {
	t.Helper()
	parsed, err := jsonedit.Parse([]byte(text), e.client.dialect)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Compact()
}

// lostLines returns a comment of a text that another one lacks.
func lostLines(text, other string) string {
	for line := range strings.Lines(text) {
		for _, begin := range []string{"//", "/*"} {
			if i := strings.Index(line, begin); i >= 0 && !strings.Contains(other, strings.TrimSpace(line[i:])) {
				return line
			}
		}
	}
	return ""
}
