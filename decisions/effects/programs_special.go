package effects

import (
	"path"
	"slices"
	"strings"
)

// find reads the words of find: starting points, then an expression.
func (v *invocation) find() {
	i := 0
	for ; i < len(v.args); i++ {
		w := &v.args[i]
		if w.dynamic() && (w.split || w.prefix == "" || w.prefix[0] == '-') {
			v.dynamicWord(i)
			continue
		}
		if w.glob && !w.dynamic() && strings.IndexByte("*?[-(!,@+", w.text[0]) >= 0 {
			if why := v.patternOption(w, findName); why != "" {
				v.unknown(i, why+": "+Display(showWord(w)))
			}
			v.operands = append(v.operands, i)
			continue
		}
		text := w.text
		if text == "-H" || text == "-L" || text == "-P" {
			v.flags = append(v.flags, text)
			continue
		}
		if len(text) > 0 && !w.dynamic() && (text[0] == '-' || text == "(" || text == "!" || text == ",") {
			break
		}
		v.operands = append(v.operands, i)
	}
	for i < len(v.args) && !v.full() {
		i += 1 + v.primary(i)
	}
}

// primary reads one word of find's expression and returns how many further
// words belong to it.
func (v *invocation) primary(i int) int {
	w := &v.args[i]
	switch w.text {
	case "(", ")", "!", ",":
		return 0
	}
	if w.dynamic() || w.glob {
		v.dynamicWord(i)
		return 0
	}
	name := w.text
	if strings.HasPrefix(name, "-newer") && len(name) == len("-newerXY") {
		name = "-newerXY"
	}
	o := v.p.options[name]
	if o == nil {
		v.unknown(i, "a part of find's expression that permd does not know: "+Display(showWord(w)))
		return 0
	}
	v.flag(o)
	switch {
	case o.act == actCommand:
		return v.findCommand(i)
	case o.act == actDeletes:
		v.changes = true
		v.harm(i)
		v.deleteRoots(i)
		return 0
	case o.arity == arityNone:
		v.value(o, i, word{})
		return 0
	case i+1 >= len(v.args):
		v.unknown(i, "an option without its value: "+Display(name))
		return 0
	}
	if v.patternValue(i + 1); !v.args[i+1].glob || o.act != actText {
		v.value(o, i+1, v.args[i+1])
	}
	switch o.canonical {
	case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename":
		v.wide = v.wide || choosesSecrets(path.Base(v.args[i+1].text))
	}
	if o.canonical == "-fprintf" {
		return 2 // the file and the format
	}
	return 1
}

func (v *invocation) deleteRoots(i int) {
	roots := v.findRoots()
	for _, root := range roots {
		if root.dynamic() || root.glob {
			v.unknown(i, "deletes below a folder that is not known")
			continue
		}
		e := v.b.operand(KindDelete, root.text, v.run.Cwd, v.at.from)
		v.b.add(v.via(i, v.below(e, true, false)))
	}
}

func (v *invocation) findRoots() []word {
	if len(v.operands) == 0 {
		return []word{{text: "."}}
	}
	roots := make([]word, 0, len(v.operands))
	for _, i := range v.operands {
		roots = append(roots, v.args[i])
	}
	return roots
}

