// Package labels names effects in the rule lines of decisions/pattern, as people read
// remembered choices. It stores nothing, and matches nothing.
package labels

import (
	"cmp"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/lexpath"
)

// Of returns the rule line for exactly the effect, as displayed. For a choice that
// applies everywhere, files have absolute paths, since that is how they are matched.
// anyArguments leaves out that a tool is used with these arguments.
func Of(q *decisions.MemoryQuery, anyArguments, everywhere bool) string {
	e := q.Effect
	var line string
	switch e.Detail() {
	case effects.DetailRun:
		return runLabel(q, everywhere)
	case effects.DetailFile:
		project := q.Project
		if everywhere {
			project = ""
		}
		line = pathLine(e.File, project)
	case effects.DetailConnect:
		line = e.Connect.Host
		if _, err := netip.ParseAddr(line); err == nil && strings.Contains(line, ":") {
			line = "[" + line + "]"
		}
		if e.Connect.Port != 0 {
			line += ":" + strconv.Itoa(e.Connect.Port)
		}
	case effects.DetailUse:
		line = toolName(e.Use.Tool)
		if e.Use.Server != "" {
			line = toolName(e.Use.Server) + ":" + line
		}
		if e.Use.Version != "" {
			version := toolName(e.Use.Version)
			if strings.Trim(version, "0123456789") == "" {
				version = strconv.Quote(version) // in a line x stands for x.0.0
			}
			line += "@" + version
		}
		with := !anyArguments && len(e.Use.Arguments) > 0
		switch {
		case with && !e.Use.Credentials.Empty():
			line += " (with these arguments and credentials)"
		case with:
			line += " (with these arguments)"
		case !e.Use.Credentials.Empty():
			line += " (with these credentials)"
		}
	case effects.NoDetail:
		line = e.Text
	}
	return display.Display(line)
}

// WithVariables returns the label of a run with the variables that are set for it, which no rule
// line can express.
func WithVariables(r *effects.Run, label string) string {
	return display.Display(strings.Join(r.Variables, " ") + " " + label)
}

// toolName returns the name of a tool, a server or a version in a label. It is
// quoted if it contains separators or wildcards of labels, so that no two tools
// share a label. No rule line can express such a name.
func toolName(name string) string {
	if strings.ContainsAny(name, "@:*\" ()") {
		return strconv.Quote(name)
	}
	return name
}

func pathLine(f *effects.File, project string) string {
	p := pattern.Path{Base: pattern.Root}
	rest := f.Path
	if within(f.Path, project) && f.Path != project { // ./ alone is not a line
		p.Base, rest = pattern.Project, f.Path[len(project):]
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part != "" {
			p.Parts = append(p.Parts, pattern.Glob{part})
		}
	}
	line := p.String()
	if f.Recursive {
		return cmp.Or(strings.TrimSuffix(line, "/"), "/") + " and all below"
	}
	return line
}

// runLabel returns the rule line of a run, with secrets masked. Facts that no
// line can express (text on standard input, the text of a make target) are in
// the effect's own words.
func runLabel(q *decisions.MemoryQuery, everywhere bool) string {
	e := q.Effect
	if line := Line(q, everywhere); e.Run.StdinText == "" && IsPlain(e, line) {
		if p, err := pattern.Parse(e.Kind, line); err == nil && p.String() == line {
			return line
		}
	}
	return strings.TrimPrefix(e.Text, "run ")
}

// PathKey identifies a path of the project relative to the project, unless
// absolute is set.
func PathKey(p string, q *decisions.MemoryQuery, absolute bool) string {
	if !absolute && within(p, q.Project) {
		return "./" + strings.TrimPrefix(p[len(q.Project):], "/")
	}
	return p
}

// IsPlain reports whether a line may be stored and displayed: nothing in it is
// masked, in the line or in the effect's own words, which identify more
// secrets.
func IsPlain(e *effects.Effect, line string) bool {
	return display.Display(line) == line && !strings.Contains(e.Text, display.Masked) && !strings.Contains(e.Text, "…")
}

// Line returns the rule line for the effect, "" if there is none. One that applies
// everywhere has absolute paths: it must not match the file of
// that name in another project.
func Line(q *decisions.MemoryQuery, everywhere bool) string {
	e := q.Effect
	switch e.Detail() {
	case effects.DetailRun:
		line := pattern.Run{Program: e.Run.Program}
		if filepath.IsAbs(line.Program) && !everywhere {
			line.Program = PathKey(line.Program, q, false)
		}
		for _, arg := range e.Run.Args {
			line.Words = append(line.Words, pattern.Glob{arg})
		}
		return line.String()
	case effects.DetailFile:
		if filepath.Clean(e.File.Path) != e.File.Path {
			return ""
		}
		return fileLine(e, q.Project, everywhere)
	case effects.DetailConnect:
		host := e.Connect.Host
		if addr, err := netip.ParseAddr(host); err == nil && addr.Is6() && e.Connect.Port != 0 {
			host = "[" + host + "]"
		}
		if e.Connect.Port != 0 {
			host += ":" + strconv.Itoa(e.Connect.Port)
		}
		return host
	case effects.DetailUse:
		if strings.ContainsAny(e.Use.Server+e.Use.Tool, "*:\"") {
			return "" // a line would match other tools, or none
		}
		if e.Use.Server == "" {
			return e.Use.Tool
		}
		return e.Use.Server + ":" + e.Use.Tool
	case effects.NoDetail:
	}
	return ""
}

// fileLine returns the line for a file. Deleting a folder deletes its contents,
// so the line for that covers both; the folder of a whole project, and a
// searched folder, are named alone, or the line would cover every file that
// somebody works with.
func fileLine(e *effects.Effect, project string, everywhere bool) string {
	p := pattern.Path{Base: pattern.Root}
	rest := e.File.Path
	if !everywhere && within(rest, project) && rest != project {
		p.Base, rest = pattern.Project, rest[len(project):]
	}
	for name := range strings.SplitSeq(rest, "/") {
		if name != "" {
			p.Parts = append(p.Parts, pattern.Glob{name})
		}
	}
	if len(p.Parts) == 0 {
		return ""
	}
	if e.File.Recursive && e.Kind == effects.KindDelete && !within(project, e.File.Path) {
		p.Parts = append(p.Parts, nil)
	}
	return p.String()
}

// within reports whether a path is a project's root or below it.
func within(p, project string) bool { return project != "" && lexpath.In(project, p) }

// maxText bounds the text that a part shows, in characters.
const maxText = 200

// Text returns text of a call as people see it, cut to its beginning.
func Text(s string) string {
	r := []rune(display.Display(s))
	if len(r) > maxText {
		r = append(r[:maxText-1], '…')
	}
	return string(r)
}
