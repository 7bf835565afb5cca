package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestApprovedAndChanged: an approved call passes a gate once without a further
// question, but not if a file that the call runs or names has changed, if a path
// has become another name of a guarded file, or if something that may change
// anything has run in between.
func TestApprovedAndChanged(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a yes in each protocol; TestGates is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.start(t)
	files := map[string]string{"Makefile": "all:\n\ttrue\n", "data.txt": "1", "out/f": "1", "tool.sh": "echo\n"}
	bashrc := filepath.Join(d.home, ".bashrc")
	if err := os.WriteFile(bashrc, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	id := 10
	for name, tt := range map[string]struct {
		command string
		between func(w *wire, project string)
		passes  bool
	}{
		"as it was":                        {"frob data.txt", func(*wire, string) {}, true},
		"another file changed":             {"frob data.txt", func(_ *wire, p string) { alter(t, p, "Makefile") }, true},
		"a look in between":                {"frob data.txt", func(w *wire, _ string) { id++; w.ask(t, gateLine(id, "ls", false)) }, true},
		"what it is given changed":         {"frob data.txt", func(_ *wire, p string) { alter(t, p, "data.txt") }, false},
		"what says what it runs changed":   {"make all", func(_ *wire, p string) { alter(t, p, "Makefile") }, false},
		"its script changed":               {"sh tool.sh", func(_ *wire, p string) { alter(t, p, "tool.sh") }, false},
		"another name of a guarded file":   {"echo x > out/f", func(_ *wire, p string) { relink(t, bashrc, filepath.Join(p, "out/f")) }, false},
		"an unknown program ran meanwhile": {"frob data.txt", func(w *wire, _ string) { id++; w.ask(t, gateLine(id, "quux", false)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			project := d.project(t, files)
			w := d.session(t, project)
			id++
			asked := w.ask(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t","name":"Bash","title":%q,"kind":"execute","rawInput":{"command":%q}},"options":[{"optionId":"y","name":"Allow","kind":"allow_once"},{"optionId":"n","name":"Reject","kind":"reject_once"}]}}`, id, tt.command, tt.command))
			if asked.Verdict != "ask" {
				t.Fatalf("%+v", asked)
			}
			id++
			w.ask(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"permd/choose","params":{"decisionId":%q,"optionId":"y"}}`, id, asked.ID))
			tt.between(w, project)
			id++
			if got := w.ask(t, gateLine(id, tt.command, true)); (got.Verdict == "ask") == tt.passes || got.Code != 0 {
				t.Errorf("%+v, want that it passes: %v", got, tt.passes)
			}
		})
	}
}

func gateLine(id int, command string, ask bool) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"permd/gate","params":{"sessionId":"s1","method":"terminal/create","ask":%v,"params":{"command":%q}}}`, id, ask, command)
}

func alter(t *testing.T, project, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(project, name), []byte("something else\n"), 0o600); err != nil {
		t.Error(err)
	}
}

func relink(t *testing.T, of, at string) {
	t.Helper()
	if err := os.Remove(at); err != nil {
		t.Error(err)
	}
	if err := os.Link(of, at); err != nil {
		t.Error(err)
	}
}
