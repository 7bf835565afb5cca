package programs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// This file decides which layer may set which key of a known program.
//
// What the table does not know about a program is unknown and asks. A person's own
// layer may only make permd stricter about a program that the table knows: more
// effects, more unknown effects, fewer read-only runs. The organisation's layer may
// set everything.
//
// Two mechanisms ensure that. This one rejects entries with other keys, so that
// nobody relies on them. The other one is how the overlay is applied: it is read in
// addition to the table, and the effects of both count (see Overlay). So a mistake
// here can make an entry useless, but no run harmless.

// keyEffect is the effect of a key on the table's entry of a program.
type keyEffect uint8

const (
	keySelects        keyEffect = iota + 1 // selects a program, or a sub-command with keys of its own
	keyAdds                                // only adds effects or unknown effects
	keyAddsIfTrue                          // adds if true, removes if false
	keyAddsIfFalse                         // adds if false, removes if true
	keyAddsRoles                           // adds, if one of its roles does more than call words text
	keyAddsIfFewer                         // adds if the number is smaller than the table's
	keyDescribes                           // says in words what the program does
	keyChangesReading                      // changes how words are read, or removes something
)

// layerTags are their names in the tags of programEntry and traits.
var layerTags = map[string]keyEffect{
	"selects": keySelects, "adds": keyAdds, "adds-if-true": keyAddsIfTrue, "adds-if-false": keyAddsIfFalse,
	"adds-roles": keyAddsRoles, "adds-if-fewer": keyAddsIfFewer, "describes": keyDescribes, "reading": keyChangesReading,
}

// keyEffects holds each key of a program file's entry. A key without a tag is
// reserved to the organisation.
var keyEffects = sync.OnceValue(func() map[string]keyEffect {
	all := map[string]keyEffect{}
	for key, field := range keysOf(reflect.TypeFor[programEntry]()) {
		if effect, ok := layerTags[field.Tag.Get("layer")]; ok {
			all[key] = effect
		}
	}
	return all
})

// activeRoles are the roles that have an effect whatever the word is. Words of all
// other roles can be text, and to give a word such a role is to call it harmless.
var activeRoles = map[Role]bool{
	RoleChanges: true, RoleUnknown: true, RoleReads: true, RoleLists: true, RoleLoads: true, RoleWrites: true, RoleMakes: true,
	RoleDeletes: true, RoleMoves: true, RoleInto: true, RoleLink: true, RoleArchive: true, RoleUnpackTo: true, RolePacks: true,
	RoleCopies: true, RoleCopiesInto: true, RoleMount: true, RoleConnects: true, RoleSends: true, RoleData: true, RoleHost: true,
	RoleDownload: true, RoleSpec: true, RoleExecutes: true, RoleScript: true, RoleInline: true, RoleModule: true, RoleTool: true,
	RoleServerSQL: true, RoleAssign: true, RoleTarget: true, RoleViewed: true, RoleDatabase: true,
	RoleFromTop: true, RoleMatched: true, RoleCharset: true, RoleBegins: true, RoleSuffix: true,
}

// refuseLoosening returns why a person's layer must not set a key in the entry of a
// known program, and what to do instead; "" if it may. p is the table's entry, nil
// for a sub-command that it does not have.
func refuseLoosening(p *Program, e *programEntry, key string) (line int, why, fix string) {
	const ask = "only org may: leave it out, or ask for it in /etc/permd/policy.d"
	line = e.keyLines[key]
	no := func(format string, args ...any) (int, string, string) {
		return line, fmt.Sprintf("%s of a program that permd knows, which could allow more", fmt.Sprintf(format, args...)), ask
	}
	switch keyEffects()[key] {
	case keySelects, keyAdds:
		return 0, "", ""
	case keyAddsIfTrue, keyAddsIfFalse:
		if is := e.flagOf(key); is != (keyEffects()[key] == keyAddsIfTrue) {
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
	case keyDescribes:
		return line, fmt.Sprintf("it says %s of a program that permd knows, whose words people trust", key), ask
	case keyChangesReading:
	}
	return no("it says %s", key)
}

// flagOf returns the value of a boolean key.
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

// brokenInvariants returns the errors in a program that no single key shows: those
// that break an invariant of the table.
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
	wrong = append(wrong, p.brokenDoes()...)
	slices.Sort(wrong)
	return slices.Compact(wrong)
}
