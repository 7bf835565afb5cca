package main

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the daemon never remembers is written in its own package; the measured
// copy is the same, word for word.
func TestAllowableIsTheDaemons(t *testing.T) {
	daemon, bench := declarations(t, "../../cmd/permd/memory.go"), declarations(t, "allowable.go")
	for _, name := range []string{"shells", "wrappers", "allowableRun", "baseName"} {
		if bench[name] == "" {
			t.Errorf("%s is not there", name)
		}
		if diff := cmp.Diff(daemon[name], bench[name]); diff != "" {
			t.Errorf("%s differs (-daemon +bench):\n%s", name, diff)
		}
	}
}

// declarations are the texts of a file's functions and variables, without their
// comments.
func declarations(t *testing.T, file string) map[string]string {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	text := func(name string, n ast.Node) {
		var b bytes.Buffer
		if err := format.Node(&b, fset, n); err != nil {
			t.Fatal(err)
		}
		texts[name] = b.String()
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			d.Doc = nil
			text(d.Name.Name, d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && len(v.Values) == 1 {
					text(v.Names[0].Name, v.Values[0])
				}
			}
		}
	}
	return texts
}
