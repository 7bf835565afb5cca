package programs

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// OptionUse is an occurrence of an option among the words.
type OptionUse struct {
	*Option     // nil if the table does not have it
	Index   int // of its word
	Form    OptionForm
	// Value is the index of the word that holds the value: the option's own for
	// ValueAttached, a later one for ValueSeparate. If there are two values, it is
	// the second's.
	Value int
	// Text is an attached value. If Open is set, it is not known.
	Text string
	Open bool
	// Abbreviated is set for a prefix of an option's name. If it is ambiguous,
	// each candidate is a use of its own, numbered by Candidate.
	Abbreviated bool
	Candidate   int

	name   string // as spelled; a letter without its dash
	letter bool
}

// OptionForm tells how an option has its value.
type OptionForm uint8

const (
	NoValue         OptionForm = iota
	ValueAttached              // -oX, --out=X
	ValueSeparate              // -o X
	ValueMissing               // no words are left
	ValueUnexpected            // a value of an option that takes none: --force=x
	ValueFalse                 // --race=false: as if the option were absent
)

// Name returns the option as it is spelled, without a value.
func (u *OptionUse) Name() string {
	if u.letter {
		return "-" + u.name
	}
	return u.name
}

// Letter reports whether the option is a letter of a bundle.
func (u *OptionUse) Letter() bool { return u.letter }

// optionWord is the state of reading a word of options.
type optionWord struct {
	form     optionText
	index    int    // of the word
	text     string // including its dashes, for long ones
	letter   int    // the next one in a bundle
	consumed int    // number of words after a bundle that were its values
	// from and to are the candidates of an abbreviation, in Program.long.
	from, to, candidate int
	use                 OptionUse // for singleUse
}

// optionText tells how the rest of a word of options is read.
type optionText uint8

const (
	nothingLeft optionText = iota
	singleUse
	longOption
	candidates
	bundle
	bsdLetters // of a bundle that ps may read as BSD options
)

const digits = "0123456789"

// options begins to read a word that looks like options.
func (r *Reader) options(i int) Arg {
	text, p := r.words[i].Text, r.program
	if p.Numeric && strings.Trim(text[1:], digits) == "" {
		return Arg{Kind: ArgNumber, Index: i}
	}
	switch {
	case p.Style == StyleWords:
		// The go command and similar programs accept --long for -long.
		text = text[len(text)-len(strings.TrimLeft(text, "-"))-1:]
	case strings.HasPrefix(text, "--"):
	default:
		name, _, _ := strings.Cut(text, "=")
		if p.Options[name] == nil || len(name) <= 2 {
			return r.bundle(i, 1)
		}
		// A few programs have options such as -version.
	}
	r.optionWord = optionWord{form: longOption, index: i, text: text}
	return Arg{Kind: ArgOptions, Index: i}
}

// bundle begins to read letters at index letter: 0 where the first word may be
// options without a dash.
func (r *Reader) bundle(i, letter int) Arg {
	r.optionWord = optionWord{form: bundle, index: i, text: r.words[i].Text, letter: letter}
	return Arg{Kind: ArgOptions, Index: i}
}

// singleOption returns a word that is one option.
func (r *Reader) singleOption(u OptionUse) Arg {
	r.optionWord = optionWord{form: singleUse, use: u}
	return Arg{Kind: ArgOptions, Index: u.Index}
}

// openValue returns an option with an attached value that is not known.
func (r *Reader) openValue(i int, o *Option, name string) Arg {
	return r.singleOption(OptionUse{Option: o, Index: i, Form: ValueAttached, Value: i, Open: true, name: name})
}

// optionWithValue returns the long option whose name and = begin the word, nil if there is no
// such option that takes a value.
func (p *Program) optionWithValue(text string) (o *Option, name string) {
	name, _, attached := strings.Cut(text, "=")
	if !attached || p.Style != StyleGNU && p.Style != StylePS || !strings.HasPrefix(name, "--") || strings.ContainsAny(name, "*?[") {
		return nil, ""
	}
	if o = p.Options[name]; o == nil || o.Arity == ArityNone {
		return nil, ""
	}
	return o, name
}

// Option returns the next option of an ArgOptions; ok is false after its last.
func (r *Reader) Option() (u OptionUse, ok bool) {
	switch r.form {
	case singleUse:
		r.form = nothingLeft
		return r.use, true
	case longOption:
		r.form = nothingLeft
		name, value, attached := strings.Cut(r.text, "=")
		if o := r.program.Options[name]; o != nil {
			return r.long(o, name, value, attached), true
		}
		if r.from, r.to = r.program.matchingOptions(name); r.from == r.to {
			return OptionUse{Index: r.index, name: name}, true
		}
		r.form = candidates
		return r.Option()
	case candidates:
		name, value, attached := strings.Cut(r.text, "=")
		u = r.long(r.program.Options[r.program.long[r.from+r.candidate]], name, value, attached)
		u.Abbreviated, u.Candidate = true, r.candidate
		if r.candidate++; r.from+r.candidate == r.to {
			r.form = nothingLeft
		}
		return u, true
	case bundle:
		if r.letter < len(r.text) {
			u = r.nextLetter()
			if r.form == nothingLeft && r.bsd {
				r.form, r.letter = bsdLetters, 0
			}
			return u, true
		}
		r.form = nothingLeft
		if r.bsd {
			r.form, r.letter = bsdLetters, 0
			return r.nextBSD()
		}
	case bsdLetters:
		return r.nextBSD()
	case nothingLeft:
	}
	return OptionUse{}, false
}

