package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHookAllowFiles: an approval is bound to the files that the call runs, reads
// or names.
func TestHookAllowFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a table of files; TestHook is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "hook.rego", hookRules)
	d.start(t)
	project := d.project(t, nil)
	for command, file := range map[string]string{
		"./run.sh": "run.sh", "sh run.sh 1": "run.sh", "sh < in.sh": "in.sh", "cat in.sh | sh": "in.sh",
		"whatever -f data.sql": "data.sql", "make it": "Makefile",
	} {
		t.Run(command, func(t *testing.T) {
			write := func(text string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(project, file), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			asks := func() string {
				return string(d.hook(t, "cursor", hookInput(hookShell[8].in, project, command)).Stdout)
			}
			allow := func() {
				t.Helper()
				m := allowedBy.FindStringSubmatch(asks())
				if m == nil {
					t.Fatal("no way to allow it is named")
				}
				d.permd(t, "allow", m[1])
			}
			write("it:\n\techo 1\n")
			allow()
			write("it:\n\techo 2\n")
			if said := asks(); strings.Contains(said, `"allow"`) {
				t.Errorf("what the person was not asked about runs: %s", said)
			}
			allow()
			if said := asks(); !strings.Contains(said, `"allow"`) {
				t.Errorf("it does not run, though nothing changed: %s", said)
			}
		})
	}
}
