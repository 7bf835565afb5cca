package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestHardLinks: if a guarded file has a second name in the project, rules about
// the project's files do not allow it, and permd's own files stay denied. The
// ordinary files of a project, and those that a package manager has linked from its
// store, are read as before.
func TestHardLinks(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for hard links; TestHardLinks of decisions/effects/paths is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "src.rego", `allow contains "src" if { input.effect.kind in {"read", "write"}; startswith(input.effect.project_path, "src/") }`)
	d.start(t)
	project := d.project(t, map[string]string{"src/plain.txt": "x"})
	for name, of := range map[string]string{
		"src/key.txt":                filepath.Join(d.home, ".ssh/id_ed25519"),
		"src/rc.txt":                 filepath.Join(d.home, ".bashrc"),
		"src/journal.txt":            d.data("decisions.db"),
		"node_modules/dep/README.md": filepath.Join(d.home, "store/README.md"),
	} {
		for _, dir := range []string{filepath.Dir(of), filepath.Dir(filepath.Join(project, name))} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(of); err != nil {
			if err := os.WriteFile(of, []byte("canary"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Link(of, filepath.Join(project, name)); err != nil {
			t.Fatal(err)
		}
	}
	d.policy(t, "exact.rego", fmt.Sprintf(`allow contains {"reason": "exact", "covers": ["secret", "startup"]} if { input.effect.kind in {"read", "write"}; input.effect.path in {%q, %q} }`, project+"/src/key.txt", project+"/src/rc.txt"))
	d.reload(t)
	w := d.session(t, project)
	id := 100
	decide := func(tool, input string) string {
		id++
		return w.ask(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"permd/decide","params":{"sessionId":"s1","calls":[{"callId":"1","tool":{"name":%q},"input":%s}]}}`, id, tool, input)).Verdict
	}
	for _, tt := range []struct{ file, read, write string }{
		{"src/plain.txt", "allow", "allow"},
		{"src/key.txt", "ask", "ask"},
		{"src/rc.txt", "allow", "ask"}, // a start-up file may be read
		{"src/journal.txt", "ask", "deny"},
		{"node_modules/dep/README.md", "allow", "ask"},
	} {
		path := filepath.Join(project, tt.file)
		if got := decide("Read", fmt.Sprintf(`{"file_path":%q}`, path)); got != tt.read {
			t.Errorf("read %s: %s, want %s", tt.file, got, tt.read)
		}
		if got := decide("Write", fmt.Sprintf(`{"file_path":%q,"content":"x"}`, path)); got != tt.write {
			t.Errorf("write %s: %s, want %s", tt.file, got, tt.write)
		}
		if got := decide("Bash", fmt.Sprintf(`{"command":"cat %s"}`, tt.file)); got != tt.read {
			t.Errorf("cat %s: %s, want %s", tt.file, got, tt.read)
		}
		if got := decide("Bash", fmt.Sprintf(`{"command":"echo x > %s"}`, tt.file)); got != tt.write {
			t.Errorf("echo > %s: %s, want %s", tt.file, got, tt.write)
		}
	}
}
