// Package effectstest has what tests of effects share: a checkout in memory, the
// shipped program table, and a notation for effects.
package effectstest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/lexpath"
)

const Cwd = "/home/ana/src/shop"

// Table is the program table as it is shipped.
func Table(t testing.TB) *programs.Table {
	t.Helper()
	table, err := programs.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func Files() *fsfake.FS {
	return fsfake.New(
		Cwd+"/.git/HEAD", Cwd+"/.git/config", Cwd+"/src/vat.ts", Cwd+"/src/main.go", Cwd+"/a.txt",
		Cwd+"/b.txt", Cwd+"/docs/", Cwd+"/other/.git/", Cwd+"/bare/HEAD", Cwd+"/run.sh", Cwd+"/.env",
		"/home/ana/.bashrc", "/home/ana/.ssh/id_ed25519", "/etc/passwd", "/tmp/", "/usr/bin/git", "/dev/null",
		Cwd+"/out -> /etc",
	)
}

// Compact is an effect in the notation of the test tables:
//
//	run PROGRAM ARGS [sub=…] [flags=…] [stdin=…] [cwd=…] [ro] [known] h=N ^VIA
func Compact(e *effects.Effect) string {
	var out strings.Builder
	out.WriteString(string(e.Kind))
	switch {
	case e.Run != nil:
		r := e.Run
		fmt.Fprintf(&out, " %s", lexpath.Shorten(Cwd, r.Program))
		for _, a := range r.Args {
			if a == effects.DynamicWord {
				a = "…"
			}
			out.WriteString(" " + display.QuoteWord(a))
		}
		if r.Subcommand != "" {
			out.WriteString(" sub=" + r.Subcommand)
		}
		if len(r.Flags) > 0 {
			out.WriteString(" flags=" + strings.Join(r.Flags, ","))
		}
		if r.Stdin != effects.StdinNone {
			out.WriteString(" stdin=" + string(r.Stdin))
		}
		if r.Cwd != Cwd {
			out.WriteString(" cwd=" + lexpath.Shorten(Cwd, r.Cwd))
		}
		if r.Script != nil {
			out.WriteString(" script")
		}
		switch {
		case r.Readonly:
			out.WriteString(" ro")
		case r.OwnData:
			out.WriteString(" own_data")
		case r.Reformats:
			out.WriteString(" reformats")
		case !r.Known:
			out.WriteString(" unlisted")
		}
		fmt.Fprintf(&out, " h=%d", r.HarmlessFrom)
	case e.File != nil:
		p := e.File.Path
		if p == Cwd {
			p = "."
		}
		out.WriteString(" " + lexpath.Shorten(Cwd, p))
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
		if e.Via.Arg == effects.Inherent {
			fmt.Fprintf(&out, " ^%d:own", e.Via.Effect)
		} else {
			fmt.Fprintf(&out, " ^%d:%d", e.Via.Effect, e.Via.Arg)
		}
	}
	return out.String()
}

// Canary is used as a secret. Its value does not look like one.
const Canary = "hunter2canary"

// ProgramFiles is the checkout of the golden cases, and what lies around it.
func ProgramFiles() *fsfake.FS {
	fs := Files()
	for name, text := range map[string]string{
		"package.json": `{"scripts":{"build":"tsc -p .","clean":"rm -rf dist"}}`,
		"Makefile":     "all: build\n\nbuild test: a.txt\n\t@echo one\n\tgo build ./...\nclean:\n\trm -rf out\n",
		"justfile":     "lint:\n    ruff check .\n",
		"tools/x.py":   "print(1)\n",
		"build.sh":     "make all\n",
		"app.db":       testDatabase(1), "log.db": testDatabase(2), "journal.db": testDatabase(1), "journal.db-journal": "",
	} {
		fs.File(Cwd+"/"+name, text)
	}
	return fs
}

// testDatabase is the head of a SQLite database; with version 2, it keeps a log.
func testDatabase(version byte) string {
	return "SQLite format 3\x00\x10\x00" + string([]byte{version, version}) + strings.Repeat("\x00", 80)
}

// SecretFiles is a checkout with secrets below its folders. Git tracks
// config/.env, and leaves out deploy/server.key.
func SecretFiles() *fsfake.FS {
	return fsfake.New(
		Cwd+"/config/", Cwd+"/src/main.go", Cwd+"/infra/secrets.yml", Cwd+"/deploy/server.key",
		Cwd+"/deploy/tests/server.key", Cwd+"/web/.npmrc", Cwd+"/docs/a.md", Cwd+"/node_modules/x/key.pem", "/etc/hosts", "/tmp/",
		"/usr/bin/git",
	).File(Cwd+"/config/.env", "").File(Cwd+"/.gitignore", "*.key\n").
		File(Cwd+"/.git/index", gitIndex("config/.env")).File(Cwd+"/.git/HEAD", "x")
}

// gitIndex is git's list of tracked files with one file, as gitformat-index(5) has it.
func gitIndex(name string) string {
	const mode, times, checksum = "\x00\x00\x81\xa4", 24, 20
	entry := strings.Repeat("\x00", times) + mode + strings.Repeat("\x00", 12+checksum) + "\x00" + string(rune(len(name))) + name
	entry += strings.Repeat("\x00", 8-len(entry)%8)
	return "DIRC\x00\x00\x00\x02\x00\x00\x00\x01" + entry + strings.Repeat("\x00", checksum)
}

// IndexOf is an index whose tasks are done when they are started.
func IndexOf(fs effects.FS) *paths.Index {
	x := paths.NewIndex(fs, func() time.Time { return time.Unix(2e9, 0) })
	x.Background = func(task func()) { task() }
	return x
}
