package programs

import (
	"fmt"
	"slices"
	"strings"
)

// Who may say what about a program that is known already.
//
// The table says what a program's words do; what it does not know is unknown and
// asks. A person's own layer may say of such a program only what can make permd
// stricter: more effects, more that is not understood, less that is read-only.
// Org may say everything.
//
// Two walls keep that. This one refuses an entry that says something else, so
// that nobody believes it counts. The other is how what a person says is used: it
// is a second opinion beside the table's, and what either says counts (see
// Opinions). So a mistake here can make an entry useless, but no run harmless.

// saying is what a key of an entry does to what the table says of a program.
type saying uint8

const (
	saysWhich saying = iota + 1 // which program, or a sub-command with keys of its own
	saysMore                    // only ever adds effects or doubts
	saysYes                     // adds when it is true, takes away when it is false
	saysNo                      // the other way round
	saysWords                   // adds, as long as a kind of it does more than call words text
	saysFewer                   // adds when the number is smaller than the table's
	saysHow                     // changes how words are read, or takes something away
)

// sayings holds each key of a program file's entry.
var sayings = map[string]saying{
	"names": saysWhich,
	"sub":   saysWhich,

	"options":      saysWords,
	"operands":     saysWords,
	"after_dashes": saysWords,

	"readonly":            saysNo,
	"readonly_operands":   saysFewer,
	"open":                saysNo,
	"open_subs":           saysNo,
	"plain_options":       saysNo,
	"skips_hidden":        saysNo,
	"abbreviations":       saysYes,
	"recursive":           saysYes,
	"network":             saysYes,
	"repository":          saysYes,
	"obeys_input":         saysYes,
	"recursive_with":      saysMore,
	"writes_with":         saysMore,
	"deletes_with":        saysMore,
	"clears_with":         saysMore,
	"unpacks_with":        saysMore,
	"implicit":            saysMore,
	"inherent":            saysMore,
	"obeys":               saysMore,
	"unknown":             saysMore,
	"unknown_if_changing": saysMore,
	"completes":           saysMore,

	"style":          saysHow,
	"numeric":        saysHow,
	"values_behind":  saysHow,
	"dashless":       saysHow,
	"stop":           saysHow,
	"text":           saysHow,
	"sub_optional":   saysHow,
	"aliases":        saysHow,
	"implies":        saysHow,
	"include":        saysHow,
	"include_below":  saysHow,
	"readonly_with":  saysHow,
	"readonly_alone": saysHow,
	"archives_with":  saysHow,

	"keeps_paths_with": saysHow,
	"keeps_with":       saysHow,
	"unpacks_unless":   saysHow,
	"rearranges":       saysHow,
	"disturbs_with":    saysHow,
	"interpreter":      saysHow,
	"modules":          saysHow,
	"wrapper":          saysHow,
	"targets":          saysHow,
}

// doing are the kinds of options and operands that do something whatever the
// word is. All others can be text, which is to call a word harmless.
var doing = map[Act]bool{
	ActChanges: true, ActUnknown: true, ActReads: true, ActLists: true, ActLoads: true, ActWrites: true, ActMakes: true,
	ActDeletes: true, ActMoves: true, ActInto: true, ActLink: true, ActArchive: true, ActUnpackTo: true, ActPacks: true,
	ActCopies: true, ActCopiesInto: true, ActMount: true, ActConnects: true, ActSends: true, ActData: true, ActHost: true,
	ActDownload: true, ActSpec: true, ActExecutes: true, ActScript: true, ActInline: true, ActModule: true, ActTool: true,
	ActServerSQL: true, ActAssign: true, ActTarget: true, ActViewed: true, ActDatabase: true,
	ActFromTop: true, ActMatched: true, ActCharset: true, ActBegins: true,
}

