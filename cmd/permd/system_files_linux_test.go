package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSystemFiles: what the daemon may not look at is unknown, and asks; with the capability of
// its unit it is looked at.
func TestSystemFiles(t *testing.T) {
	w := newSystemWorld(t)
	project := filepath.Join(w.dir, "home", "ana", "project")
	if err := os.MkdirAll(filepath.Join(project, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{".git/HEAD": "ref: refs/heads/main\n", "README.md": "x\n"} {
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := `{"tool":{"name":"Read"},"input":{"file_path":"` + project + `/README.md"},"cwd":"` + project + `"}`
	for _, tt := range []struct {
		name    string
		options []string
		want    int
	}{
		{"without the capability", nil, 6},
		{"with it", []string{"--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"}, 0},
	} {
		w.start(t, tt.options...)
		if code, out := ranAs(t, w.as(sysAna, "decide", "--agent", "claude-code", "--cwd", project, "-"), read); code != tt.want {
			t.Errorf("%s: exit code %d, want %d: %s", tt.name, code, tt.want, out)
		}
		w.stop()
	}
}
