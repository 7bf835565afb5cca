package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestExactlyThisSaysWhatIsOpen: a choice is bound to the words of a run. If a word
// names a file and the program is not known to run it as its script, the label says
// that the file's content may change; if the choice is bound to the content, it
// does not.
func TestExactlyThisSaysWhatIsOpen(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for labels alone; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{
		"t.jl": "x = 1\n", "tool.sh": "echo\n", "Makefile": "all:\n\ttrue\n", "dir/x": "x", "conf.d/a": "x", "-odd": "x",
	})
	if err := os.Chmod(filepath.Join(project, "tool.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := d.asks(t, project)
	for command, want := range map[string]string{
		"julia t.jl":                "exactly this (any content of ./t.jl)",
		"julia --config=t.jl dir/x": "exactly this (any content of ./t.jl, any content of ./dir/x)",
		"julia -e 1":                "exactly this",
		"julia missing.jl":          "exactly this",
		"julia dir":                 "exactly this", // what is in a folder is named by nobody
		"make all":                  "exactly this",
		"./tool.sh t.jl":            "exactly this (any content of ./t.jl)",
		"./tool.sh":                 "exactly this",
	} {
		q := p.bash(command)
		if len(q.Widths) == 0 || q.Widths[0].Label != want {
			t.Errorf("%s: %+v, want %q", command, q.Widths, want)
		}
	}
	// The choice behaves as its label says.
	q := p.bash("julia t.jl")
	p.choose(q, map[string]any{"width": q.Widths[0].ID}, "")
	if err := os.WriteFile(filepath.Join(project, "t.jl"), []byte("x = 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.bash("julia t.jl"); got.Verdict != "allow" {
		t.Errorf("after a change of the file: %s", got.Verdict)
	}
	q = p.bash("./tool.sh")
	p.choose(q, map[string]any{"width": q.Widths[0].ID}, "")
	if err := os.WriteFile(filepath.Join(project, "tool.sh"), []byte("echo 2\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := p.bash("./tool.sh"); got.Verdict != "ask" {
		t.Errorf("after a change of the script: %s", got.Verdict)
	}
}
