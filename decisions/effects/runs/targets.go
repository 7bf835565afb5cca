package runs

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/wordset"
)

const (
	// maxTargetFile is the maximum size of a file that is searched for a target, in bytes,
	// and maxTargetLine how much of the target's text is shown.
	maxTargetFile = 128 << 10
	maxTargetLine = 200
)

// target handles the name of a script or target that a file of the project defines, and
// shows its text. Whether the text has changed when a remembered choice is used is
// checked elsewhere.
func (v *invocation) target(role programs.Role, i int, w effects.Word) {
	v.changes = true
	v.markHarmful(i)
	if w.Dynamic() || w.Glob {
		v.dynamicWord(i)
		return
	}
	if role == programs.RoleTarget && strings.Contains(w.Text, "://") {
		v.connect(programs.RoleConnects, i, w)
		v.unexplainedTail(i + 1)
		return
	}
	if role == programs.RoleTarget && runsFiles[v.run.Program] && scriptSuffixes[path.Ext(w.Text)] {
		v.applyPath(programs.RoleScript, i, w, false)
		v.unexplainedTail(i + 1)
		return
	}
	if role == programs.RoleTarget {
		v.unexplainedTail(i + 1)
	} else {
		v.makeWords++
		if strings.Contains(w.Text, "=") {
			v.makeVariable(w.Text)
			return
		}
		v.makeTargets = append(v.makeTargets, w)
	}
	if line := v.targetLine(w.Text); line != "" {
		e := &v.b.Effects[v.index]
		e.Text = display.Display(e.Text + " (" + strings.TrimSpace(line) + ")")
	}
}

// makeVariable handles a variable for make. Some are targets, and any may be a program
// that recipes run.
func (v *invocation) makeVariable(text string) {
	name, value, _ := strings.Cut(text, "=")
	switch {
	case strings.TrimRight(name, ":+?!") == ".DEFAULT_GOAL":
		v.makeTargets = append(v.makeTargets, effects.LiteralWord(value))
		v.makeWords++
	case value != "" && (value[0] < '0' || value[0] > '9'):
		v.makePrograms = append(v.makePrograms, value)
	}
}

// mayMakeEach defers a run for each of the targets of one: a deny or reject of make ship
// means make lint ship, and make ship X=1, as well. Another name of the program is that
// program.
func (v *invocation) mayMakeEach() {
	for _, text := range v.makePrograms {
		v.mayRunText(text)
	}
	const program = "make"
	each := v.makeWords >= 2 || v.run.Program != program
	for _, target := range v.makeTargets {
		if name := withoutDot(target.Text); each || name != target.Text {
			v.b.possibly("", []effects.Word{effects.LiteralWord(program), effects.LiteralWord(name)}, v.run.Cwd, v.at)
		}
	}
}

// withoutDot returns a target as make takes it: ./ship is ship.
func withoutDot(target string) string {
	for strings.HasPrefix(target, "./") {
		target = strings.TrimLeft(target[2:], "/")
	}
	return target
}

// runsFiles are programs that accept a file as a target, and scriptSuffixes the suffixes
// of such files.
var (
	runsFiles      = wordset.Fields("bun deno")
	scriptSuffixes = wordset.Fields(".ts .js .mjs .cjs .tsx .jsx .mts .cts")
)

// targetLine returns the text of a target, "" if it cannot be found cheaply.
func (v *invocation) targetLine(name string) string {
	if v.p.Targets == "" || !path.IsAbs(v.run.Cwd) || v.has([]string{"--file", "--makefile", "--filter", "--workspace", "--recursive"}) {
		return ""
	}
	line := ""
	for file := range strings.FieldsSeq(v.p.Targets) {
		text, err := v.b.FS.ReadFile(path.Join(v.run.Cwd, file), maxTargetFile)
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
	if len(line) > maxTargetLine {
		line = line[:maxTargetLine] + "…"
	}
	return line
}

// recipe returns a makefile's rule for a target, on one line.
func recipe(text, target string) string {
	var lines []string
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, "\t") || inside && strings.HasPrefix(line, " "):
			if inside && strings.TrimSpace(line) != "" {
				lines = append(lines, strings.TrimSpace(line))
			}
		case strings.TrimSpace(line) == "":
		default:
			names, rest, ok := strings.Cut(line, ":")
			inside = ok && !strings.HasPrefix(rest, "=") && strings.Contains(" "+names+" ", " "+target+" ")
		}
	}
	return strings.Join(lines, "; ")
}
