package paths

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/testload"
)

// ignoreLine makes a line of an ignore file that is often about one of the names, in one
// of the ways that programs know, or do not know. It begins with one of the marks.
func ignoreLine(r *rand.Rand, names []string, marks ...string) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	text := pick(names...)
	if r.IntN(3) == 0 {
		text = text[strings.LastIndexByte(text, '/')+1:]
	}
	for range max(0, r.IntN(5)-2) {
		i := r.IntN(len(text) + 1)
		j := min(len(text), i+r.IntN(4))
		part := text[i:j]
		text = text[:i] + pick(part+pick("*", "**", "?", "/", "/**/", "\\", ".", " ", "\t", "\r", "\f", "\u00a0", "\x85", "\u0085", "\u2003", "\u2028", "\u3000", "\xff", "\x00", "\ufeff", "{", "}", ",", "[", "]", "!", "#", "x", "é"),
			"*", "**", "?", "/**/", "{"+part+"}", "{"+part+",x}", "{x,"+part+"}", "{,"+part+"}", "{"+part, part+"}", "["+part+"]", "[!x]", "[^x]", "[a-z]", "[.-z]", "["+part, "[[:alpha:]]", "\\"+part, strings.ToUpper(part), "") + text[j:]
	}
	return pick(marks...) + text +
		pick("", "", "", "", "", "", "", "", "", "", "", "", "", "/", "/", "/", "//", "/*", "/**", "/**/", "/.", " ", "\t", "\r", "\f", "\v", "\u0085", "\u00a0", "\u2003", "\u2028", "\u3000", "\\ ", "\\", "\ufeff", "\u200b", "\u0301")
}

// TestIgnoreLinesOracle gives real programs ignore files of any lines: what they print or list
// is searched by what permd says. PERMD_TEST_SEARCH_FOLDERS is the number of folders.
func TestIgnoreLinesOracle(t *testing.T) {
	folders := testload.Rounds(t, "PERMD_TEST_SEARCH_FOLDERS", 100, 400)
	seed := testload.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	top := t.TempDir()
	root := filepath.Join(top, "p")
	names := []string{".env", "id_rsa", "x.env", "a/.env", ".aws/credentials", "a/b/k.key", ".conf/b/c.key", "b/.env\u00a0"}
	for i := range folders {
		folder := filepath.Join(root, fmt.Sprintf("d%d", i))
		for _, name := range names {
			filetest.Write(t, filepath.Join(folder, name), "CANARY\n")
		}
		exclude := ".git/info/exclude"
		switch r.IntN(40) {
		case 0: // a linked working tree
			filetest.Write(t, filepath.Join(folder, ".git"), fmt.Sprintf("gitdir: ../../r%d/worktrees/x\n", i))
			exclude = fmt.Sprintf("../../r%d/info/exclude", i)
			filetest.Write(t, filepath.Join(folder, exclude), "")
			filetest.Write(t, filepath.Join(top, fmt.Sprintf("r%d/worktrees/x/commondir", i)), "../..\n")
		case 1:
			filetest.Write(t, filepath.Join(folder, ".git/HEAD"), "ref: refs/heads/main\n")
		}
		marks := []string{"", "", "", "", "**/", "/", "#", "./", " "}
		if r.IntN(2) == 0 {
			marks = append(marks, "!", "!", "!/", "!**/", "!./", " !", "\\!", "!!", "\ufeff!", "!#")
		}
		for _, file := range []string{".gitignore", ".gitignore", ".ignore", ".rgignore", "a/.gitignore", "a/.ignore", exclude} {
			if r.IntN(3) > 0 {
				continue
			}
			var text strings.Builder
			for range 1 + r.IntN(4) {
				text.WriteString(ignoreLine(r, names, marks...) + "\n")
			}
			filetest.Write(t, filepath.Join(folder, file), text.String())
		}
	}
	filetest.Write(t, filepath.Join(root, ".git/HEAD"), "ref: refs/heads/main\n")
	for _, s := range []struct {
		words []string
		as    Reach
	}{
		{[]string{"rg", "-l", "CANARY"}, ReachShown},
		{[]string{"rg", "-l", "--no-ignore-vcs", "CANARY"}, ReachVisible},
		{[]string{"rg", "-l", "--hidden", "CANARY"}, ReachKept},
		{[]string{"fdfind", "-t", "f", "-a", "."}, ReachShown},
		{[]string{"ag", "-l", "CANARY"}, ReachVisible},
	} {
		program, err := exec.LookPath(s.words[0])
		if err != nil {
			t.Logf("%s is missing", s.words[0])
			continue
		}
		c := exec.Command(program, append(s.words[1:], root)...)
		c.Env = []string{"HOME=" + top + "/home", "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}
		c.Dir = root
		out, _ := c.Output() // it fails for some lines
		printed := map[string]bool{}
		for file := range strings.Lines(string(out)) {
			printed[strings.TrimSuffix(file, "\n")] = true
		}
		res := NewResolver(Environment{FS: OSFS{}}, &effects.Call{User: effects.User{Home: top + "/home"}})
		found, needless, left := 0, 0, 0
		for i := range folders {
			for _, name := range names {
				file := filepath.Join(root, fmt.Sprintf("d%d", i), name)
				switch enters := res.searchEnters(s.as, root, root, file); {
				case printed[file] && !enters:
					t.Errorf("%v prints %s: %s", s.words, name, ignoreTexts(res, filepath.Dir(file), root))
				case printed[file]:
					found++
				case enters:
					needless++
				default:
					left++
				}
			}
		}
		if found == 0 || left == 0 {
			t.Errorf("%v printed %d of the files, and left out %d", s.words, found, left)
		}
		t.Logf("%v: %d printed, %d left out, %d left out though permd does not say so", s.words, found, left, needless)
	}
}

// ignoreTexts quotes the ignore files that were read for a folder and its parents.
func ignoreTexts(res *Resolver, dir, root string) string {
	var said strings.Builder
	for ; dir != root; dir = filepath.Dir(dir) {
		for _, name := range append([]string{".git/info/exclude"}, IgnoreNames...) {
			if text, err := res.fs.ReadFile(filepath.Join(dir, name), maxIgnoreFile); err == nil {
				fmt.Fprintf(&said, "%s %q ", filepath.Join(dir, name)[len(root):], text)
			}
		}
	}
	return said.String()
}
