package shell

import (
	"slices"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestReformats: a formatter only reformats while its words say no more, and no link in a
// folder that it walks leads to what it would write as well. What it writes is marked only
// where that is a file, since a folder may hold other names of files that lie elsewhere.
func TestReformats(t *testing.T) {
	for text, want := range map[string]bool{
		"gofmt -w a.go": true, "gofmt -l -s -w src": true, "shfmt -i 2 -w run.sh": true,
		"gofmt -w -r 'a -> b' a.go": false, "gofmt -w -cpuprofile p a.go": false, "gofmt -w -nosuch a.go": false, "gofmt -w $X": false, "shfmt -mn -w run.sh": false,
		"gofmt -w linked": false, "gofmt -w .": false, "ln -s ../x src/x.go; gofmt -w src": false, "cp -r linked src/x; gofmt -w src": false, "gofmt -l a.go": false,
		"gofmt -w linked/*.go": false, "find . -name '*.txt' -exec gofmt -w {} +": false, "find folders -exec gofmt -w {} +": false, "ls | gofmt -l src": false,
		"shfmt -w c.yaml": false, "shfmt -w Makefile": false, "shfmt -w deploy": true, "shfmt -w tool": false, "shfmt -w py.sh": false, "shfmt -w x.sh y.txt": false, "gofmt -w c.yaml": false, "gofmt -w Makefile": false, "shfmt -w x.sh": true,
		"gofmt -w folders": true, // links to folders are not followed
	} {
		fs := effectstest.Files().File(effectstest.Cwd+"/src/a.go", "package src\n").File(effectstest.Cwd+"/a.go", "package a\n").File(effectstest.Cwd+"/run.sh", "ls\n").File("/home/ana/x.go", "package x\n").
			File(effectstest.Cwd+"/c.yaml", "a: 1\n").File(effectstest.Cwd+"/Makefile", "all:\n").File(effectstest.Cwd+"/deploy", "#!/usr/bin/env bash\nls\n").File(effectstest.Cwd+"/tool", "#!/usr/bin/python3\n").
			File(effectstest.Cwd+"/py.sh", "#!/usr/bin/python3\n").File(effectstest.Cwd+"/x.sh", "ls\n").File(effectstest.Cwd+"/y.txt", "ls\n").
			Link(effectstest.Cwd+"/linked/x.go", "/home/ana/x.go").Link(effectstest.Cwd+"/linked/y.txt", "/home/ana/x.go").Link(effectstest.Cwd+"/folders/x", "/home/ana")
		b := shellBuilder(effectstest.Table(t), fs)
		Text(b, text, effectstest.Cwd, "command")
		list := b.Effects
		last := slices.IndexFunc(list, func(e effects.Effect) bool {
			return e.Run != nil && (e.Run.Program == "gofmt" || e.Run.Program == "shfmt")
		})
		if last < 0 || list[last].Run.Reformats != want {
			t.Errorf("%s: it only reformats: %v", text, !want)
		}
		for _, e := range list {
			isFile := e.File != nil && (e.File.Path == effectstest.Cwd+"/a.go" || e.File.Path == effectstest.Cwd+"/run.sh" || e.File.Path == effectstest.Cwd+"/x.sh" || e.File.Path == effectstest.Cwd+"/deploy")
			if e.File != nil && e.File.Reformatted != (want && isFile && e.Kind == effects.KindWrite) {
				t.Errorf("%s: %s: reformatted: %v", text, e.Text, e.File.Reformatted)
			}
		}
	}
}
