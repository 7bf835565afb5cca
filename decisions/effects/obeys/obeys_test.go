package obeys_test

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/obeys"
)

const cwd = effectstest.Cwd

// TestObeys: which file decides what a program does, and which one decides what program
// its name means.
func TestObeys(t *testing.T) {
	for name, tt := range map[string]struct {
		program string
		files   map[string]string
		dir     string // cwd if empty
		operand string
		before  []effects.Effect
		project string // what Project finds
		shim    string // what Shim finds
	}{
		"obeys nothing":              {program: "cat", operand: "a.txt"},
		"no such file":               {program: "shellcheck", operand: "run.sh"},
		"a file next to the operand": {program: "shellcheck", operand: "other/x.sh", files: map[string]string{cwd + "/other/.shellcheckrc": "external-sources=true\n"}, project: cwd + "/other/.shellcheckrc"},
		"a file next to another one": {program: "shellcheck", operand: "run.sh", files: map[string]string{cwd + "/other/.shellcheckrc": "external-sources=true\n"}},
		"a shim in the folder":       {program: "node", files: map[string]string{cwd + "/.tool-versions": "node path:./evil\n"}, shim: cwd + "/.tool-versions"},
		"a shim above it":            {program: "node", files: map[string]string{cwd + "/.tool-versions": "node path:./evil\n"}, dir: cwd + "/src", shim: cwd + "/.tool-versions"},
		"a harmless shim":            {program: "node", files: map[string]string{cwd + "/.tool-versions": "nodejs 22.1.0\n"}},
		"a shim that is yet to come": {program: "node", before: []effects.Effect{effectstest.Change(effects.KindWrite, cwd+"/.tool-versions")}, shim: "/home/ana/src/shop/.tool-versions"},
		"an unknown folder":          {program: "node", dir: "?", project: "a file in a folder of which nothing is known", shim: "a file in a folder of which nothing is known"},
		"the whole project":          {program: "task", project: "the files of its project"},
		"a file of its home":         {program: "sqlite3"},
		"one that the call writes":   {program: "sqlite3", before: []effects.Effect{effectstest.Change(effects.KindWrite, "/home/ana/.sqliterc")}, project: "/home/ana/.sqliterc"},
		"a harmless configuration":   {program: "git", files: map[string]string{cwd + "/.git/config": "[user]\n\tname = Ana\n"}},
		"one that runs a program":    {program: "git", files: map[string]string{cwd + "/.git/config": "[core]\n\tpager = ./evil\n"}, project: cwd + "/.git/config"},
	} {
		t.Run(name, func(t *testing.T) {
			files := effectstest.Files()
			for file, text := range tt.files {
				files.File(file, text)
			}
			c := effectstest.Collector(t, files, tt.before...)
			run := &effects.Run{Program: tt.program, Cwd: cwd}
			switch tt.dir {
			case "":
			case "?":
				run.Cwd = ""
			default:
				run.Cwd = tt.dir
			}
			r := obeys.Run{Call: c, Program: c.Table.Program(tt.program), Run: run}
			if tt.operand != "" {
				r.Args, r.Operands = []effects.Word{{Text: tt.operand}}, []int{0}
			}
			if r.Program == nil {
				t.Fatal("the program is not in the table")
			}
			for what, got := range map[string][2]string{"project": {r.Project(), tt.project}, "shim": {r.Shim(), tt.shim}} {
				if (got[0] == "") != (got[1] == "") || !strings.Contains(got[0], got[1]) {
					t.Errorf("%s: have %q, want %q", what, got[0], got[1])
				}
			}
		})
	}
}
