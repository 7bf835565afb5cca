package git

import (
	"testing"

	"github.com/permd/permd/decisions/effects/fsfake"
)

// FuzzIgnoreLines: a line that takes back what no one can tell ends what is certainly left out, and
// so does one that takes back all.
func FuzzIgnoreLines(f *testing.F) {
	for _, text := range []string{"*.log\nbuild/\n!keep.log\n", "/a/**/b\n**/c\n", "\ufeffa\n", "a\\ \n[ab]\n", "!x[\n*\n"} {
		f.Add(text, "a/b/c.log")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		read := func(text string) ignoreLines {
			list, ok := readIgnoreLines(fsfake.New().File("/p/.gitignore", text), "/p/.gitignore", 0, false)
			if !ok {
				t.Fatalf("%q is not read", text)
			}
			return list
		}
		for _, folder := range []bool{false, true} {
			leavesOut([]ignoreLines{read(text)}, name, folder)
			for _, back := range []string{"\n![\n", "\n!**/*\n!*\n"} {
				if leavesOut([]ignoreLines{read(text + back)}, name, folder) {
					t.Errorf("%q leaves out %q", text+back, name)
				}
			}
		}
	})
}

// TestTakenBackBelow: what the file of a folder above leaves out is taken back by one below.
func TestTakenBackBelow(t *testing.T) {
	read := func(text string, depth int) ignoreLines {
		list, ok := readIgnoreLines(fsfake.New().File("/p/.gitignore", text), "/p/.gitignore", depth, false)
		if !ok {
			t.Fatalf("%q is not read", text)
		}
		return list
	}
	above := read("*.log\n", 0)
	for below, want := range map[string]bool{"": true, "*.tmp\n": true, "!b.log\n": true, "!a.log\n": false, "![a].log\n": false, "!A.LOG\n": false, "![a].log\n*.log\n": true} {
		if got := leavesOut([]ignoreLines{above, read(below, 1)}, "d/a.log", false); got != want {
			t.Errorf("%q: %v", below, got)
		}
	}
}
