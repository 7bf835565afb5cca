// Package goals knows what programs such as make, just and npm take a goal for: which one
// is the default, and which commands a goal runs according to the files of a project.
package goals

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

const (
	// maxFile is the maximum size of a file that is searched for a goal, in bytes, and
	// maxShown how much of the goal's text is shown.
	maxFile  = 128 << 10
	maxShown = 200
	// maxFiles is how many makefiles of one run are searched for the first goal.
	maxFiles = 4
)

// Rule is how a program of which each operand is a goal of its own takes its goals.
type Rule struct {
	// Program is the name under which the goals are denied.
	Program string
	// standard is the goal that is taken if none is given; that of make and just is read
	// in their files.
	standard string
}

var rules = map[string]Rule{
	"make": {"make", ""}, "gmake": {"make", ""}, "just": {"just", ""}, "rake": {"rake", "default"}, "task": {"task", "default"},
}

// Of returns the rule of a program.
func Of(program string) (Rule, bool) {
	r, ok := rules[program]
	return r, ok
}

// Name returns a goal as the program takes it: to make ./ship is ship.
func (r Rule) Name(goal string) string {
	for strings.HasPrefix(goal, "./") {
		goal = strings.TrimLeft(goal[2:], "/")
	}
	if r.Program == "rake" {
		goal, _, _ = strings.Cut(goal, "[")
	}
	return goal
}

// Place is where a program looks for the files that define goals.
type Place struct {
	FS  effects.FS
	Cwd string // "" if it is not known
	// Files has the names of such files, with spaces between them, Named those that the
	// run names.
	Files string
	Named []string
	// Project is the folder above which just does not look.
	Project string
}

// Standard returns the goals of which the program takes one that is given none.
func (r Rule) Standard(p *Place) []string {
	if r.standard != "" || !path.IsAbs(p.Cwd) {
		return strings.Fields(r.standard)
	}
	read := func(name string) (string, bool) {
		if !path.IsAbs(name) {
			name = path.Join(p.Cwd, name)
		}
		text, err := p.FS.ReadFile(name, maxFile)
		return string(text), err == nil
	}
	files := p.Named
	if len(files) == 0 {
		for dir := p.Cwd; len(files) == 0; dir = path.Dir(dir) {
			for name := range strings.FieldsSeq(p.Files) {
				if _, ok := read(path.Join(dir, name)); ok {
					files = []string{path.Join(dir, name)}
					break
				}
			}
			if r.Program != "just" || dir == "/" || dir == p.Project {
				break
			}
		}
	}
	var all strings.Builder
	for _, name := range files[:min(len(files), maxFiles)] {
		text, _ := read(name)
		all.WriteString(text + "\n")
	}
	if r.Program == "just" {
		return justfileGoals(all.String())
	}
	return makefileGoals(all.String(), func(name string) string { text, _ := read(name); return text })
}

// Line returns the text of a goal, "" if it cannot be found cheaply.
func (p *Place) Line(name string) string {
	if !path.IsAbs(p.Cwd) {
		return ""
	}
	line := ""
	for file := range strings.FieldsSeq(p.Files) {
		text, err := p.FS.ReadFile(path.Join(p.Cwd, file), maxFile)
		if err != nil {
			continue
		}
		if file == "package.json" {
			if strictjson.Check(text) == nil {
				line, _ = strictjson.ParseString(strictjson.Find(text, "scripts", name))
			}
		} else {
			line = recipe(string(text), name)
		}
		break
	}
	if len(line) > maxShown {
		line = line[:maxShown] + "…"
	}
	return line
}
