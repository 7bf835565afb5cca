package source

import (
	"errors"
	"path"
	"path/filepath"
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

// IsBlank reports whether a file holds nothing but comments, so that it has no
// rules. OPA's parser would require a package.
func (f File) IsBlank() bool {
	for line := range strings.Lines(string(f.Data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// IsEmpty reports whether a file has no text at all. One with comments is not empty.
func (f File) IsEmpty() bool { return len(strings.TrimSpace(string(f.Data))) == 0 }

// NonEmpty returns the files with rules that are not empty.
func NonEmpty(files []File) []File {
	var out []File
	for i := range files {
		if f := &files[i]; !f.IsTest() && !f.IsEmpty() {
			out = append(out, *f)
		}
	}
	return out
}

// ProjectDirs returns the .permd folders that apply to a project: its own and
// those of all parent folders, nearest first.
func ProjectDirs(root string) ([]string, error) {
	if !filepath.IsAbs(root) || filepath.Clean(root) != root {
		return nil, errors.New("the project's root must be an absolute, clean path")
	}
	var dirs []string
	for dir := root; ; dir = filepath.Dir(dir) {
		dirs = append(dirs, filepath.Join(dir, ".permd"))
		if dir == filepath.Dir(dir) || len(dirs) > maxLevels {
			return dirs, nil
		}
	}
}

// maxLevels is the maximum depth of a project below the root folder.
const maxLevels = 128
