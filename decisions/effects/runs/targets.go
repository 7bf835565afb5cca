package runs

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/languages"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/wordset"
)

const (
	// maxTargetFile is the maximum size of a file that is searched for a target, in bytes,
	// and maxTargetLine how much of the target's text is shown.
	maxTargetFile = 128 << 10
	maxTargetLine = 200
	// maxTargetFiles is how many makefiles of one run are searched for the first target.
	maxTargetFiles = 4
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
	if role == programs.RoleTarget && runsFiles.Has(v.run.Program) && scriptSuffixes.Has(path.Ext(w.Text)) {
		v.applyPath(programs.RoleScript, i, w, false)
		v.unexplainedTail(i + 1)
		return
	}
	if role == programs.RoleTarget {
		if _, ok := goalPrograms[v.run.Program]; ok {
			v.addGoals(v.args[i:])
		}
		v.unexplainedTail(i + 1)
	} else {
		if v.p.Open {
			v.mayDo(i)
			v.mayRun(i)
		}
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

// goalPrograms are the programs of which each operand is a goal of its own, by their
// names, with the one under which the goals are denied, and the goal that they take if
// none is given; of make and just, that is read in their files.
var goalPrograms = map[string]struct{ program, standard string }{
	"make": {"make", ""}, "gmake": {"make", ""}, "just": {"just", ""}, "rake": {"rake", "default"}, "task": {"task", "default"},
}

// mayMakeEach defers a run for each of the goals of one: a deny or reject of make ship
// means make lint ship, make ship X=1, and make where ship is the first target, as well.
// Another name of the program is that program.
func (v *invocation) mayMakeEach() {
	for _, text := range v.makePrograms {
		v.mayRunText(text)
	}
	goals, ok := goalPrograms[v.run.Program]
	if !ok || v.p == nil {
		return
	}
	each := v.makeWords >= 2 || v.run.Program != goals.program
	isNumber := func(w effects.Word) bool { return strings.Trim(w.Text, "0123456789") == "" }
	if !slices.ContainsFunc(v.makeTargets, func(w effects.Word) bool { return !isNumber(w) }) {
		each = true // a number may be the value of an option: make -j 4
		for _, name := range v.firstGoals(goals.standard) {
			v.makeTargets = append(v.makeTargets, effects.LiteralWord(name))
		}
	}
	for _, target := range v.makeTargets {
		name := withoutDot(target.Text)
		if goals.program == "rake" {
			name, _, _ = strings.Cut(name, "[")
		}
		if (each || name != target.Text) && !target.Dynamic() {
			v.b.possibly("", []effects.Word{effects.LiteralWord(goals.program), effects.LiteralWord(name)}, v.run.Cwd, v.at)
		}
	}
}

// firstGoals returns the goals of which a program takes one that is given none.
func (v *invocation) firstGoals(standard string) []string {
	if standard != "" || !path.IsAbs(v.run.Cwd) || v.b.Remote {
		return strings.Fields(standard)
	}
	read := func(name string) (string, bool) {
		if !path.IsAbs(name) {
			name = path.Join(v.run.Cwd, name)
		}
		text, err := v.b.FS.ReadFile(name, maxTargetFile)
		return string(text), err == nil
	}
	files := v.targetFiles
	if len(files) == 0 {
		for dir := v.run.Cwd; len(files) == 0; dir = path.Dir(dir) {
			for name := range strings.FieldsSeq(v.p.Targets) {
				if _, ok := read(path.Join(dir, name)); ok {
					files = []string{path.Join(dir, name)}
					break
				}
			}
			if v.run.Program != "just" || dir == "/" || dir == v.b.Paths.Project() {
				break
			}
		}
	}
	var all strings.Builder
	for _, name := range files[:min(len(files), maxTargetFiles)] {
		text, _ := read(name)
		all.WriteString(text + "\n")
	}
	if v.run.Program == "just" {
		return languages.FirstRecipes(all.String())
	}
	return languages.Goals(all.String(), func(name string) string { text, _ := read(name); return text })
}

// addGoals adds the words after a goal that may be goals as well.
func (v *invocation) addGoals(words []effects.Word) {
	for i := range words {
		if w := &words[i]; !w.Dynamic() && !w.Glob && !looksLikeOption(w.Text) && !strings.Contains(w.Text, "=") {
			v.makeTargets = append(v.makeTargets, *w)
		}
	}
	v.makeWords = len(v.makeTargets)
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
			line = languages.Recipe(string(text), name)
		}
		break
	}
	if len(line) > maxTargetLine {
		line = line[:maxTargetLine] + "…"
	}
	return line
}
