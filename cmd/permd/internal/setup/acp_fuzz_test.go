package setup

import (
	"slices"
	"testing"
)

// FuzzACPEntries: for any client's file, install puts permd before the agent's
// command and no other, and uninstall removes it.
func FuzzACPEntries(f *testing.F) {
	for client, files := range acpFiles {
		for _, file := range files {
			f.Add(client, file.text)
		}
	}
	f.Add("zed", `{"agent_servers": {"claude": {"command": "a", "args": []}, "Claude (permd)": {"command": "b"}, "c": {"command": "npx", "args": ["codex-acp"]}}}`)
	f.Add("zed", `{"agent_servers": {"claude": {"command": "a", "argv": ["b"]}}}`)
	f.Add("acpx", `{"agents": {"CLAUDE": {"command": "a \\\\ b"}, "claude": {"command": "x", "args": ["--"]}}}`)
	f.Fuzz(wrapAndUnwrap)
}

func wrapAndUnwrap(t *testing.T, name, text string) {
	client, err := acpClientOf(name)
	if err != nil || client.path == nil {
		return
	}
	agent, err := acpAgentOf("claude", nil)
	if err != nil {
		t.Fatal(err)
	}
	client.full = false // whatever is in PATH
	const program = "/usr/bin/permd"
	e := &acpEntries{client: client, agent: agent, home: "/home/ana"}
	before := commandsOf(t, e, text)
	after, err := e.install([]byte(text), program)
	if err != nil {
		return
	}
	if !e.current(after, program) {
		t.Fatalf("%q became %q, which is to be installed again", text, after)
	}
	added := e.added
	wrapped := commandsOf(t, e, string(after))
	for key, words := range before {
		got := wrapped[key]
		if rest := unwrapWords(got); !slices.Equal(rest, unwrapWords(words)) && words[0][0] != '~' {
			t.Fatalf("%q: %q is started by %q in %q", text, key, got, after)
		}
	}
	if len(wrapped) != len(before) && (!added || len(wrapped) != len(before)+1) {
		t.Fatalf("%q became %q", text, after)
	}
	rest, found, err := e.remove(after)
	if err != nil || !found {
		t.Fatalf("%q became %q, from which permd cannot be taken: %v", text, after, err)
	}
	for key, words := range commandsOf(t, e, string(rest)) {
		if was, ok := before[key]; !ok || !slices.Equal(unwrapWords(was), words) && !slices.Equal(was, words) && was[0][0] != '~' {
			t.Fatalf("%q: %q is started by %q in %q", text, key, words, rest)
		}
	}
}

// commandsOf are all commands of a file that can be read.
func commandsOf(t *testing.T, e *acpEntries, text string) map[string][]string {
	t.Helper()
	parsed, err := e.parse([]byte(text))
	if err != nil {
		return nil
	}
	entries, err := e.entries(parsed, true)
	if err != nil {
		return nil
	}
	all := map[string][]string{}
	for _, entry := range entries {
		all[entry.key] = entry.words
	}
	return all
}
