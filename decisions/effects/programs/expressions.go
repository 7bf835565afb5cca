package programs

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// Expression is the words of a run of find, which the table's reader takes apart, with
// what they mean together.
type Expression struct {
	Program *Program
	Words   []effects.Word
	Begin   int // the first word after the starting points
}

// OnlyNames reports whether the command at i gets only files whose names match a pattern
// for which plain returns true: each alternative of the expression tests for such names
// before the command.
func (x *Expression) OnlyNames(i int, plain func(pattern string) bool) bool {
	named, negated := false, false
	for j := x.Begin; j < len(x.Words); j++ {
		switch text := x.Words[j].Text; text {
		case "!", "-not":
			negated = true
			if j+1 < len(x.Words) && (x.Words[j+1].Text == "(" || x.Words[j+1].Dynamic()) {
				return false
			}
			continue
		case "-o", "-or", ",":
			if !named {
				return false
			}
			named = false
		case "-name", "-iname":
			if j++; j >= len(x.Words) || x.Words[j].Dynamic() {
				return false
			}
			named = named || !negated && plain(x.Words[j].Text)
		case "-exec", "-execdir", "-ok", "-okdir":
			if !named {
				return false
			}
			j = x.commandEnd(j, len(x.Words))
		default:
			if x.Words[j].Dynamic() {
				return false
			}
			j = x.skipValue(j)
		}
		negated = false
	}
	return named && x.Begin <= i
}

// PassesLinks reports whether links may be passed to the command at i, even without -L: no
// test before the command restricts it to plain files.
func (x *Expression) PassesLinks(i int) bool {
	files := false
	for j := 0; j < len(x.Words); j++ {
		switch text := x.Words[j].Text; text {
		case "-o", "-or", ",", "!", "-not":
			return true
		case "-exec", "-execdir", "-ok", "-okdir":
			if j == i {
				return !files
			}
			j = x.commandEnd(j, i)
		case "-type":
			j++
			files = files || j < i && x.Words[j].Text == "f"
		default:
			if x.Words[j].Dynamic() {
				return true // it may be an operator
			}
			j = x.skipValue(j)
		}
	}
	return true
}

// LastName returns the last pattern for names that the files have which are passed to the
// command at i, "" if there is none or it is an alternative.
func (x *Expression) LastName(i int) string {
	last := ""
	for j := 0; j < i; j++ {
		switch text := x.Words[j].Text; text {
		case "-o", "-or", ",", "!", "-not", "(", ")":
			return ""
		case "-exec", "-execdir", "-ok", "-okdir":
			j = x.commandEnd(j, i)
		case "-name", "-iname":
			if j++; j < i && !x.Words[j].Dynamic() {
				last = x.Words[j].Text
			}
		default:
			if x.Words[j].Dynamic() {
				return ""
			}
			j = x.skipValue(j)
		}
	}
	return last
}

// commandEnd returns where the command of the action at i ends: at ; or +, or at end.
func (x *Expression) commandEnd(i, end int) int {
	for i++; i < end && x.Words[i].Text != ";" && (x.Words[i].Text != "+" || x.Words[i-1].Text != "{}"); i++ {
		continue
	}
	return i
}

// skipValue returns the index of the last value of the word at i, which is not part of the
// expression, or i.
func (x *Expression) skipValue(i int) int {
	_, values := x.Program.primaryOption(x.Words[i].Text)
	return i + values
}

// primaryOption returns the option for a word of find's expression that is no operator, nil if
// the table has none, and the number of its values.
func (p *Program) primaryOption(name string) (o *Option, values int) {
	if strings.HasPrefix(name, "-newer") && len(name) == len("-newerXY") {
		name = "-newerXY"
	}
	o = p.Options[name]
	switch {
	case o == nil || o.Arity == ArityNone:
		return o, 0
	case o.Canonical == "-fprintf": // a file and a format
		return o, 2
	}
	return o, 1
}

// IsTestOperand reports whether the word at i of test or [ can only be an operand: it
// follows an operator, precedes a binary one, or is the only word.
func IsTestOperand(words []effects.Word, i int) bool {
	if n := len(words); n > 0 && words[n-1].Text == "]" {
		words = words[:n-1]
	}
	switch {
	case len(words) == 1:
		return true
	case i+1 < len(words) && slices.Contains(binaryTests, words[i+1].Text):
		return true
	case i == 0:
		return false
	}
	before := words[i-1].Text
	return slices.Contains(binaryTests, before) ||
		len(before) == 2 && before[0] == '-' && strings.IndexByte("bcdefghknprstuwxzLNOSG", before[1]) >= 0
}

var binaryTests = []string{"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"}
