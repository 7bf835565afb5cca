package shell

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/runs"
)

func shellBuilder(table *programs.Table, fs effects.FS) *runs.Builder {
	return shellBuilderIn(paths.Environment{FS: fs}, table)
}

func shellBuilderIn(env paths.Environment, table *programs.Table) *runs.Builder {
	c := &effects.Call{
		Cwd:  effectstest.Cwd,
		User: effects.User{UID: 1000, Name: "ana", Home: "/home/ana", Env: map[string]string{"HOME": "/home/ana", "USER": "ana"}},
	}
	return NewBuilder(env, table, c, paths.NewResolver(env, c))
}

// onDisk reads a text in a folder of this machine, for the user of the test with another home.
func onDisk(table *programs.Table, home, cwd, text string) *runs.Builder {
	env := paths.Environment{FS: paths.OSFS{}}
	c := &effects.Call{Cwd: cwd, User: effects.User{UID: uint32(os.Getuid()), Name: "ana", Home: home, Env: map[string]string{"HOME": home}}}
	b := NewBuilder(env, table, c, paths.NewResolver(env, c))
	Text(b, text, cwd, "command")
	return b
}

// lastRun returns the last run of a list, nil if there is none.
func lastRun(list []effects.Effect) (last *effects.Run) {
	for _, e := range list {
		if e.Run != nil {
			last = e.Run
		}
	}
	return last
}

// shellEffects returns the effects of shell text, one a line.
func shellEffects(t testing.TB, table *programs.Table, text string) (lines []string, b *runs.Builder) {
	t.Helper()
	b = shellBuilder(table, effectstest.Files())
	Text(b, text, effectstest.Cwd, "command")
	for i := range b.Effects {
		lines = append(lines, effectstest.Compact(&b.Effects[i]))
	}
	return lines, b
}

var update = flag.Bool("update", false, "write the effects of testdata/shell.txt and language.txt anew")

// TestShell compares the effects of many commands with testdata/shell.txt and
// testdata/language.txt: a name after "== ", the text, "--", and the effects in
// the notation of compact. Read every line that an update changes.
func TestShell(t *testing.T) {
	for _, file := range []string{"shell", "language"} {
		t.Run(file, func(t *testing.T) { shellCases(t, "../testdata/"+file+".txt") })
	}
}

func shellCases(t *testing.T, file string) {
	table := effectstest.Table(t)
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
		if b.Nothing {
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

// TestGitInWorktree: git is understood in another working tree of the project's
// repository, whose configuration is the same, and in no other repository that says which programs run.
func TestGitInWorktree(t *testing.T) {
	const tree, admin = "/home/ana/trees/fix", effectstest.Cwd + "/.git/worktrees/fix"
	fs := effectstest.Files()
	fs.Dir(effectstest.Cwd+"/.git/objects").File(tree+"/.git", "gitdir: "+admin+"\n").File(admin+"/gitdir", tree+"/.git\n").File(admin+"/commondir", "../..\n")
	fs.File("/home/ana/other/.git/HEAD", "").File("/home/ana/other/.git/config", "[core]\n\tpager = ./x\n").Dir("/home/ana/trees/plain")
	for dir, want := range map[string]bool{tree: true, tree + "/src": true, "/home/ana/other": false, "/home/ana/trees/plain": false} {
		b := shellBuilder(effectstest.Table(t), fs)
		Text(b, "git -C "+dir+" status", effectstest.Cwd, "command")
		known := true
		for i := range b.Effects {
			known = known && b.Effects[i].Kind != effects.KindUnknown
		}
		if known != want {
			t.Errorf("%s: known %v", dir, known)
		}
	}
}
