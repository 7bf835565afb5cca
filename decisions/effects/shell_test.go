package effects

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects/fsfake"
)

// shippedTable is the program table as it is shipped.
func shippedTable(t testing.TB) *Table {
	t.Helper()
	names, err := filepath.Glob("../../rego/programs/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no program files: %v", err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = data
	}
	table, err := ParseTable(files)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func shellFiles() *fsfake.FS {
	return fsfake.New(
		testCwd+"/.git/HEAD", testCwd+"/.git/config", testCwd+"/src/vat.ts", testCwd+"/src/main.go", testCwd+"/a.txt",
		testCwd+"/b.txt", testCwd+"/docs/", testCwd+"/other/.git/", testCwd+"/bare/HEAD", testCwd+"/run.sh", testCwd+"/.env",
		"/home/ana/.bashrc", "/home/ana/.ssh/id_ed25519", "/etc/passwd", "/tmp/", "/usr/bin/git", "/dev/null",
		testCwd+"/out -> /etc",
	)
}

func shellBuilder(table *Table, fs FS) *builder {
	c := &Call{
		Cwd:  testCwd,
		User: User{UID: 1000, Name: "ana", Home: "/home/ana", Env: map[string]string{"HOME": "/home/ana", "USER": "ana"}},
	}
	env := environment{fs: fs}
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

// compact is an effect in the notation of the test tables:
//
//	run PROGRAM ARGS [sub=…] [flags=…] [stdin=…] [cwd=…] [ro] [known] h=N ^VIA
func compact(e *Effect) string {
	var out strings.Builder
	out.WriteString(string(e.Kind))
	switch {
	case e.Run != nil:
		r := e.Run
		fmt.Fprintf(&out, " %s", strings.TrimPrefix(r.Program, testCwd+"/"))
		for _, a := range r.Args {
			if a == DynamicWord {
				a = "…"
			}
			out.WriteString(" " + quoteWord(a))
		}
		if r.Subcommand != "" {
			out.WriteString(" sub=" + r.Subcommand)
		}
		if len(r.Flags) > 0 {
			out.WriteString(" flags=" + strings.Join(r.Flags, ","))
		}
		if r.Stdin != StdinNone {
			out.WriteString(" stdin=" + string(r.Stdin))
		}
		if r.Cwd != testCwd {
			out.WriteString(" cwd=" + strings.TrimPrefix(r.Cwd, testCwd+"/"))
		}
		if r.Script != nil {
			out.WriteString(" script")
		}
		switch {
		case r.Readonly:
			out.WriteString(" ro")
		case !r.Known:
			out.WriteString(" unlisted")
		}
		fmt.Fprintf(&out, " h=%d", r.HarmlessFrom)
	case e.File != nil:
		p := e.File.Path
		if p == testCwd {
			p = "."
		}
		out.WriteString(" " + strings.TrimPrefix(p, testCwd+"/"))
		if e.File.Recursive {
			out.WriteString("/**")
		}
	case e.Connect != nil:
		out.WriteString(" " + e.Connect.Method + " " + e.Connect.Host)
		if e.Connect.Host == "" {
			out.WriteString(e.Text)
		}
	case e.Cause != "":
		out.WriteString(" " + string(e.Cause) + " " + string(e.Construct))
	default:
		out.WriteString(" " + e.Why)
	}
	if e.Via != nil {
		if e.Via.Arg == Inherent {
			fmt.Fprintf(&out, " ^%d:own", e.Via.Effect)
		} else {
			fmt.Fprintf(&out, " ^%d:%d", e.Via.Effect, e.Via.Arg)
		}
	}
	return out.String()
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
