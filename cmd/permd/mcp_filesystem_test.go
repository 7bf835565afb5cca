package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMCPFilesystem: of what the reference server for files is asked to do through permd mcp, it
// does what rules allow, and denies of paths hold by whatever tool, member or link they are
// reached.
func TestMCPFilesystem(t *testing.T) {
	t.Parallel()
	command := reference(t, "server-filesystem")
	d := newTestDaemon(t)
	d.mcp.sessions = true // as the server has them
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"),
		"allow:\n  use: [\"test:*\"]\nask:\n  use: [\"test:create_directory\"]\ndeny:\n  read: [\"./locked/**\"]\n  write: [\"./locked/**\"]\n")
	d.start(t)
	project := filepath.Join(d.home, "project")
	writeFile(t, filepath.Join(project, "locked", "key"), "the key")
	writeFile(t, filepath.Join(project, "a.txt"), "one")
	if err := os.Symlink("locked", filepath.Join(project, "link")); err != nil {
		t.Fatal(err)
	}
	c := d.startMCPWith(t, "", "decline", append([]string{"--"}, append(command, project)...)...)
	call := func(tool string, arguments map[string]any) string {
		t.Helper()
		r, err := c.session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			return "error: " + err.Error()
		}
		words := ""
		for _, part := range r.Content {
			if text, ok := part.(*mcp.TextContent); ok {
				words += text.Text
			}
		}
		return words
	}
	content := func(name string) string {
		data, err := os.ReadFile(filepath.Join(project, name))
		if err != nil {
			return ""
		}
		return string(data)
	}
	in := func(name string) string { return filepath.Join(project, name) }
	wantHas(t, "a read", call("read_text_file", map[string]any{"path": in("a.txt")}), "one")
	wantHas(t, "a write", call("write_file", map[string]any{"path": in("b.txt"), "content": "two"}), "Successfully")
	if content("b.txt") != "two" {
		t.Errorf("b.txt holds %q", content("b.txt"))
	}
	for name, got := range map[string]string{
		"a read":                 call("read_text_file", map[string]any{"path": in("locked/key")}),
		"a read by a link":       call("read_text_file", map[string]any{"path": in("link/key")}),
		"a read of several":      call("read_multiple_files", map[string]any{"paths": []string{in("a.txt"), in("locked/key")}}),
		"a write":                call("write_file", map[string]any{"path": in("locked/new"), "content": "x"}),
		"a write by a link":      call("write_file", map[string]any{"path": in("link/key"), "content": "x"}),
		"an edit":                call("edit_file", map[string]any{"path": in("locked/key"), "edits": []any{map[string]any{"oldText": "the", "newText": "no"}}}),
		"a move into it":         call("move_file", map[string]any{"source": in("a.txt"), "destination": in("locked/a.txt")}),
		"a move out of it":       call("move_file", map[string]any{"source": in("locked/key"), "destination": in("key")}),
		"a path with dots":       call("write_file", map[string]any{"path": project + "/x/../locked/key", "content": "x"}),
		"a name of another case": call("read_text_file", map[string]any{"path": in("locked/key"), "Path": in("a.txt")}),
	} {
		if !strings.Contains(got, "permd") || strings.Contains(got, "the key") {
			t.Errorf("%s: %q", name, got)
		}
	}
	wantHas(t, "a call that the person declines", call("create_directory", map[string]any{"path": in("made")}), "permd")
	if content("locked/key") != "the key" || content("a.txt") != "one" || content("locked/new") != "" {
		t.Errorf("the files hold %q, %q, %q", content("locked/key"), content("a.txt"), content("locked/new"))
	}
	if _, err := os.Stat(in("made")); err == nil {
		t.Error("a folder was made")
	}
}
