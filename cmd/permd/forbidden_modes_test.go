package main

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"
)

// TestForbiddenModeReported: the mode that an agent reports counts for every method by which a
// client asks, until it reports another.
func TestForbiddenModeReported(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, nil)
	root := t.TempDir()
	writeFile(t, filepath.Join(root, "etc", "permd", "permd.toml"), "forbid_modes = [\"yolo\"]\n")
	d.start(t, "--root", root)
	w := d.session(t, project)
	ls := toolLine("Bash", map[string]string{"command": "ls"})
	report := func(update string) {
		t.Helper()
		if _, err := io.WriteString(w, fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":%s}}`, update)+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.ask(t, ls); !got.allowed() {
		t.Fatalf("before: %+v", got)
	}
	for _, update := range []string{
		`{"sessionUpdate":"current_mode_update","currentModeId":"yolo"}`,
		`{"sessionUpdate":"config_option_update","configOptions":[{"id":"mode","name":"Mode","category":"mode","currentValue":"yolo"}]}`,
		`{"sessionUpdate":"config_option_update","configOptions":[{"id":"mode","name":"Mode","currentValue":"yolo"}]}`,
	} {
		report(update)
		wantAnswer(t, update, w.ask(t, ls), "deny", "policy", "the organisation forbids the mode yolo")
		report(`{"sessionUpdate":"current_mode_update","currentModeId":"default"}`)
		if got := w.ask(t, ls); !got.allowed() {
			t.Errorf("back from %s: %+v", update, got)
		}
	}
}
