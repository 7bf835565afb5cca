package input

import (
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

// Keyed are the parts that AppendKey can append.
var Keyed = Parts{keyedBits & all64, keyedBits >> 64}

// Narrow are the parts that have few values, compared with the number of calls.
var Narrow = Parts{narrowBits & all64, narrowBits >> 64}

// The types of parts; those of no other type are texts.
var (
	others  = Parts{otherBits & all64, otherBits >> 64}
	flags   = Parts{flagBits & all64, flagBits >> 64}
	numbers = Parts{numberBits & all64, numberBits >> 64}
	lists   = Parts{listBits & all64, listBits >> 64}
)

const (
	keyedBits  = allBits &^ (rawBits | 1<<PartNow)
	narrowBits = 1<<partTags | 1<<partClaimed | 1<<partDeclared | 1<<partShell | 1<<PartProgram | 1<<partStdin |
		1<<partReadonly | 1<<partOwnData | 1<<partReformats | 1<<partKnown | 1<<partRecursive | 1<<partMethod
	otherBits = rawBits | 1<<PartNow | 1<<partSession | 1<<partProject | 1<<partUser | 1<<partCallTool | 1<<partCallPaths | 1<<partCallNamed | 1<<partScript |
		1<<partHarmful | 1<<partCredentials
	flagBits = 1<<partClaimed | 1<<partDeclared | 1<<partShell | 1<<partByInherent | 1<<partReadonly | 1<<partOwnData |
		1<<partReformats | 1<<partKnown | 1<<partRecursive | 1<<partDestructive
	numberBits = 1<<partHarmlessFrom | 1<<partOptionsFrom | 1<<partPort
	listBits   = 1<<partTags | 1<<partCallKinds | 1<<partCallTags | 1<<partCallDefects | 1<<partCallOptions | 1<<partArgs | 1<<partByArgs | 1<<partFlags | 1<<partOperands
)

// Type returns the type of a part wherever it is defined; Other for several parts.
func (s Parts) Type() Type {
	switch {
	case !s.one() || s.Overlaps(others):
		return Other
	case s.Overlaps(flags):
		return Flag
	case s.Overlaps(numbers):
		return Number
	case s.Overlaps(lists):
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
		return Parts{}, 0, false
	}
	names := 3
	if ref[1].Equal(keyEffect) && ref[2].Equal(keyBy) {
		names = 4
	}
	if len(ref) < names || ref[1].Equal(keyCall) && ref[2].Equal(keyRaw) {
		return Parts{}, 0, false
	}
	for _, t := range ref[1:names] {
		if _, ok := t.Value.(ast.String); !ok {
			return Parts{}, 0, false
		}
	}
	part = PartOf(ref)
	switch part.Type() {
	case Other, Undefined:
		return Parts{}, 0, false
	case Words:
		if len(ref) == names+1 {
			n, isNumber := ref[names].Value.(ast.Number)
			if !isNumber {
				return Parts{}, 0, false
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
	if parts.Overlaps(partCall) {
		f.call(in)
	}
	if parts.Has(partSession) {
		s := &in.Session
		f.texts(s.Ancestors)
		for _, text := range []string{s.ID, s.Mode, in.Call.Agent.Name, in.Call.Agent.Version, in.Call.Client.Name, in.Call.Client.Version} {
			f.text(text)
		}
	}
	if parts.Has(partProject) {
		f.text(in.Result.Project)
		f.key = append(f.key, boolByte(in.Trusted))
	}
	if parts.Has(partUser) {
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
	if part.Overlaps(partCall) {
		f.call(in)
	} else {
		f.effect(in)
	}
	return f.value
}
