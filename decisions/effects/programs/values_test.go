package programs

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestValuesOfRealPrograms compares with real programs which options take the next
// word as their value. If only the table said that one does, an option or a file in
// that place would be taken for text.
func TestValuesOfRealPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs each program of the table that is installed")
	}
	table := shipped(t)
	// getopt's messages for an option that is the last word, and for an unknown
	// one.
	refused := regexp.MustCompile("requires an argument|invalid option|unrecognized option|unknown option|is ambiguous")
	for _, name := range []string{"diff", "cmp", "comm", "cut", "du", "grep", "head", "join", "ls", "mktemp", "nl", "od", "paste", "sed", "sort", "stat", "tac", "tail", "uniq", "wc"} {
		if version, err := exec.Command(name, "--version").Output(); err != nil || !regexp.MustCompile("GNU").Match(version) {
			t.Logf("there is no GNU %s here", name)
			continue
		}
		for _, option := range required(table.entryOf(name)) {
			cmd := exec.Command(name, option)
			cmd.Dir = t.TempDir()
			cmd.Env = []string{"LC_ALL=C", "TMPDIR=" + cmd.Dir, "PATH=" + os.Getenv("PATH")}
			if out, _ := cmd.CombinedOutput(); !refused.Match(out) {
				t.Errorf("%s %s takes no value from the next word: %s", name, option, out)
			}
		}
	}
}

// TestValuesOfGit puts git's --output, which writes a file as soon as git reads it,
// in the place of each option's value.
func TestValuesOfGit(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs git with each option of the table")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	table, dir := shipped(t), t.TempDir()
	git := func(words ...string) {
		cmd := exec.Command("git", words...)
		cmd.Dir = dir
		cmd.Env = []string{"LC_ALL=C", "HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_PAGER=cat",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
		_ = cmd.Run() // git refuses many of them
	}
	written := func() bool {
		name := filepath.Join(dir, "canary")
		_, err := os.Lstat(name)
		_ = os.Remove(name)
		return err == nil
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "a")
	if git("diff", "-U", "--output=canary"); !written() {
		t.Skip("this git takes the next word as the value of -U, or writes no file")
	}
	for _, name := range []string{"log", "shortlog", "show", "diff", "diff-tree", "diff-index", "diff-files", "blame", "rev-list", "reflog", "format-patch"} {
		for _, option := range required(table.entryOf("git").Subs[name]) {
			if git(name, option, "--output=canary"); written() {
				t.Errorf("git %s %s takes no value from the next word", name, option)
			}
		}
	}
}

// required returns the options whose value may be the next word.
func required(p *Program) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(p.Options)) {
		if p.Options[name].Arity == ArityRequired && name[0] == '-' {
			names = append(names, name)
		}
	}
	return names
}
