package runs

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/chars"
)

// options handles the options of one word.
func (v *invocation) options(r *programs.Reader, i int) {
	before := len(v.flags)
	for use, ok := r.Option(); ok; use, ok = r.Option() {
		v.option(&use)
	}
	v.lateOption(i, before)
}

// option handles one option.
func (v *invocation) option(use *programs.OptionUse) {
	o, i := use.Option, use.Index
	if o == nil {
		v.unknownOption(i, use.Name())
		return
	}
	if use.Abbreviated && use.Candidate == 0 {
		// It has the effects of all candidates, and asks: the table may lack an
		// option that the program would choose.
		v.unclear = true
		v.unknown(i, "an abbreviated option: "+display.Display(use.Name()))
	}
	if use.Form == programs.ValueFalse {
		v.changes = true
		v.markHarmful(i)
		return
	}
	v.flag(o)
	v.limitedBy(o, i)
	if use.Form == programs.NoValue && o.Role == programs.RoleChanges && v.p.Reformats && slices.Contains(v.p.WritesWith, o.Canonical) {
		v.markOption(i) // what it changes are effects of their own
		return
	}
	switch use.Form {
	case programs.ValueUnexpected:
		v.unknown(i, "a value for an option that takes none: "+display.Display(use.Name()))
	case programs.ValueMissing:
		v.unknown(i, "an option without its value: "+display.Display(use.Name()))
	case programs.ValueAttached:
		w := effects.Word{Text: use.Text}
		if use.Open {
			w = effects.Word{Text: effects.DynamicWord, Shown: v.args[i].Shown}
		}
		v.afterEquals(use, w)
		v.value(o, i, w)
	case programs.ValueSeparate:
		v.separateValue(use)
	case programs.NoValue, programs.ValueFalse:
		v.optionalNumber(o, i)
		v.value(o, i, effects.Word{})
	}
}

// afterEquals handles the value of a letter that begins with "=" (rg -f=FILE). It is part
// of the value to getopt, but not to clap, pflag, popt, argparse and others.
func (v *invocation) afterEquals(use *programs.OptionUse, w effects.Word) {
	rest, ok := strings.CutPrefix(w.Text, "=")
	if !ok || !use.Letter() {
		return
	}
	switch use.Role {
	case programs.RoleText, programs.RoleChanges, programs.RoleUnknown:
	case programs.RoleReads, programs.RoleLists, programs.RoleGlobs, programs.RoleTypes, programs.RoleColumns:
		v.value(use.Option, use.Index, effects.Word{Text: rest}) // and with it
	default:
		v.unknown(use.Index, "a value after =, which some programs leave out: "+display.Display(w.Text))
	}
}

// separateValue handles an option whose value is the next word, or the next two, of
// which the first is a name.
func (v *invocation) separateValue(use *programs.OptionUse) {
	i, at := use.Index, use.Value
	if use.Arity != programs.ArityTwo {
		v.patternValue(use.Option, at)
		v.dashedValue(use)
		v.valueBehind(at)
		v.value(use.Option, at, v.args[at])
		v.markOptionWord(use.Option, i)
		return
	}
	v.apply(programs.RoleText, at-1, v.args[at-1], true, false)
	v.patternValue(use.Option, at)
	v.value(use.Option, at, v.args[at])
	if v.harms.last(at) {
		v.markHarmful(i)
		v.markHarmful(at - 1)
		v.markHarmful(at)
	}
}

// valueBehind handles the value of an option that follows an operand, of a program that
// reads its operands. With POSIXLY_CORRECT in the person's environment, which permd does
// not see, it is an operand as well.
func (v *invocation) valueBehind(at int) {
	reads := func(o programs.Operand) bool { return o.Role == programs.RoleReads }
	if w := &v.args[at]; len(v.operands) > 0 && !w.Dynamic() && v.p.Style == programs.StyleGNU && slices.ContainsFunc(v.p.Operands, reads) {
		v.guardedWord(at, w.Text)
		v.mayRead(at)
	}
}