// finish skips the rest of a word of options, and the words that are its values.
func (r *Reader) finish() {
	for ok := r.form != nothingLeft; ok; {
		_, ok = r.Option()
	}
}

// matchingOptions returns the range of long options that begin with name, if the program
// accepts abbreviations.
func (p *Program) matchingOptions(name string) (from, to int) {
	if !p.Abbreviations || len(name) < 3 || name[:2] != "--" {
		return 0, 0
	}
	for from < len(p.long) && !strings.HasPrefix(p.long[from], name) {
		from++
	}
	for to = from; to < len(p.long) && strings.HasPrefix(p.long[to], name); {
		to++
	}
	return from, to // long is sorted
}

// long returns the use of an option that has a word of its own.
func (r *Reader) long(o *Option, name, value string, attached bool) OptionUse {
	u := OptionUse{Option: o, Index: r.index, name: name}
	alone := r.to-r.from <= 1
	switch {
	case attached && o.Arity == ArityNone && value == "false" && alone:
		u.Form = ValueFalse
	case attached && o.Arity == ArityNone && value == "true":
	case attached && o.Arity == ArityNone && r.program.Style != StyleWords:
		u.Form, u.Text = ValueUnexpected, value
	case attached:
		u.Form, u.Value, u.Text = ValueAttached, r.index, value
	case o.Arity == ArityRequired:
		r.takeValue(&u, r.index+1)
	case o.Arity == ArityTwo:
		r.takeValue(&u, r.index+2)
	}
	return u
}

// takeValue makes the word at an index the option's value, if there is one.
func (r *Reader) takeValue(u *OptionUse, at int) {
	if at >= len(r.words) {
		u.Form = ValueMissing
		return
	}
	u.Form, u.Value = ValueSeparate, at
	r.next = at + 1
}

// nextLetter returns the next option of a bundle.
func (r *Reader) nextLetter() OptionUse {
	p, letter, rest := r.program, r.text[r.letter:r.letter+1], r.text[r.letter+1:]
	dashless := r.text[0] != '-'
	o := p.Options["-"+letter]
	switch {
	case p.Style == StylePS:
		o = r.psOption(letter, dashless)
		dashless = false // its values stand where a letter with a dash has them
	case dashless && p.Options[letter] != nil:
		o = p.Options[letter]
	}
	if p.Unbundled && o != nil && o.Arity == ArityNone && rest != "" {
		o, letter = nil, letter+rest // -MD is neither -M nor -D
	}
	r.letter++
	u := OptionUse{Option: o, Index: r.index, name: letter, letter: true}
	if o == nil {
		r.form = nothingLeft
		return u
	}
	switch {
	case o.Arity == ArityNone:
		return u
	case dashless, p.ValuesAfterBundle && strings.Trim(rest, digits) != "", p.ValuesAfterBundle && r.consumed > 0:
		// The values follow the bundle, in the order of its letters.
		r.consumed++
		if r.takeValue(&u, r.index+r.consumed); u.Form == ValueSeparate {
			return u
		}
	case rest != "":
		u.Form, u.Value, u.Text = ValueAttached, r.index, rest
	case o.Arity == ArityRequired:
		r.takeValue(&u, r.index+1)
	case o.Arity == ArityTwo:
		r.takeValue(&u, r.index+2)
	}
	r.form = nothingLeft
	return u
}

// readPrimary reads a word of find's expression that is no operator.
func (r *Reader) readPrimary(i int) Arg {
	name := r.words[i].Text
	o, values := r.program.primaryOption(name)
	if o != nil && o.Canonical == "-newerXY" {
		name = o.Canonical
	}
	u := OptionUse{Option: o, Index: i, name: name}
	if values > 0 && o.Role != RoleCommand && o.Role != RoleDeletes {
		r.takeValue(&u, i+1)
		if u.Form == ValueSeparate {
			r.next += values - 1
		}
	}
	return r.singleOption(u)
}

// readAssignment reads a word of a program that takes NAME=value (dd).
func (r *Reader) readAssignment(i int, w *effects.Word) Arg {
	if w.Dynamic() || w.Glob {
		return Arg{Kind: ArgUnknown, Index: i}
	}
	name, value, attached := strings.Cut(w.Text, "=")
	u := OptionUse{Index: i, name: name}
	if o := r.program.Options[name]; o != nil && attached == (o.Arity != ArityNone) {
		u.Option, u.Text = o, value
		if attached {
			u.Form, u.Value = ValueAttached, i
		}
	}
	return r.singleOption(u)
}