// findCommand adds the run of -exec and its kin, whose words end at ; or +.
// {} stands for any path below the starting points.
func (v *invocation) findCommand(i int) int {
	v.harm(i)
	v.changes = v.changes || v.args[i].text != "-exec"
	end := i + 1
	for end < len(v.args) && v.args[end].text != ";" && (v.args[end].text != "+" || v.args[end-1].text != "{}") {
		end++
	}
	if end == i+1 || end >= len(v.args) {
		v.unknown(i, "a command of find that does not end")
		return len(v.args) - i - 1
	}
	roots := v.findRoots()
	words := slices.Clone(v.args[i+1 : end])
	known := true
	inside := strings.HasSuffix(v.args[i].text, "dir") // in the folder of each file
	if v.wide {
		v.unknown(i, "a command for files that may hold secrets")
	}
	for j := range words {
		w := &words[j]
		switch {
		case w.dynamic() || !strings.Contains(w.text, "{}"):
		case w.text == "{}" && !inside && len(roots) == 1 && !roots[0].dynamic() && !roots[0].glob && j > 0:
			*w = word{text: roots[0].text, shown: "{}", tree: true, linked: v.findsLinks(), plain: v.findsPlain(i)}
		default:
			*w = word{text: DynamicWord, shown: w.text}
			known = known && j > 0
		}
	}
	if !known || words[0].dynamic() || words[0].glob {
		v.unknown(i+1, "a program whose name is not known before it runs")
		return end - i
	}
	at := v.at
	at.cwd = v.run.Cwd
	if strings.HasPrefix(v.args[i].text, "-ok") {
		at.stdin, at.text, at.printed = StdinNone, "", "" // it reads the answers
	}
	at.via = &Via{Effect: v.index, Arg: i + 1}
	if inside {
		at.cwd = ""
	}
	if inside && strings.Contains(words[0].text, "/") && words[0].text[0] != '/' {
		v.unknown(i+1, "a program that is looked up in many folders")
	}
	first := len(v.b.effects)
	v.b.command(words, at)
	v.changes = v.changes || !onlyLooks(v.b.effects[first:])
	return end - i
}

// onlyLooks reports whether effects only run what looks, and read.
func onlyLooks(list []Effect) bool {
	for i := range list {
		if e := &list[i]; e.Kind != KindRead && (e.Kind != KindRun || !e.Run.Readonly) {
			return false
		}
	}
	return true
}

// test reads the words of test and [. Only -v and, in some shells, comparisons
// of numbers evaluate what they are given; a dynamic word must not be able to
// become such an operator.
func (v *invocation) test() {
	for i := range v.args {
		w := &v.args[i]
		switch {
		case w.dynamic() && !w.split && !w.glob:
			if !v.betweenOperators(i) {
				v.dynamicWord(i)
			}
		case w.dynamic() && numericParameter(w.shown):
		case w.dynamic(), w.glob:
			v.dynamicWord(i)
		case w.text == "-v" || w.text == "-R" || w.text == "-o" && i == 0:
			v.unknown(i, "a test that can run code in a subscript")
		case slices.Contains([]string{"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-t"}, w.text):
			v.numbers(i)
		}
	}
}

// betweenOperators reports whether the word at i can only be an operand: an
// operator stands before it, a binary one behind it, or nothing else is there.
func (v *invocation) betweenOperators(i int) bool {
	words := v.args
	if n := len(words); n > 0 && words[n-1].text == "]" {
		words = words[:n-1]
	}
	switch {
	case len(words) == 1:
		return true
	case i+1 < len(words) && slices.Contains(binaryTests, words[i+1].text):
		return true
	case i == 0:
		return false
	}
	before := words[i-1].text
	return slices.Contains(binaryTests, before) ||
		len(before) == 2 && before[0] == '-' && strings.IndexByte("bcdefghknprstuwxzLNOSG", before[1]) >= 0
}

var binaryTests = []string{"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"}

// numericParameter reports whether a parameter is always a number.
func numericParameter(shown string) bool {
	switch strings.Trim(shown, `"`) {
	case "$?", "$#", "$$", "$!", "${#}", "${?}":
		return true
	}
	return false
}

// numbers checks the operands of a comparison of numbers.
func (v *invocation) numbers(i int) {
	for _, j := range []int{i - 1, i + 1} {
		if j < 0 || j >= len(v.args) {
			continue
		}
		w := &v.args[j]
		if w.dynamic() && !numericParameter(w.shown) || !w.dynamic() && strings.ContainsAny(w.text, "[$`") {
			v.unknown(j, "a test that can run code in a subscript")
		}
	}
}
