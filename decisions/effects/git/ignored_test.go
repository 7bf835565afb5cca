package git

import (
	"testing"

	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/paths"
)

func readIgnores(t *testing.T, text string) paths.IgnoreFile {
	t.Helper()
	file, err := paths.ReadIgnoreFile(fsfake.New().File("/p/.gitignore", text), "/p/.gitignore")
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return file
}

// FuzzIgnoreLines: a line that takes back what no one can tell ends what is certainly left out, and
// so does one that takes back all.
func FuzzIgnoreLines(f *testing.F) {
	for _, text := range []string{"*.log\nbuild/\n!keep.log\n", "/a/**/b\n**/c\n", "\ufeffa\n", "a\\ \n[ab]\n", "!x[\n*\n"} {
		f.Add(text, "a/b/c.log")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		for _, folder := range []bool{false, true} {
			leavesOut([]paths.IgnoreFile{readIgnores(t, text)}, name, folder)
			for _, back := range []string{"\n![\n", "\n!**/*\n!*\n"} {
				if leavesOut([]paths.IgnoreFile{readIgnores(t, text+back)}, name, folder) {
					t.Errorf("%q leaves out %q", text+back, name)
				}
			}
		}
	})
}

// TestTakenBackBelow: what the file of a folder above leaves out is taken back by one below.
func TestTakenBackBelow(t *testing.T) {
	above := readIgnores(t, "*.log\n")
	for below, want := range map[string]bool{"": true, "*.tmp\n": true, "!b.log\n": true, "!a.log\n": false, "![a].log\n": false, "!A.LOG\n": false, "![a].log\n*.log\n": true} {
		if got := leavesOut([]paths.IgnoreFile{above, readIgnores(t, below)}, "d/a.log", false); got != want {
			t.Errorf("%q: %v", below, got)
		}
	}
}
