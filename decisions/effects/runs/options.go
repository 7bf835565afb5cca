package runs

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/programs"
)

// option reads the option at i and returns how many further words it takes.
func (v *invocation) option(i int) int {
	text := v.args[i].Text
	if v.p.Numeric && strings.Trim(text[1:], "0123456789") == "" {
		return 0
	}
	if v.p.Style == programs.StyleWords {
		return v.longOption(i, "-"+strings.TrimLeft(text, "-"))
	}
	if strings.HasPrefix(text, "--") {
		return v.longOption(i, text)
	}
	name, _, _ := strings.Cut(text, "=")
	if o := v.p.Options[name]; o != nil && len(name) > 2 {
		// A few programs have options such as -version.
		return v.longOption(i, text)
	}
	return v.bundle(i, text)
}

func (v *invocation) longOption(i int, text string) int {
	name, value, attached := strings.Cut(text, "=")
	found, abbreviated := v.p.Find(name)
	if len(found) == 0 {
		v.unknownOption(i, name)
		return 0
	}
	if abbreviated {
		// The effects of all it may stand for, and a question: the table may
		// lack an option that the program would take it for.
		v.unclear = true
		v.unknown(i, "an abbreviated option: "+display.Display(name))
	}
	used := 0
	for _, o := range found {
		if attached && o.Arity == programs.ArityNone && value == "false" && len(found) == 1 {
			v.changes = true
			v.harm(i)
			break // as if it were not there
		}
		v.flag(o)
		switch {
		case attached && o.Arity == programs.ArityNone && value == "true":
			v.value(o, i, effects.Word{})
		case attached && o.Arity == programs.ArityNone && v.p.Style != programs.StyleWords:
			v.unknown(i, "a value for an option that takes none: "+display.Display(name))
		case attached:
			v.value(o, i, effects.Word{Text: value})
		case o.Arity == programs.ArityRequired && i+1 >= len(v.args):
			v.unknown(i, "an option without its value: "+display.Display(name))
		case o.Arity == programs.ArityRequired:
			used = 1
			v.patternValue(i + 1)
			v.value(o, i+1, v.args[i+1])
			v.harmLike(o, i)
		case o.Arity == programs.ArityTwo && i+2 >= len(v.args):
			v.unknown(i, "an option without its values: "+display.Display(name))
		case o.Arity == programs.ArityTwo:
			used = 2
			v.apply(programs.ActText, i+1, v.args[i+1], true, false)
			v.patternValue(i + 2)
			v.value(o, i+2, v.args[i+2])
			if v.harms.last(i + 2) {
				v.harm(i)
				v.harm(i + 1)
				v.harm(i + 2)
			}
		default:
			v.numberBehind(o, i)
			v.value(o, i, effects.Word{})
		}
	}
	return used
}

// numberBehind notes that a number behind an option whose value is optional may
// be that value: make -j 4.
func (v *invocation) numberBehind(o *programs.Option, i int) {
	if o.Arity == programs.ArityOptional && i+1 < len(v.args) {
		if next := v.args[i+1].Text; next != "" && next[0] >= '0' && next[0] <= '9' {
			v.unclear = true
		}
	}
}

// bundle reads short options in one word.
func (v *invocation) bundle(i int, text string) int {
	used := 0
	dashless := v.p.Dashless && i == 0 && v.args[0].Text[0] != '-'
	for j := 1; j < len(text); j++ {
		o := v.p.Options["-"+text[j:j+1]]
		if dashless && v.p.Options[text[j:j+1]] != nil {
			o = v.p.Options[text[j:j+1]]
		}
		if o == nil {
			v.unknownOption(i, "-"+text[j:j+1])
			return used
		}
		v.flag(o)
		rest := text[j+1:]
		switch {
		case o.Arity == programs.ArityNone:
			v.value(o, i, effects.Word{})
		case dashless, v.p.ValuesBehind && strings.Trim(rest, "0123456789") != "", v.p.ValuesBehind && used > 0:
			// The values stand behind the bundle, in the order of its letters.
			used++
			if i+used >= len(v.args) {
				v.unknown(i, "an option without its value: -"+display.Display(text[j:j+1]))
				return used - 1
			}
			v.patternValue(i + used)
			v.value(o, i+used, v.args[i+used])
			v.harmLike(o, i)
		case rest != "" || o.Arity == programs.ArityOptional:
			if rest == "" {
				v.numberBehind(o, i)
			}
			v.value(o, i, effects.Word{Text: rest})
			return 0
		case i+1 >= len(v.args):
			v.unknown(i, "an option without its value: -"+display.Display(text[j:j+1]))
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
	if v.p.Open {
		v.changes = true
		v.harmOption(i)
		if v.valueBehind(i) {
			v.harmOption(i + 1) // it may be the option's value
		}
		v.flags = append(v.flags, name)
		v.guardedWord(i, v.args[i].Text)
		return
	}
	v.unknown(i, "an option that the program table does not have: "+display.Display(name))
	if v.valueBehind(i) && dashed(v.args[i].Text) {
		v.harms.maybe(i + 1)
	}
	v.flags = append(v.flags, name)
}

// valueBehind reports whether the word behind an option that nobody explains may
// be its value.
func (v *invocation) valueBehind(i int) bool {
	text := v.args[i].Text
	attached := strings.HasPrefix(text, "--") && strings.Contains(text, "=")
	return !attached && i+1 < len(v.args) && !strings.HasPrefix(v.args[i+1].Text, "-")
}

func (v *invocation) flag(o *programs.Option) { v.flags = append(v.flags, o.Canonical) }

func (v *invocation) has(flags []string) bool {
	for _, f := range flags {
		if slices.Contains(v.flags, f) {
			return true
		}
	}
	return false
}

// harmLike notes the option's own word when its value is a word of its own.
func (v *invocation) harmLike(o *programs.Option, i int) {
	switch o.Act {
	case programs.ActChanges:
		v.harmOption(i)
	case programs.ActUnknown, programs.ActInline, programs.ActScript, programs.ActChdir, programs.ActTarget, programs.ActMount, programs.ActModule, programs.ActLoads:
		v.harm(i)
	}
}

// value applies an option's act to its value; w.text is "" for none.
func (v *invocation) value(o *programs.Option, i int, w effects.Word) {
	if o.Arity == programs.ArityNone {
		switch o.Act {
		case programs.ActText:
		case programs.ActChanges:
			v.changes = true
			v.harmOption(i)
		case programs.ActInline:
			v.unknown(i, "code given inline")
		case programs.ActDownload:
			v.flags = append(v.flags, "--remote-name")
			v.changes = true
		case programs.ActData:
			v.send = true
		case programs.ActField:
			v.queryParams = append(v.queryParams, deferredValue{act: programs.ActField, arg: i})
		default:
			v.unknown(i, "the option "+o.Canonical)
		}
		return
	}
	if o.Canonical == "--config" && v.run.Program == "curl" && w.Text == "-" {
		v.curlConfig()
	}
	switch o.Act {
	case programs.ActInto, programs.ActConnects, programs.ActSends, programs.ActDownload, programs.ActArchive, programs.ActEndpoint, programs.ActCopiesInto:
		// What it means depends on operands and options that may follow.
		v.deferred = append(v.deferred, deferredValue{act: o.Act, arg: i, word: w})
		return
	}
	v.apply(o.Act, i, w, true, false)
}