// dashedValue asks about an option in the place of a value: rg 13 --engine --pre=./x
// runs ./x, as the value may be left out there. What options have a value, and whether
// it may look like an option, differs between versions. A pattern to search for and a
// negative number are no options, and find has its own way.
func (v *invocation) dashedValue(use *programs.OptionUse) {
	text := v.args[use.Value].Text
	switch {
	case !looksLikeOption(text), !chars.IsLetter(text[1]) && text[1] != '-', use.Canonical == "--regexp", use.Canonical == "--sort" && v.p.Style == programs.StylePS:
		return
	case v.p.Style == programs.StyleFind, v.p.Style == programs.StyleWords:
		return
	}
	v.unknown(use.Value, "an option in the place of a value: "+display.Display(text))
}

// optionalNumber records that a number after an option with an optional value may be
// that value: make -j 4.
func (v *invocation) optionalNumber(o *programs.Option, i int) {
	if o.Arity == programs.ArityOptional && i+1 < len(v.args) {
		if next := v.args[i+1].Text; next != "" && next[0] >= '0' && next[0] <= '9' {
			v.unclear = true
		}
	}
}

func (v *invocation) unknownOption(i int, name string) {
	v.unclear = true
	if v.p.Open {
		v.changes = true
		v.markOption(i)
		if v.maybeValueSeparate(i) {
			v.markOption(i + 1) // it may be the option's value
		}
		v.flags = append(v.flags, name)
		v.guardedWord(i, v.args[i].Text)
		return
	}
	v.unknown(i, "an option that the program table does not have: "+display.Display(name))
	v.mayDo(i)
	if v.maybeValueSeparate(i) {
		v.mayDo(i + 1)
	}
	if v.maybeValueSeparate(i) && looksLikeOption(v.args[i].Text) {
		v.harms.maybeValue(i + 1)
	}
	v.flags = append(v.flags, name)
}

// maybeValueSeparate reports whether the word after an unknown option may be its
// value.
func (v *invocation) maybeValueSeparate(i int) bool {
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

// markOptionWord records the option's own word if its value is a separate word.
func (v *invocation) markOptionWord(o *programs.Option, i int) {
	switch o.Role {
	case programs.RoleChanges:
		v.markOption(i)
	case programs.RoleUnknown, programs.RoleInline, programs.RoleScript, programs.RoleChdir, programs.RoleTarget, programs.RoleMount, programs.RoleModule, programs.RoleLoads:
		v.markHarmful(i)
	}
}

// value applies an option's role to its value; w.Text is "" for none.
func (v *invocation) value(o *programs.Option, i int, w effects.Word) {
	if len(v.p.ArchivesWith) > 0 && (o.Role == programs.RoleReads || o.Role == programs.RoleLoads) {
		// Both tars open the lists of -T and -X before they enter the folder of -C.
		defer func(cwd string) { v.run.Cwd = cwd }(v.run.Cwd)
		v.run.Cwd = v.at.Cwd
	}
	if o.Arity == programs.ArityNone {
		switch o.Role {
		case programs.RoleText:
		case programs.RoleChanges:
			v.changes = true
			v.markOption(i)
		case programs.RoleInline:
			v.unknown(i, "code given inline")
		case programs.RoleDownload:
			v.flags = append(v.flags, "--remote-name")
			v.changes = true
		case programs.RoleData:
			v.send = true
		case programs.RoleField:
			v.queryParams = append(v.queryParams, deferredValue{role: programs.RoleField, arg: i})
		default:
			v.unknown(i, "the option "+o.Canonical)
			if i+1 < len(v.args) {
				v.mayRun(i + 1) // fd -x COMMAND
			}
		}
		return
	}
	if o.Canonical == "--config" && v.run.Program == "curl" && w.Text == "-" {
		v.curlConfig()
	}
	switch o.Role {
	case programs.RoleInto, programs.RoleConnects, programs.RoleSends, programs.RoleDownload, programs.RoleArchive, programs.RoleEndpoint, programs.RoleCopiesInto:
		// Its meaning depends on later operands and options.
		v.deferred = append(v.deferred, deferredValue{role: o.Role, arg: i, word: w})
		return
	}
	v.apply(o.Role, i, w, true, o.Role == programs.RoleReads && slices.Contains(v.p.RecursiveWith, o.Canonical))
}
