package effects

import (
	"slices"
	"strings"
)

// option reads the option at i and returns how many further words it takes.
func (v *invocation) option(i int) int {
	text := v.args[i].text
	if v.p.numeric && strings.Trim(text[1:], "0123456789") == "" {
		return 0
	}
	if v.p.style == styleWords {
		return v.longOption(i, "-"+strings.TrimLeft(text, "-"))
	}
	if strings.HasPrefix(text, "--") {
		return v.longOption(i, text)
	}
	name, _, _ := strings.Cut(text, "=")
	if o := v.p.options[name]; o != nil && len(name) > 2 {
		// A few programs have options such as -version.
		return v.longOption(i, text)
	}
	return v.bundle(i, text)
}

func (v *invocation) longOption(i int, text string) int {
	name, value, attached := strings.Cut(text, "=")
	found, abbreviated := v.p.find(name)
	if len(found) == 0 {
		v.unknownOption(i, name)
		return 0
	}
	if abbreviated {
		// The effects of all it may stand for, and a question: the table may
		// lack an option that the program would take it for.
		v.unclear = true
		v.unknown(i, "an abbreviated option: "+Display(name))
	}
	used := 0
	for _, o := range found {
		if attached && o.arity == arityNone && value == "false" && len(found) == 1 {
			v.changes = true
			v.harm(i)
			break // as if it were not there
		}
		v.flag(o)
		switch {
		case attached && o.arity == arityNone && value == "true":
			v.value(o, i, word{})
		case attached && o.arity == arityNone && v.p.style != styleWords:
			v.unknown(i, "a value for an option that takes none: "+Display(name))
		case attached:
			v.value(o, i, word{text: value})
		case o.arity == arityRequired && i+1 >= len(v.args):
			v.unknown(i, "an option without its value: "+Display(name))
		case o.arity == arityRequired:
			used = 1
			v.patternValue(i + 1)
			v.value(o, i+1, v.args[i+1])
			v.harmLike(o, i)
		case o.arity == arityTwo && i+2 >= len(v.args):
			v.unknown(i, "an option without its values: "+Display(name))
		case o.arity == arityTwo:
			used = 2
			v.apply(actText, i+1, v.args[i+1], true, false)
			v.patternValue(i + 2)
			v.value(o, i+2, v.args[i+2])
			if v.harms.last(i + 2) {
				v.harm(i)
				v.harm(i + 1)
				v.harm(i + 2)
			}
		default:
			v.numberBehind(o, i)
			v.value(o, i, word{})
		}
	}
	return used
}

// numberBehind notes that a number behind an option whose value is optional may
// be that value: make -j 4.
func (v *invocation) numberBehind(o *option, i int) {
	if o.arity == arityOptional && i+1 < len(v.args) {
		if next := v.args[i+1].text; next != "" && next[0] >= '0' && next[0] <= '9' {
			v.unclear = true
		}
	}
}

// bundle reads short options in one word.
func (v *invocation) bundle(i int, text string) int {
	used := 0
	dashless := v.p.dashless && i == 0 && v.args[0].text[0] != '-'
	for j := 1; j < len(text); j++ {
		o := v.p.options["-"+text[j:j+1]]
		if dashless && v.p.options[text[j:j+1]] != nil {
			o = v.p.options[text[j:j+1]]
		}
		if o == nil {
			v.unknownOption(i, "-"+text[j:j+1])
			return used
		}
		v.flag(o)
		rest := text[j+1:]
		switch {
		case o.arity == arityNone:
			v.value(o, i, word{})
		case dashless, v.p.valuesBehind && strings.Trim(rest, "0123456789") != "", v.p.valuesBehind && used > 0:
			// The values stand behind the bundle, in the order of its letters.
			used++
			if i+used >= len(v.args) {
				v.unknown(i, "an option without its value: -"+Display(text[j:j+1]))
				return used - 1
			}
			v.patternValue(i + used)
			v.value(o, i+used, v.args[i+used])
			v.harmLike(o, i)
		case rest != "" || o.arity == arityOptional:
			if rest == "" {
				v.numberBehind(o, i)
			}
			v.value(o, i, word{text: rest})
			return 0
		case i+1 >= len(v.args):
			v.unknown(i, "an option without its value: -"+Display(text[j:j+1]))
			return 0
		default:
			v.patternValue(i + 1)
			v.value(o, i+1, v.args[i+1])
			v.harmLike(o, i)
			return 1
		}
	}
	return used
}

func (v *invocation) unknownOption(i int, name string) {
	v.unclear = true
	if v.p.open {
		v.changes = true
		v.harmOption(i)
		if v.valueBehind(i) {
			v.harmOption(i + 1) // it may be the option's value
		}
		v.flags = append(v.flags, name)
		v.guardedWord(i, v.args[i].text)
		return
	}
	v.unknown(i, "an option that the program table does not have: "+Display(name))
	if v.valueBehind(i) && dashed(v.args[i].text) {
		v.harms.maybe(i + 1)
	}
	v.flags = append(v.flags, name)
}

// valueBehind reports whether the word behind an option that nobody explains may
// be its value.
func (v *invocation) valueBehind(i int) bool {
	text := v.args[i].text
	attached := strings.HasPrefix(text, "--") && strings.Contains(text, "=")
	return !attached && i+1 < len(v.args) && !strings.HasPrefix(v.args[i+1].text, "-")
}

func (v *invocation) flag(o *option) { v.flags = append(v.flags, o.canonical) }

func (v *invocation) has(flags []string) bool {
	for _, f := range flags {
		if slices.Contains(v.flags, f) {
			return true
		}
	}
	return false
}

// harmLike notes the option's own word when its value is a word of its own.
func (v *invocation) harmLike(o *option, i int) {
	switch o.act {
	case actChanges:
		v.harmOption(i)
	case actUnknown, actInline, actScript, actChdir, actTarget, actMount, actModule, actLoads:
		v.harm(i)
	}
}

// value applies an option's act to its value; w.text is "" for none.
func (v *invocation) value(o *option, i int, w word) {
	if o.arity == arityNone {
		switch o.act {
		case actText:
		case actChanges:
			v.changes = true
			v.harmOption(i)
		case actInline:
			v.unknown(i, "code given inline")
		case actDownload:
			v.flags = append(v.flags, "--remote-name")
			v.changes = true
		case actData:
			v.send = true
		case actField:
			v.asked = append(v.asked, later{act: actField, arg: i})
		default:
			v.unknown(i, "the option "+o.canonical)
		}
		return
	}
	if o.canonical == "--config" && v.run.Program == "curl" && w.text == "-" {
		v.curlConfig()
	}
	switch o.act {
	case actInto, actConnects, actSends, actDownload, actArchive, actEndpoint, actCopiesInto:
		// What it means depends on operands and options that may follow.
		v.later = append(v.later, later{act: o.act, arg: i, word: w})
		return
	}
	v.apply(o.act, i, w, true, false)
}
