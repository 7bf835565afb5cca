package effects

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/internal/lexpath"
)

// A pattern becomes names of files before the program sees its words, and a file
// may have the name of an option: with a file "-delete", "find . ?delete" deletes
// all. So where a pattern may begin with the mark of an option, the folder's
// names are looked at.

// patternOption says why the word at i, a pattern, may become something other
// than operands; "" when it cannot. is reports whether a name would.
func (v *invocation) patternOption(w *word, is func(name string) bool) string {
	pattern, _, _ := strings.Cut(w.text, "/") // what the words begin with
	if w.dir == "" {
		return "a pattern in a folder that is not known"
	}
	e := v.b.res.operand(KindRead, w.dir, "/", v.at.from)
	if e.File == nil {
		return "a pattern in a folder that is not known"
	}
	const may = "a pattern that may match a file named like an option"
	dir := e.File.Path
	if v.b.mayMake(dir, func(name string) bool { return is(name) && globMatch(pattern, name) }) {
		return "an earlier part of the call may make a file named like an option"
	}
	names, why := v.b.res.names(dir)
	if v.b.res.matched += len(names); why != "" || v.b.res.matched > maxMatched {
		if v.p.plainOptions && !v.p.dashless && v.p.style != styleFind {
			return ""
		}
		return may
	}
	for _, n := range names {
		if is(n.Name()) && globMatch(pattern, n.Name()) {
			return may
		}
	}
	return ""
}

// mayMake reports whether an earlier part of the call, or an earlier call, may
// make one of some names in a folder.
func (b *builder) mayMake(dir string, name func(string) bool) bool {
	if b.res.lost || slices.ContainsFunc(b.rearranged, func(d string) bool { return d == "" || lexpath.In(d, dir) || lexpath.In(dir, d) }) {
		return true
	}
	f := lexpath.Fold(dir)
	in := func(p string) bool { return path.Dir(p) == f && name(path.Base(p)) }
	if slices.ContainsFunc(b.res.disturbed, func(p string) bool { return in(lexpath.Fold(p)) || lexpath.In(lexpath.Fold(p), f) }) {
		return true
	}
	return b.mayChange(func(w string) bool {
		// A folder that is written as a whole may get any names.
		return in(strings.TrimSuffix(w, "/")) || strings.HasSuffix(w, "/") && covers(w, f)
	})
}

// optionName reports whether a name has the mark of an option.
func optionName(name string) bool { return name[0] == '-' || name[0] == '+' }

// findName reports whether a name is a word of find's, of which the expression
// and the commands in it are made.
func findName(name string) bool {
	switch name {
	case "(", ")", "!", ",", ";", "+", "{}":
		return true
	}
	return name[0] == '-'
}

// marked reports whether a pattern may begin with the mark of an option.
func marked(text string) bool { return strings.IndexByte("*?[@+!-", text[0]) >= 0 }

// patternWord asks about a word that is a pattern and may become an option, and
// reports whether it did.
func (v *invocation) patternWord(i int) bool {
	w := &v.args[i]
	if !w.glob || w.dynamic() || !marked(w.text) {
		return false
	}
	is := optionName
	if v.p.dashless {
		is = func(string) bool { return true }
	}
	if name, _, ok := strings.Cut(w.text, "="); ok && strings.HasPrefix(name, "--") && !strings.ContainsAny(name, "*?[") && v.p.style == styleGNU {
		// Whatever it becomes is this option.
		if o := v.p.options[name]; o != nil && o.arity != arityNone && (o.act == actText || o.act == actGlobs || o.act == actTypes) {
			return false
		}
	}
	why := v.patternOption(w, is)
	if why == "" {
		return false
	}
	v.unknown(i, why+": "+Display(showWord(w)))
	return true
}

// patternValue asks about an option's value that is a pattern: it may become
// several words, of which all but the first are something else. Those that find
// does not know as its own make an error.
func (v *invocation) patternValue(i int) {
	w := &v.args[i]
	if !w.glob || w.dynamic() {
		return
	}
	if v.p.style == styleFind {
		if why := v.patternOption(w, findName); why != "" {
			v.unknown(i, why+": "+Display(showWord(w)))
		}
		return
	}
	v.unknown(i, "a pattern in the place of an option's value: "+Display(showWord(w)))
}
