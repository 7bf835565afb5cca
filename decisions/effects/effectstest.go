package effects

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects/fsfake"
)

const testCwd = "/home/ana/src/shop"

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

// canary stands for a secret; its value has nothing by which it could be told.
const canary = "hunter2canary"

// programFiles is the checkout of the golden cases, and what lies around it.
func programFiles() *fsfake.FS {
	fs := shellFiles()
	for name, text := range map[string]string{
		"package.json": `{"scripts":{"build":"tsc -p .","clean":"rm -rf dist"}}`,
		"Makefile":     "all: build\n\nbuild test: a.txt\n\t@echo one\n\tgo build ./...\nclean:\n\trm -rf out\n",
		"justfile":     "lint:\n    ruff check .\n",
		"tools/x.py":   "print(1)\n",
		"build.sh":     "make all\n",
		"app.db":       testDatabase(1), "log.db": testDatabase(2), "journal.db": testDatabase(1), "journal.db-journal": "",
	} {
		fs.File(testCwd+"/"+name, text)
	}
	return fs
}

// testDatabase is the head of a SQLite database; with version 2, it keeps a log.
func testDatabase(version byte) string {
	return "SQLite format 3\x00\x10\x00" + string([]byte{version, version}) + strings.Repeat("\x00", 80)
}

// secretFiles is a checkout with secrets below its folders. Git tracks
// config/.env, and leaves out deploy/server.key.
func secretFiles() *fsfake.FS {
	return fsfake.New(
		testCwd+"/config/", testCwd+"/src/main.go", testCwd+"/infra/secrets.yml", testCwd+"/deploy/server.key",
		testCwd+"/deploy/tests/server.key", testCwd+"/web/.npmrc", testCwd+"/docs/a.md", testCwd+"/node_modules/x/key.pem", "/etc/hosts", "/tmp/",
		"/usr/bin/git",
	).File(testCwd+"/config/.env", "").File(testCwd+"/.gitignore", "*.key\n").
		File(testCwd+"/.git/index", "DIRC\x00\x00\x00\x02\x00\x00\x00\x01…\x0bconfig/.env\x00").File(testCwd+"/.git/HEAD", "x")
}

// indexOf is an index whose tasks are done when they are started.
func indexOf(fs FS) *Index {
	x := NewIndex(fs, func() time.Time { return time.Unix(2e9, 0) })
	x.beside = func(task func()) { task() }
	return x
}
