package input

import (
	"math/bits"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
)

// Type is the type of a value that rules see.
type Type int

// The types of values.
const (
	Undefined Type = iota
	Text
	Flag
	Number
	Words // a list of texts
	Other
)

// Value is the value of one part of the input. Of its other members one is set,
// as the type says; none for Undefined and Other.
type Value struct {
	Type   Type
	Text   string
	Flag   bool
	Number int
	Words  []string
}

// rawParts is JSON of the client, which has no key.
const rawParts = PartRaw | PartArguments

// Keyed are the parts that AppendKey can append.
const Keyed = AllParts &^ (rawParts | PartNow)

// Narrow are the parts that have few values, compared with the number of calls.
const Narrow = partTags | partClaimed | partDeclared | partShell | PartProgram | partStdin | partReadonly | partOwnData | partReformats | partKnown | partRecursive | partMethod

// The types of parts; those of no other type are texts.
const (
	others  = rawParts | PartNow | partSession | partProject | partUser | partCallTool | partScript | partHarmful | partCredentials
	flags   = partClaimed | partDeclared | partShell | partByInherent | partReadonly | partOwnData | partReformats | partKnown | partRecursive | partDestructive
	numbers = partHarmlessFrom | partOptionsFrom | partPort
	lists   = partTags | partCallKinds | partCallTags | partCallDefects | partArgs | partByArgs | partFlags | partOperands
)

// Type returns the type of a part wherever it is defined; Other for several parts.
func (p Parts) Type() Type {
	switch {
	case bits.OnesCount64(uint64(p)) != 1 || p&others != 0:
		return Other
	case p&flags != 0:
		return Flag
	case p&numbers != 0:
		return Number
	case p&lists != 0:
		return Words
	}
	return Text
}

// Whole is the index of a whole value.
const Whole = -1

// Exactly returns the part that a reference names, or one of whose words it names
// by its index.
func Exactly(ref ast.Ref) (part Parts, index int, ok bool) {
	if len(ref) < 3 || !ref[0].Equal(ast.InputRootDocument) || !ref.IsGround() {
		return 0, 0, false
	}
	names := 3
	if ref[1].Equal(keyEffect) && ref[2].Equal(keyBy) {
		names = 4
	}
	if len(ref) < names || ref[1].Equal(keyCall) && ref[2].Equal(keyRaw) {
		return 0, 0, false
	}
	for _, t := range ref[1:names] {
		if _, ok := t.Value.(ast.String); !ok {
			return 0, 0, false
		}
	}
	part = PartOf(ref)
	switch part.Type() {
	case Other, Undefined:
		return 0, 0, false
	case Words:
		if len(ref) == names+1 {
			n, isNumber := ref[names].Value.(ast.Number)
			if !isNumber {
				return 0, 0, false
			}
			index, ok = n.Int()
			return part, index, ok && index >= 0
		}
	case Text, Flag, Number:
	}
	return part, Whole, len(ref) == names
}

// AppendKey appends the values of some parts, which must be among Keyed. If the
// bytes of two inputs are equal, their effects have the same kind and rules that read
// no other part cannot tell them apart. If another part's bytes differ, the bytes differ from the
// first difference on: no text is a prefix of another.
func AppendKey(b []byte, in *decisions.Input, parts Parts) []byte {
	f := fields{need: parts, form: asKey, key: b}
	f.text(string(in.Effect.Kind))
	f.effect(in)
	if parts&partCall != 0 {
		f.call(in)
	}
	if parts&partSession != 0 {
		s := &in.Session
		f.texts(s.Ancestors)
		for _, text := range []string{s.ID, s.Mode, in.Call.Agent.Name, in.Call.Agent.Version, in.Call.Client.Name, in.Call.Client.Version} {
			f.text(text)
		}
	}
	if parts&partProject != 0 {
		f.text(in.Result.Project)
		f.key = append(f.key, boolByte(in.Trusted))
	}
	if parts&partUser != 0 {
		u := &in.Call.User
		f.number(int(u.UID))
		f.text(u.Name)
		f.text(u.Home)
		f.texts(u.Groups)
	}
	return f.key
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// ValueOf returns the value of one part whose type is not Other.
func ValueOf(in *decisions.Input, part Parts) Value {
	f := fields{need: part, form: asValue}
	if part&partCall != 0 {
		f.call(in)
	} else {
		f.effect(in)
	}
	return f.value
}
