package tools

import (
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/chars"
	"github.com/permd/permd/internal/strictjson"
)

// fact is one member of an input with its role.
type fact struct {
	name string
	from string
	role role
	val  strictjson.Value
}

// facts returns the members of an input with their roles in the shape. A member without a
// role in the shape, but with one in other tools' inputs, is a contradiction: it is
// returned nevertheless, so that denies see it. A member without any role is a
// contradiction too, unless it is listed as harmless. Null is the same as absence.
func (t *tool) facts(s *shape, o strictjson.Object, from string) []fact {
	fs := make([]fact, 0, len(o))
	for i := range o {
		m := &o[i]
		f := fact{name: m.Name, from: memberOf(from, m.Name), val: m.Value}
		f.role = s.members[m.Name]
		if f.role == roleNone {
			f.role = t.all.roleOf(m.Name)
			switch {
			case f.role == roleNone:
				exact, near := t.nearMiss(m)
				if !near {
					if s.listsAll() && t.isUnlisted(s, m) {
						t.defect(effects.DefectContradiction, f.from, "the tool is not known to take this member")
					}
					continue
				}
				t.defect(effects.DefectNearMiss, from, "a member's name differs from a known one only by case or hidden characters")
				if f.role = s.members[exact]; f.role == roleNone {
					f.role = t.all.roleOf(exact)
				}
			case s.name == "generic":
			case f.role == roleCwd && s.use+s.question+s.mode != "" && !s.listsAll():
			case f.role == roleCwd && s.runs() && t.inSession(m.Value):
				// It makes no difference whether the tool obeys it.
				continue
			case strictjson.Kind(m.Value) == 'n':
			case s.declared && s.harmless[m.Name]:
				// The name of some other tool's member; see checkRefinement.
				continue
			case f.role == roleGrant && !s.declared && !requestsAnything(m.Value):
			default:
				t.defect(effects.DefectContradiction, f.from, "the tool is not known to take this member")
			}
		}
		if f.role == roleIgnore || f.role == roleNone || strictjson.Kind(m.Value) == 'n' {
			continue
		}
		fs = append(fs, f)
	}
	return fs
}

// inSession reports whether a value is the session's folder.
func (t *tool) inSession(v strictjson.Value) bool {
	text, ok := strictjson.ParseString(v)
	return ok && text != "" && text == t.Call.Cwd
}

// runs reports whether the shape runs commands, so that a folder is relevant.
func (s *shape) runs() bool {
	return s.takes(roleCommand) || s.takes(roleArgv) || s.takes(roleCommands)
}

// nearMiss reports whether a lenient parser would take the member for a known fact, and
// for which.
func (t *tool) nearMiss(m *strictjson.Member) (exact string, near bool) {
	p := t.all
	plain := true
	for i := range len(m.Name) {
		if c := m.Name[i]; c < ' ' || c >= 0x7f {
			plain = false
		}
	}
	if plain {
		lower := strings.ToLower(m.Name)
		if !p.factNames[lower] {
			return "", false
		}
		for _, n := range p.names {
			if strings.EqualFold(n, m.Name) {
				return n, n != m.Name
			}
		}
		return "", false
	}
	for _, n := range p.names {
		if (strictjson.Object{*m}).NearMiss(n) != "" {
			return n, true
		}
	}
	return "", false
}

// memberOf returns a member's name for people: a.b, or a["b c"] if the name is not a plain
// word.
func memberOf(from, name string) string {
	for i := range len(name) {
		c := name[i]
		if !chars.IsLetter(c) && c != '_' && c != '-' && (c < '0' || c > '9') {
			return from + "[" + display.Display(strconv.Quote(name)) + "]"
		}
	}
	if from == "rawInput" {
		if at, ok := inputMembers[name]; ok {
			return at
		}
	}
	return from + "." + name
}

// inputMembers are members that many inputs have, with their name for people.
var inputMembers = func() map[string]string {
	at := map[string]string{}
	for _, name := range strings.Fields("command description timeout cwd workdir file_path path paths content old_string new_string offset limit pattern query url prompt input") {
		at[name] = "rawInput." + name
	}
	return at
}()

func itemOf(from string, i int) string { return from + "[" + strconv.Itoa(i) + "]" }

// texts returns a value that is a string, or a list of strings or of objects that contain
// one under a known name. An element of another type is malformed.
func (t *tool) texts(f fact, s *shape) []fact {
	switch strictjson.Kind(f.val) {
	case '"':
		return []fact{f}
	case '[':
		items, err := strictjson.ParseArray(f.val)
		if err != nil {
			break
		}
		out := make([]fact, 0, len(items))
		for i, item := range items {
			g := fact{name: f.name, from: itemOf(f.from, i), role: f.role, val: item}
			if strictjson.Kind(item) == '{' && !s.declared {
				var ok bool
				if g, ok = t.inItem(g, s); !ok {
					t.malformed(g.from, "an item holds no "+f.name)
					continue
				}
			}
			if strictjson.Kind(g.val) != '"' {
				t.malformed(g.from, "an item is "+strictjson.KindName(strictjson.Kind(g.val))+", not text")
				continue
			}
			out = append(out, g)
		}
		return out
	}
	t.malformed(f.from, "the value is "+strictjson.KindName(strictjson.Kind(f.val))+", not text")
	return nil
}

// inItem finds the fact of the same role in an object of a list.
func (t *tool) inItem(f fact, s *shape) (fact, bool) {
	o, err := strictjson.ParseObject(f.val)
	if err != nil {
		return f, false
	}
	if near := o.NearMiss(t.all.names...); near != "" {
		t.defect(effects.DefectNearMiss, f.from, "a member's name differs from a known one only by case or hidden characters")
	}
	want := f.role
	if want == roleCommands || want == roleDerived {
		want = roleCommand
	}
	if want == roleCommand {
		t.commandSiblings(s, o, f.from)
	}
	for _, m := range o {
		r := s.members[m.Name]
		if r == roleNone {
			r = t.all.roleOf(m.Name)
		}
		if r == want || want != roleCommand && want != roleConnect && r == roleTouch {
			return fact{name: m.Name, from: memberOf(f.from, m.Name), role: f.role, val: m.Value}, true
		}
	}
	return f, false
}

// argvOf returns a list of strings.
func argvOf(v strictjson.Value) ([]string, bool) {
	if strictjson.Kind(v) != '[' {
		return nil, false
	}
	items, err := strictjson.ParseArray(v)
	if err != nil || len(items) == 0 {
		return nil, false
	}
	args := make([]string, len(items))
	for i, item := range items {
		s, ok := strictjson.ParseString(item)
		if !ok {
			return nil, false
		}
		args[i] = s
	}
	return args, true
}

// requestsAnything reports whether a value requests anything: not null, false or empty.
func requestsAnything(v strictjson.Value) bool {
	switch strictjson.Kind(v) {
	case 0, 'n', 'f':
		return false
	case '"':
		s, ok := strictjson.ParseString(v)
		return !ok || s != "" && s != "false" && s != "use_default" // Codex's value for no request
	case '{':
		o, err := strictjson.ParseObject(v)
		if err != nil {
			return true
		}
		for _, m := range o {
			if requestsAnything(m.Value) {
				return true
			}
		}
		return false
	case '[':
		items, err := strictjson.ParseArray(v)
		return err != nil || len(items) > 0
	}
	return true
}
