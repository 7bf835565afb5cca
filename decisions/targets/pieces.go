package targets

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/strictjson"
)

// An answer that is bound to content is bound to all of it, by a hash. What is here is for
// people: which part of a file a run is about, and its text, so that they can be told what
// has changed. Nothing is decided by it.

// maxPiece bounds the text of a part of a file that is compared for people, in bytes.
const maxPiece = 2 << 10

// scriptsPiece returns the words for scripts of a package.json, and their text; names are
// nil if all of them count.
func scriptsPiece(names []string, scripts strictjson.Object) (what, text string) {
	switch {
	case names == nil:
		what = "member scripts of"
	case slices.Contains(names, "postinstall"):
		what = "install script of"
	default:
		what = "script " + names[1] + " of" // between its pre and its post
	}
	var b strings.Builder
	for _, m := range scripts {
		value, ok := strictjson.ParseString(m.Value)
		if !ok {
			value = string(m.Value)
		}
		b.WriteString(m.Name + ": " + value + "\n")
	}
	return what, bounded(b.String())
}

// recipePiece returns the words for the target of a makefile or justfile that a run names, and
// its text; "" if it names none, or several.
func recipePiece(r *effects.Run, text string) (what, piece string) {
	target := ""
	for _, word := range r.Args {
		if strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue
		}
		if target != "" {
			return "", ""
		}
		target = word
	}
	if target == "" {
		return "", ""
	}
	return "target " + target + " of", bounded(recipe(text, target))
}

// recipe returns the lines of a makefile or a justfile that begin with a target, with the
// indented ones that follow.
func recipe(text, target string) string {
	var b strings.Builder
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		switch head, _, isRule := strings.Cut(line, ":"); {
		case line == "":
		case strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " "):
			line = strings.TrimSpace(line)
		default:
			in = isRule && slices.Contains(strings.Fields(head), target)
		}
		if in && line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// bounded returns a text, or "" if it is too long to be compared.
func bounded(text string) string {
	if len(text) > maxPiece {
		return ""
	}
	return text
}

// NameOf returns the words for what an answer is bound to: a file, or a part of one.
func NameOf(s *effects.Script, project string) string {
	file := s.Path
	if strings.HasSuffix(s.What, " in") {
		file = path.Dir(file)
	}
	name := ShownPath(file, project)
	if file == project {
		name = "."
	}
	if s.What != "" {
		name = display.Display(s.What) + " " + name
	}
	return name
}

// ShownText returns the text of a part of a file as it may be shown and stored: each line
// with its secrets masked and invisible characters escaped. It is "" where a secret could
// stand in a place in which masks do not look for one: in a command that goes on in the next
// line, or whose program is not certain.
func ShownText(s *effects.Script) string {
	var b strings.Builder
	for line := range strings.Lines(s.Text) {
		line = strings.TrimSuffix(line, "\n")
		name, command := "", line
		if m := beforeCommand().FindString(line); m != "" {
			name, command = m, line[len(m):]
		}
		if strings.ContainsAny(command, "\\\n|;&<>()`$\"'{}") {
			return ""
		}
		b.WriteString(display.Display(name) + display.Display(command) + "\n")
	}
	return bounded(b.String())
}

// beforeCommand matches the name of a script or target, and what a line of a makefile says
// of how its command is run.
var beforeCommand = lazy.Regexp(`^(?:[\w:.-]+:[ \t]*)?[-@+ \t]*`)

// ShownPath returns a path as rule lines have it: short if it is in the project.
func ShownPath(file, project string) string {
	if rest, ok := lexpath.RelBelow(project, file); ok {
		file = "./" + rest
	}
	return display.Display(file)
}
