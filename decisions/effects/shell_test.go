package effects

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func shellBuilder(table *Table, fs FS) *builder {
	return shellBuilderIn(environment{fs: fs}, table)
}

func shellBuilderIn(env environment, table *Table) *builder {
	c := &Call{
		Cwd:  testCwd,
		User: User{UID: 1000, Name: "ana", Home: "/home/ana", Env: map[string]string{"HOME": "/home/ana", "USER": "ana"}},
	}
	return newShellBuilder(env, table, c, newResolver(env, c))
}

// shellEffects shows the effects of shell text, one on a line.
func shellEffects(t testing.TB, table *Table, text string) (lines []string, b *builder) {
	t.Helper()
	b = shellBuilder(table, shellFiles())
	shellText(b, text, testCwd, "command")
	for i := range b.effects {
		lines = append(lines, compact(&b.effects[i]))
	}
	return lines, b
}

var update = flag.Bool("update", false, "write the effects of testdata/shell.txt and language.txt anew")

// TestShell compares the effects of many commands with testdata/shell.txt and
// testdata/language.txt: a name after "== ", the text, "--", and the effects in
// the notation of compact. Read every line that an update changes.
func TestShell(t *testing.T) {
	for _, file := range []string{"shell", "language"} {
		t.Run(file, func(t *testing.T) { shellCases(t, "testdata/"+file+".txt") })
	}
}

func shellCases(t *testing.T, file string) {
	table := shippedTable(t)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	head, rest, _ := strings.Cut(string(data), "== ")
	out.WriteString(head)
	seen := map[string]bool{}
	for block := range strings.SplitSeq(rest, "\n== ") {
		name, body, _ := strings.Cut(block, "\n")
		text, want, ok := strings.Cut(body, "\n--\n")
		if !ok || seen[name] {
			t.Fatalf("%q: not of the form of a case, or twice", name)
		}
		seen[name] = true
		lines, b := shellEffects(t, table, text)
		checkEffects(t, b)
		if b.nothing {
			lines = append(lines, "nothing")
		}
		got := strings.Join(lines, "\n")
		fmt.Fprintf(&out, "== %s\n%s\n--\n%s\n\n", name, text, got)
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(strings.TrimSpace(want), got); diff != "" && !*update {
				t.Errorf("%s\n(-want +got)\n%s", text, diff)
			}
		})
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.TrimSpace(out.String())+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGitInWorktree wants git to be known in another working tree of the
// project's repository, whose configuration is the same, and nowhere else.
func TestGitInWorktree(t *testing.T) {
	const tree, admin = "/home/ana/trees/fix", testCwd + "/.git/worktrees/fix"
	fs := shellFiles()
	fs.Dir(testCwd+"/.git/objects").File(tree+"/.git", "gitdir: "+admin+"\n").File(admin+"/gitdir", tree+"/.git\n").File(admin+"/commondir", "../..\n")
	fs.File("/home/ana/other/.git/HEAD", "").Dir("/home/ana/trees/plain")
	for dir, want := range map[string]bool{tree: true, tree + "/src": true, "/home/ana/other": false, "/home/ana/trees/plain": false} {
		b := shellBuilder(shippedTable(t), fs)
		shellText(b, "git -C "+dir+" status", testCwd, "command")
		known := true
		for i := range b.effects {
			known = known && b.effects[i].Kind != KindUnknown
		}
		if known != want {
			t.Errorf("%s: known %v", dir, known)
		}
	}
}
