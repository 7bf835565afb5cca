package source

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Files are classified by name: rules in Rego, their tests, a list of rules, calls that
// test rules, descriptions of programs, or profiles of agents.

// IsRead reports whether a file of a layer is read, by its path in the layer.
func IsRead(rel string) bool {
	return strings.HasSuffix(rel, ".rego") || path.Base(rel) == ListName || isCalls(rel) || isPrograms(rel) || isProfiles(rel)
}

// NotRead returns what to do about a file whose name is almost that of one that is read, ""
// for others.
func NotRead(rel string) (hint string) {
	if name := path.Base(rel); name == "rules.yml" || name == "profiles.yml" && !isPrograms(rel) {
		return "name it " + strings.TrimSuffix(name, ".yml") + ".yaml"
	}
	return misplacedPrograms(rel)
}

// ListName is the name of files with a list of rules.
const ListName = "rules.yaml"

// IsTest reports whether a file holds tests of rules.
func (f File) IsTest() bool { return strings.HasSuffix(f.Rel, "_test.rego") }

// IsCalls reports whether a file holds calls with the verdicts that they must have.
func (f File) IsCalls() bool { return isCalls(f.Rel) }

func isCalls(rel string) bool { return strings.HasSuffix(rel, "_test.yaml") && !isPrograms(rel) }

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

// ProfilesName is the name of files with profiles of agents, among the rules of org and
// user; a project has none.
const ProfilesName = "profiles.yaml"

// IsProfiles reports whether a file has profiles of agents.
func (f File) IsProfiles() bool { return isProfiles(f.Rel) }

func isProfiles(rel string) bool { return path.Base(rel) == ProfilesName && !isPrograms(rel) }

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
		if f := &files[i]; !f.IsTest() && !f.IsCalls() && !f.IsEmpty() {
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

// LooksLikeRules returns what to do about a file that is not read although its name
// suggests that it holds rules, "" for others.
func LooksLikeRules(rel string) (hint string) {
	base := path.Base(rel)
	name := strings.ToLower(strings.TrimRight(strings.TrimLeft(base, "."), "~"))
	for _, ending := range []string{".bak", ".old", ".orig", ".save", ".swp", ".tmp", ".disabled", ".txt"} {
		name = strings.TrimSuffix(name, ending)
	}
	rego, yaml := strings.HasSuffix(name, ".rego"), strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
	switch {
	case (rego || yaml) && strings.HasPrefix(base, "."):
		return "take the dot from its name, or move it elsewhere"
	case rego:
		return "let its name end in .rego, or move it elsewhere"
	case strings.HasSuffix(name, "_test.yml"):
		return "name it " + strings.TrimSuffix(base, ".yml") + ".yaml"
	case yaml:
		return "name it " + ListName + " (in a folder of its own, if there is one), or *_test.yaml if it holds calls, or move it elsewhere"
	}
	return ""
}

// IsAside reports whether a file is one of those that lie in many folders and that nobody
// takes for rules.
func IsAside(rel string) bool {
	name := path.Base(rel)
	return strings.HasSuffix(name, ".md") || strings.HasPrefix(name, ".git") || strings.HasPrefix(name, "README") ||
		strings.HasPrefix(name, "LICENSE") || strings.HasPrefix(name, "..") || name == ".DS_Store" || name == ".editorconfig"
}
