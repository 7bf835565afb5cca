package runs

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/goals"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/wordset"
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
		v.runsUndescribed()
		v.applyPath(programs.RoleScript, i, w, false)
		v.unexplainedTail(i + 1)
		return
	}
	if role == programs.RoleTarget {
		if _, ok := goals.Of(v.run.Program); ok {
			v.addGoals(v.args[i:])
		}
		for n := i + 1; n < len(v.args); n++ {
			v.mayReread(n)
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
	if v.b.Table.RunsUndescribed(strings.TrimRight(name, ":+?!"), value) {
		v.runsUndescribed()
	}
	switch {
	case strings.TrimRight(name, ":+?!") == ".DEFAULT_GOAL":
		v.makeTargets = append(v.makeTargets, effects.LiteralWord(value))
		v.makeWords++
	case value != "" && (value[0] < '0' || value[0] > '9'):
		v.makePrograms = append(v.makePrograms, value)
	}
}

// mayMakeEach defers a run for each of the goals of one: a deny or reject of make ship
// means make lint ship, make ship X=1, and make where ship is the first target, as well.
// Another name of the program is that program.
func (v *invocation) mayMakeEach() {
	for _, text := range v.makePrograms {
		v.mayRunText(text)
	}
	rule, ok := goals.Of(v.run.Program)
	if !ok || v.p == nil {
		return
	}
	each := v.makeWords >= 2 || v.run.Program != rule.Program
	isNumber := func(w effects.Word) bool { return strings.Trim(w.Text, "0123456789") == "" }
	if !slices.ContainsFunc(v.makeTargets, func(w effects.Word) bool { return !isNumber(w) }) {
		each = true // a number may be the value of an option: make -j 4
		for _, name := range v.standardGoals(rule) {
			v.makeTargets = append(v.makeTargets, effects.LiteralWord(name))
		}
	}
	for _, target := range v.makeTargets {
		name := rule.Name(target.Text)
		if (each || name != target.Text) && !target.Dynamic() {
			v.b.possibly("", []effects.Word{effects.LiteralWord(rule.Program), effects.LiteralWord(name)}, v.run.Cwd, v.at)
		}
	}
}

// standardGoals returns the goals of which the program takes one that is given none.
func (v *invocation) standardGoals(rule goals.Rule) []string {
	place := v.targetPlace()
	if v.b.Remote {
		place.Cwd = "" // the files are elsewhere
	}
	return rule.Standard(&place)
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

// runsFiles are programs that accept a file as a target, and scriptSuffixes the suffixes
// of such files.
var (
	runsFiles      = wordset.Fields("bun deno")
	scriptSuffixes = wordset.Fields(".ts .js .mjs .cjs .tsx .jsx .mts .cts")
)

// targetPlace is where the program looks for the files that define targets.
func (v *invocation) targetPlace() goals.Place {
	return goals.Place{FS: v.b.FS, Cwd: v.run.Cwd, Files: v.p.Targets, Named: v.targetFiles, Project: v.b.Paths.Project()}
}

// targetLine returns the text of a target, "" if it cannot be found cheaply.
func (v *invocation) targetLine(name string) string {
	if v.p.Targets == "" || v.has([]string{"--file", "--makefile", "--filter", "--workspace", "--recursive"}) {
		return ""
	}
	place := v.targetPlace()
	return place.Line(name)
}