// loosens says why a person's layer must not say a key of an entry of a program
// that the table knows, and what to do instead; "" when it may. p is what the
// table says, nil for a sub-command that it does not have.
func loosens(p *Program, e *programEntry, key string) (line int, why, fix string) {
	const ask = "only org may: leave it out, or ask for it in /etc/permd/policy.d"
	line = e.said[key]
	no := func(format string, args ...any) (int, string, string) {
		return line, fmt.Sprintf("%s of a program that permd knows, which could allow more", fmt.Sprintf(format, args...)), ask
	}
	switch sayings[key] {
	case saysWhich, saysMore:
		return 0, "", ""
	case saysYes, saysNo:
		if is := e.flagOf(key); is != (sayings[key] == saysYes) {
			return no("it says %s: %t", key, is)
		}
		return 0, "", ""
	case saysFewer:
		if n := *e.ReadonlyOperands; n < 0 || p != nil && p.ReadonlyOperands >= 0 && n > p.ReadonlyOperands {
			return no("it says %s: %d", key, n)
		}
		return 0, "", ""
	case saysWords:
		kinds, at := e.kindsOf(key)
		does := false
		for i, kind := range kinds {
			name, _, _ := strings.Cut(kind, " ")
			known, ok := actNames[strings.TrimSuffix(name, "...")]
			switch {
			case ok && doing[known]:
				does = true
			case ok && key == "options":
				line = at[i]
				return no("it calls options %s", kind)
			}
		}
		if !does {
			return no("its %s are all text", key)
		}
		return 0, "", ""
	}
	return no("it says %s", key)
}

// flagOf is the value of a key that is true or false.
func (e *programEntry) flagOf(key string) bool {
	return map[string]bool{
		"readonly": e.Readonly, "open": e.Open, "open_subs": e.OpenSubs, "plain_options": e.PlainOptions, "skips_hidden": e.SkipsHidden,
		"abbreviations": e.Abbreviations, "recursive": e.Recursive, "network": e.Network,
		"repository": e.Repository, "obeys_input": e.ObeysInput,
	}[key]
}

// kindsOf are the kinds of words that a key names, with their lines.
func (e *programEntry) kindsOf(key string) (kinds []string, lines []int) {
	switch key {
	case "options":
		for kind, list := range e.Options {
			line := e.said[key]
			if len(list) > 0 {
				line = list[0].line
			}
			kinds, lines = append(kinds, kind), append(lines, line)
		}
	case "operands":
		for _, o := range e.Operands {
			kinds, lines = append(kinds, o.text), append(lines, o.line)
		}
	case "after_dashes":
		kinds, lines = []string{e.AfterDashes}, []int{e.said[key]}
	}
	return kinds, lines
}

// promises returns what is wrong with a program that no single key shows: what
// the table is read with would not hold.
func (p *Program) promises() []string {
	var wrong []string
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for spelling, o := range p.Options {
		if o.Arity == ArityNone {
			switch o.Act {
			case ActText, ActChanges, ActUnknown, ActDownload, ActDeletes, ActReads:
			default:
				bad("the option %s does something with a value that it does not take", spelling)
			}
		}
	}
	if p.Readonly && p.Interpreter != "" {
		bad("an interpreter is not read-only")
	}
	if p.Readonly && p.Wrapper != nil {
		bad("a wrapper is not read-only")
	}
	lists := [][]string{
		p.RecursiveWith, p.WritesWith, p.DeletesWith, p.ClearsWith, p.KeepsPaths, p.ReadonlyWith, p.ReadonlyAlone, p.DisturbsWith, p.ArchivesWith, p.KeepsWith, p.UnpacksWith, p.UnpacksUnless,
	}
	for _, e := range slices.Concat(p.Implicit, p.Inherent) {
		lists = append(lists, e.With, e.Unless)
	}
	for _, more := range p.Implies {
		lists = append(lists, more)
	}
	for i := range p.Operands {
		lists = append(lists, p.Operands[i].Only, p.Operands[i].Unless)
	}
	for _, f := range slices.Concat(lists...) {
		if o := p.Options[f]; o == nil || o.Canonical != f {
			bad("%s is not the canonical name of one of its options", f)
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}
