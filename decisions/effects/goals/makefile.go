package goals

import (
	"slices"
	"strings"

	"github.com/permd/permd/internal/lazy"
)

const (
	maxGoals        = 16      // names that one makefile may begin with
	maxGoalIncludes = 8       // makefiles that are included before the first rule
	maxVariable     = 256     // bytes of a reference to a variable
	maxExpanded     = 4 << 10 // bytes that variables make of a line, beyond those of the line
)

// makefileGoals returns the targets of which make, given none, makes one: the first of the
// makefile. Where that depends on conditions or on what is not known, there are several.
// include returns the text of another makefile, "" if there is none.
func makefileGoals(makefile string, include func(name string) string) []string {
	g := reader{include: include, variables: map[string]string{}}
	g.read(makefile)
	return g.found
}

// reader reads a makefile.
type reader struct {
	include   func(string) string
	variables map[string]string
	found     []string
	includes  int
	depth     int  // of conditionals
	certain   bool // the first rule was found
}

var (
	makeVariable  = lazy.Regexp(`^(?:(?:export|override|private|unexport)\s+)*([^\s:=#?+!]+)\s*(?:::?:?|\?|\+|!)?=(.*)$`)
	targetSetting = lazy.Regexp(`^\s*(?:(?:export|override|private)\s+)*[^\s:=#]+\s*(?:::?:?|\?|\+|!)?=`)
)

// read reads a makefile to its end: a .DEFAULT_GOAL may stand anywhere.
func (g *reader) read(text string) {
	defining := false
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch first := words[0]; {
		case defining:
			defining = first != "endef"
		case slices.Contains(words, "define") && (first == "define" || first == "override" || first == "export"):
			defining = true
		case first == "ifdef", first == "ifndef", first == "ifeq", first == "ifneq":
			g.depth++
		case first == "endif":
			g.depth = max(g.depth-1, 0)
		case first == "else", strings.HasPrefix(line, "\t") && (len(g.found) > 0 || g.certain):
		case first == "include", first == "-include", first == "sinclude":
			for _, name := range words[1:] {
				if name, ok := g.expand(name); ok && !g.certain && g.includes < maxGoalIncludes {
					g.includes++
					g.read(g.include(name))
				}
			}
		default:
			g.line(strings.TrimSpace(line))
		}
	}
}

// line reads a line that may be a rule or an assignment.
func (g *reader) line(line string) {
	if m := makeVariable().FindStringSubmatch(line); m != nil {
		value, ok := g.expand(strings.TrimSpace(m[2]))
		if m[1] == ".DEFAULT_GOAL" && ok {
			g.add(value)
		}
		if delete(g.variables, m[1]); ok && g.depth == 0 {
			g.variables[m[1]] = value
		}
		return
	}
	line, _ = g.expand(line)
	names, rest, ok := strings.Cut(line, ":")
	if rest = strings.TrimPrefix(rest, ":"); !ok || g.certain || targetSetting().MatchString(rest) {
		return
	}
	for _, name := range strings.Fields(strings.TrimSuffix(strings.TrimSpace(names), "&")) {
		switch {
		case strings.HasPrefix(name, ".") && !strings.Contains(name, "/"), strings.Contains(name, "%"):
			continue
		case strings.Contains(name, "$"):
			continue // not known, and it may be empty
		}
		g.add(name)
		g.certain = g.depth == 0
		return
	}
}

func (g *reader) add(name string) {
	if len(g.found) < maxGoals && name != "" && !slices.Contains(g.found, name) {
		g.found = append(g.found, name)
	}
}

// expand replaces variables that are known; ok is false if others are left, or the text is
// too long. Values have no variables, so one pass is enough.
func (g *reader) expand(text string) (_ string, ok bool) {
	if !strings.Contains(text, "$") {
		return text, true
	}
	var out strings.Builder
	ok = true
	for {
		plain, rest, found := strings.Cut(text, "$")
		if out.WriteString(plain); !found {
			return out.String(), ok
		}
		name, n := reference(rest)
		value, known := g.variables[name]
		if !known || out.Len()+len(value) > maxExpanded {
			value, ok = "$"+rest[:n], false
		}
		out.WriteString(value)
		text = rest[n:]
	}
}

// reference returns the name of the variable that s refers to after a dollar sign, as
// $(name) or ${name}, and the length of the reference; "" and 0 if there is none.
func reference(s string) (name string, n int) {
	if s == "" || s[0] != '(' && s[0] != '{' {
		return "", 0
	}
	closing := map[byte]string{'(': ")", '{': "}"}[s[0]]
	name, _, ok := strings.Cut(s[1:min(len(s), maxVariable)], closing)
	if !ok {
		return "", 0
	}
	return name, len(name) + 2
}
