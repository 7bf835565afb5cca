package source

import (
	"path"
	"slices"
	"strings"
)

// Files are classified by name: rules in Rego, their tests, a list of rules, or
// descriptions of programs.

// ListName is the name of files with a list of rules.
const ListName = "rules.yaml"

// IsTest reports whether a file holds tests of rules.
func (f File) IsTest() bool { return strings.HasSuffix(f.Rel, "_test.rego") }

// IsList reports whether a file is a list of rules.
func (f File) IsList() bool { return path.Base(f.Rel) == ListName }

// ProgramsDir is the name of folders, among the rules of a layer, with
// descriptions of programs. Org and user add to the program table with them; a
// project never does.
const ProgramsDir = "programs"

// IsPrograms reports whether a file describes programs. A file named as a list
// of rules is a list wherever it is.
func (f File) IsPrograms() bool { return isPrograms(f.Rel) }

func isPrograms(rel string) bool {
	return path.Base(path.Dir(rel)) == ProgramsDir && path.Ext(rel) == ".yaml" && path.Base(rel) != ListName
}

// misplacedPrograms returns what to do about a file that almost qualifies as a
// description of programs, "" for others.
func misplacedPrograms(rel string) (hint string) {
	dir, name := path.Split(rel)
	switch {
	case !slices.Contains(strings.Split(dir, "/"), ProgramsDir) || isPrograms(rel) || name == ListName:
	case path.Ext(name) == ".yml":
		return "name it " + strings.TrimSuffix(name, ".yml") + ".yaml"
	case path.Ext(name) == ".yaml":
		return "put it into the folder " + ProgramsDir + " itself"
	}
	return ""
}
