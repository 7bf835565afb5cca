package docs

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/permd/permd/internal/lexpath"
)

const modulePath = "github.com/permd/permd"

// byConvention are methods called by libraries: for errors, formatting, encoding,
// logging, metrics, tracing evaluations, databases and D-Bus, and by OPA for its plugins, its
// logging and its readers of bundles.
var byConvention = []string{
	"DeliverSignal", "Describe", "Driver", "Enabled", "Error", "Handle", "Is", "LookupObject", "String", "TraceEvent", "UnmarshalYAML", "Unwrap", "WithAttrs", "WithGroup",
	"GetLevel", "NextFile", "Reconfigure", "SetLevel", "WithFields", "WithFilter", "WithFollowSymlinks", "WithPathFormat",
}

// TestExported finds exported names that no other package uses, tests included. A type
// is used if an exported declaration mentions it, a constant if its type is used.
// Methods are compared by name alone, so some unused ones are missed.
func TestExported(t *testing.T) {
	m := readModule(t)
	declared := 0
	for folder, p := range m {
		for name, d := range p.exported {
			declared++
			if !p.used[name] && !p.mentioned[name] && !p.used[d.typ] && !p.mentioned[d.typ] {
				t.Errorf("%s: nothing outside of %s uses %s: unexport it", p.fset.Position(d.pos), folder, name)
			}
		}
		for name, pos := range p.methods {
			declared++
			if !slices.Contains(byConvention, name) && !m.selects(folder, name) {
				t.Errorf("%s: nothing outside of %s calls a method %s: unexport it", p.fset.Position(pos), folder, name)
			}
		}
	}
	if declared < 1000 {
		t.Errorf("only %d exported names", declared)
	}
}

// exportedName is the position of a name's declaration; typ is the type of a constant.
type exportedName struct {
	pos token.Pos
	typ string
}

// sourceFolder is the package in a folder.
type sourceFolder struct {
	fset      *token.FileSet
	exported  map[string]exportedName
	methods   map[string]token.Pos
	used      map[string]bool // package-level names, by other packages
	mentioned map[string]bool // types in exported declarations
	selected  map[string]bool // all that is selected from anything, and methods of interfaces
}

type sourceModule map[string]*sourceFolder

func (m sourceModule) at(fset *token.FileSet, folder string) *sourceFolder {
	if m[folder] == nil {
		m[folder] = &sourceFolder{fset, map[string]exportedName{}, map[string]token.Pos{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	}
	return m[folder]
}

// selects reports whether a package other than the one in folder selects name, or any
// interface has a method with that name.
func (m sourceModule) selects(folder, name string) bool {
	for other, p := range m {
		if p.selected[name] && (other != folder || p.selected["interface "+name]) {
			return true
		}
	}
	return false
}

func readModule(t *testing.T) sourceModule {
	t.Helper()
	m, parsed := sourceModule{}, module(t)
	for _, f := range parsed.files {
		folder := path.Dir(f.path)
		p := m.at(parsed.fset, folder)
		if f.isTest() && strings.HasSuffix(f.syntax.Name.Name, "_test") {
			p = m.at(parsed.fset, folder+" (its tests)")
		}
		m.uses(parsed.fset, p, f.syntax)
		if !f.isTest() && f.syntax.Name.Name != "main" {
			p.declarations(f.syntax)
		}
	}
	return m
}

// uses records what a file uses of other packages.
func (m sourceModule) uses(fset *token.FileSet, p *sourceFolder, f *ast.File) {
	imports := map[string]string{}
	for _, spec := range f.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		folder, ok := lexpath.RelBelow(modulePath, path)
		if !ok {
			continue
		}
		name := folder[strings.LastIndexByte(folder, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = folder
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			p.selected[n.Sel.Name] = true
			if x, ok := n.X.(*ast.Ident); ok && imports[x.Name] != "" {
				m.at(fset, imports[x.Name]).used[n.Sel.Name] = true
			}
		case *ast.InterfaceType:
			for _, method := range n.Methods.List {
				for _, name := range method.Names {
					p.selected[name.Name], p.selected["interface "+name.Name] = true, true
				}
			}
		}
		return true
	})
}

// declarations records what a file exports.
func (p *sourceFolder) declarations(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			switch {
			case !d.Name.IsExported():
				continue
			case d.Recv == nil:
				p.exported[d.Name.Name] = exportedName{pos: d.Pos()}
			default:
				p.methods[d.Name.Name] = d.Pos()
			}
			p.mention(d.Type)
		case *ast.GenDecl:
			typ := "" // of a constant, or of the one before it
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						p.exported[s.Name.Name] = exportedName{pos: s.Pos()}
						p.mention(s.Type)
					}
				case *ast.ValueSpec:
					if id, ok := s.Type.(*ast.Ident); ok && d.Tok == token.CONST {
						typ = id.Name
					} else if s.Values != nil {
						typ = ""
					}
					for _, name := range s.Names {
						if name.IsExported() {
							p.exported[name.Name] = exportedName{name.Pos(), typ}
							if s.Type != nil && d.Tok == token.VAR {
								p.mention(s.Type)
							}
						}
					}
				}
			}
		}
	}
}

// mention records the types in an exported declaration.
func (p *sourceFolder) mention(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			p.mentioned[id.Name] = true
		}
		return true
	})
}
