package programs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Who may say what about a program that is known already.
//
// The table says what a program's words do; what it does not know is unknown and
// asks. A person's own layer may say about such a program only what can make permd
// stricter: more effects, more that is not understood, less that is read-only.
// Org may say everything.
//
// Two walls keep that. This one refuses an entry that says something else, so
// that nobody believes it counts. The other is how what a person says is used: it
// is read in addition to the table's, and what either says counts (see
// Opinions). So a mistake here can make an entry useless, but no run harmless.

// keyEffect is what a key of an entry does to what the table says about a program.
type keyEffect uint8

const (
	keySelects        keyEffect = iota + 1 // which program, or a sub-command with keys of its own
	keyAdds                                // only ever adds effects or doubts
	keyAddsIfTrue                          // adds when it is true, takes away when it is false
	keyAddsIfFalse                         // the other way round
	keyAddsRoles                           // adds, as long as one of its roles does more than call words text
	keyAddsIfFewer                         // adds when the number is smaller than the table's
	keyChangesReading                      // changes how words are read, or takes something away
)

// layerTags are the words for them in the tags of programEntry and traits.
var layerTags = map[string]keyEffect{
	"selects": keySelects, "adds": keyAdds, "adds-if-true": keyAddsIfTrue, "adds-if-false": keyAddsIfFalse,
	"adds-roles": keyAddsRoles, "adds-if-fewer": keyAddsIfFewer, "reading": keyChangesReading,
}

// keyEffects holds each key of a program file's entry. A key without a tag is for
// org alone.
var keyEffects = func() map[string]keyEffect {
	all := map[string]keyEffect{}
	for key, field := range keysOf(reflect.TypeFor[programEntry]()) {
		if effect, ok := layerTags[field.Tag.Get("layer")]; ok {
			all[key] = effect
		}
	}
	return all
}()

// activeRoles are the roles that have an effect whatever the word is. Words of all
// other roles can be text, and to give a word such a role is to call it harmless.
var activeRoles = map[Role]bool{
	RoleChanges: true, RoleUnknown: true, RoleReads: true, RoleLists: true, RoleLoads: true, RoleWrites: true, RoleMakes: true,
	RoleDeletes: true, RoleMoves: true, RoleInto: true, RoleLink: true, RoleArchive: true, RoleUnpackTo: true, RolePacks: true,
	RoleCopies: true, RoleCopiesInto: true, RoleMount: true, RoleConnects: true, RoleSends: true, RoleData: true, RoleHost: true,
	RoleDownload: true, RoleSpec: true, RoleExecutes: true, RoleScript: true, RoleInline: true, RoleModule: true, RoleTool: true,
	RoleServerSQL: true, RoleAssign: true, RoleTarget: true, RoleViewed: true, RoleDatabase: true,
	RoleFromTop: true, RoleMatched: true, RoleCharset: true, RoleBegins: true,
}

// refuseLoosening says why a person's layer must not say a key of an entry of a program
// that the table knows, and what to do instead; "" when it may. p is what the
// table says, nil for a sub-command that it does not have.
func refuseLoosening(p *Program, e *programEntry, key string) (line int, why, fix string) {
	const ask = "only org may: leave it out, or ask for it in /etc/permd/policy.d"
	line = e.keyLines[key]
	no := func(format string, args ...any) (int, string, string) {
		return line, fmt.Sprintf("%s of a program that permd knows, which could allow more", fmt.Sprintf(format, args...)), ask
	}
	switch keyEffects[key] {
	case keySelects, keyAdds:
		return 0, "", ""
	case keyAddsIfTrue, keyAddsIfFalse:
		if is := e.flagOf(key); is != (keyEffects[key] == keyAddsIfTrue) {
			return no("it says %s: %t", key, is)
		}
		return 0, "", ""
	case keyAddsIfFewer:
		if n := *e.ReadonlyOperands; n < 0 || p != nil && p.ReadonlyOperands >= 0 && n > p.ReadonlyOperands {
			return no("it says %s: %d", key, n)
		}
		return 0, "", ""
	case keyAddsRoles:
		roles, at := e.rolesOf(key)
		active := false
		for i, role := range roles {
			name, _, _ := strings.Cut(role, " ")
			known, ok := roleNames[strings.TrimSuffix(name, "...")]
			switch {
			case ok && activeRoles[known]:
				active = true
			case ok && key == "options":
				line = at[i]
				return no("it calls options %s", role)
			}
		}
		if !active {
			return no("its %s are all text", key)
		}
		return 0, "", ""
	case keyChangesReading:
	}
	return no("it says %s", key)
}

// flagOf is the value of a key that is true or false.
func (e *programEntry) flagOf(key string) bool {
	v, ok := e.trait(key)
	return ok && v.Bool()
}

// rolesOf returns the roles that a key names, with their lines.
func (e *programEntry) rolesOf(key string) (roles []string, lines []int) {
	switch key {
	case "options":
		for role, list := range e.Options {
			line := e.keyLines[key]
			if len(list) > 0 {
				line = list[0].line
			}
			roles, lines = append(roles, role), append(lines, line)
		}
	case "operands":
		for _, o := range e.Operands {
			roles, lines = append(roles, o.text), append(lines, o.line)
		}
	case "after_dashes":
		roles, lines = []string{e.AfterDashes}, []int{e.keyLines[key]}
	}
	return roles, lines
}

// brokenInvariants returns what is wrong with a program that no single key shows: what
// the table is read with would not hold.
func (p *Program) brokenInvariants() []string {
	var wrong []string
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for spelling, o := range p.Options {
		if o.Arity == ArityNone {
			switch o.Role {
			case RoleText, RoleChanges, RoleUnknown, RoleDownload, RoleDeletes, RoleReads:
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
	lists := p.optionLists()
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
