package runs

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
)

// A pattern expands to names of files before the program sees its words, and a file may
// have the name of an option: with a file "-delete", "find . ?delete" deletes
// everything. So if a pattern may match a name that begins like an option, the names in
// the folder are checked.

// patternOption returns why the pattern w may expand to something other than operands,
// "" if it cannot. is reports whether a name would be such a word.
func (v *invocation) patternOption(w *effects.Word, is func(name string) bool) string {
	pattern, _, _ := strings.Cut(w.Text, "/") // the beginning of the words it expands to
	if w.Dir == "" {
		return "a pattern in a folder that is not known"
	}
	e := v.b.Paths.Operand(effects.KindRead, w.Dir, "/", v.at.From)
	if e.File == nil {
		return "a pattern in a folder that is not known"
	}
	const may = "a pattern that may match a file named like an option"
	dir := e.File.Path
	if v.b.MayMake(dir, func(name string) bool { return is(name) && paths.GlobMatch(pattern, name) }) {
		return "an earlier part of the call may make a file named like an option"
	}
	names, why := v.b.Paths.Match(dir)
	if why != "" {
		if v.p.PlainOptions && !v.p.Dashless && v.p.Style != programs.StyleFind {
			return ""
		}
		return may
	}
	for _, n := range names {
		if is(n.Name()) && paths.GlobMatch(pattern, n.Name()) {
			return may
		}
	}
	return ""
}

// optionName reports whether a name begins like an option.
func optionName(name string) bool { return name[0] == '-' || name[0] == '+' }

// findName reports whether a name is a word of find's expression or of the commands in
// it.
func findName(name string) bool {
	switch name {
	case "(", ")", "!", ",", ";", "+", "{}":
		return true
	}
	return name[0] == '-'
}

// patternWord asks about a pattern that may expand to an option, and reports whether it
// did.
func (v *invocation) patternWord(i int) bool {
	w := &v.args[i]
	is := optionName
	if v.p.Dashless {
		is = func(string) bool { return true }
	}
	why := v.patternOption(w, is)
	if why == "" {
		return false
	}
	v.unknown(i, why+": "+display.Display(display.ShowWord(w)))
	return true
}

// patternValue asks about an option's value that is a pattern: it may expand to several
// words, of which only the first is the value. find fails for words that it does not
// know.
func (v *invocation) patternValue(o *programs.Option, i int) {
	w := &v.args[i]
	if w.Several {
		v.unknown(i, "several words in the place of an option's value: "+display.Display(display.ShowWord(w)))
		return
	}
	if !w.Glob || w.Dynamic() {
		return
	}
	if w.One && o.Role == programs.RoleText {
		// One word, whatever it begins with.
		*w = effects.Word{Text: effects.DynamicWord, Shown: w.Shown}
		v.run.Args[i] = effects.DynamicWord
		return
	}
	if v.p.Style == programs.StyleFind {
		if why := v.patternOption(w, findName); why != "" {
			v.unknown(i, why+": "+display.Display(display.ShowWord(w)))
		}
		return
	}
	v.unknown(i, "a pattern in the place of an option's value: "+display.Display(display.ShowWord(w)))
}
