package shell

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/testload"
)

// TestGoSourcesOracle compares the sources that go doc and go list print with the reads that are
// kept aside.
func TestGoSourcesOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs the go command, which loads packages; TestDashesOracle is the quick one")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("go is missing")
	}
	o := newContentsOracle(t)
	o.env = append(o.env, "PATH="+filepath.Dir(goTool)+":"+os.Getenv("PATH"), "GOCACHE="+filepath.Join(o.top, "cache"), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "GOPATH="+filepath.Join(o.top, "go"))
	filetest.Write(t, filepath.Join(o.project, "go.mod"), "module example.com/m\n\ngo 1.20\n")
	files := map[string]string{"root.go": "m", "locked/d/d.go": "d", "open/o.go": "o", "lockers/l.go": "l"}
	o.files = nil
	for f, name := range files {
		imports := ""
		if name == "o" {
			imports = "import _ \"example.com/m/locked/d\"\n"
		}
		o.files = append(o.files, f)
		n := len(o.files) - 1
		filetest.Write(t, filepath.Join(o.project, f), "// Package "+name+" is MARK "+string(rune('0'+n))+";\npackage "+name+"\n"+imports+
			"\n// Key is MARK "+string(rune('0'+n))+";\nvar Key = 1\n")
	}
	seed, rounds := testload.Seed(t), testload.Rounds(t, "PERMD_TEST_CONTENTS", 40, 400)
	rnd := rand.New(rand.NewPCG(seed, 5))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	printed := 0
	for n := 0; n < rounds || printed < rounds/8 && n < 20*rounds; n++ {
		text := "go" + pick("", "", " -C open", " -C locked")
		word := pick("", "./locked/d", "./d", "../locked/d", "./...", "./l...", "all", "example.com/m", "example.com/m/locked/d", "example.com/m/...", "open/o.go", "./open", ".", "d", "...", "locked/d", "m")
		if rnd.IntN(2) == 0 {
			text += " doc" + pick("", " -all", " -src", " -u") + " " + word + pick("", " Key", ".Key")
		} else {
			text += " list" + pick(" -json", " -f '{{.Doc}}'", " -f={{.}}", "", " -f '{{.ImportPath}}'", " -deps -f '{{.Doc}}'") + " " + word
		}
		printed += o.check(t, seed, strings.TrimRight(text, " "), o.project)
	}
	if printed < rounds/8 {
		t.Errorf("seed %d: %d files printed in %d rounds", seed, printed, rounds)
	}
	for _, text := range []string{"go list ./...", "go list -f '{{.ImportPath}}' ./..."} {
		if reads := readsOf(t, o, text); len(reads) > 1 { // the proxy's address
			t.Errorf("%s: %q", text, reads)
		}
	}
}
