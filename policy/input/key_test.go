package input

import (
	"bytes"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// TestKeysAreUnique: no text can look like the end of a text or list and what follows it.
func TestKeysAreUnique(t *testing.T) {
	type words = []string
	key := func(parts Parts, r effects.Run) []byte {
		e := effects.Effect{Kind: effects.KindRun, Run: &r}
		return AppendKey(nil, &decisions.Input{Effect: &e, All: []effects.Effect{e}, Call: &effects.Call{}, Result: &effects.Result{}}, parts)
	}
	for name, c := range map[string]struct {
		parts Parts
		a, b  effects.Run
	}{
		"words":          {only(partArgs), effects.Run{Args: words{"a", "b"}}, effects.Run{Args: words{"ab", ""}}},
		"an empty word":  {only(partArgs), effects.Run{Args: words{"a"}}, effects.Run{Args: words{"a", ""}}},
		"two texts":      {only(PartProgram).Union(only(partCwd)), effects.Run{Program: "a"}, effects.Run{Cwd: "a"}},
		"absent, empty":  {only(partOperands), effects.Run{}, effects.Run{Operands: words{}}},
		"a list's flags": {only(partArgs).Union(only(partFlags)), effects.Run{Args: words{"a"}}, effects.Run{Flags: words{"a"}}},
		"numbers":        {only(partHarmful).Union(only(partOptionsFrom)), effects.Run{Harmful: []int{1}, OptionsFrom: 2}, effects.Run{Harmful: []int{1, 2}, OptionsFrom: 2}},
	} {
		if bytes.Equal(key(c.parts, c.a), key(c.parts, c.b)) {
			t.Errorf("%s: the same key", name)
		}
	}
	// Without its length, a list could end before a word that looks like the next member:
	// a length is written as twice its value, as the members' names are that are even.
	next := byte(partFlags)
	if next%2 != 0 {
		t.Fatal("another member has to be taken here")
	}
	n := int(next) / 2
	flag := strings.Repeat("s", n-1) + string([]byte{next})
	a := key(only(partArgs).Union(only(partFlags)), effects.Run{Args: words{"a"}, Flags: words{flag}})
	b := key(only(partArgs).Union(only(partFlags)), effects.Run{Args: words{"a", string([]byte{byte(2 * n)}) + flag[:n-1]}})
	if bytes.Equal(a, b) {
		t.Error("a list with one word more has the same key")
	}
	if len(a) != len(b) {
		t.Errorf("the keys are %q and %q: they should differ in the list's length alone", a, b)
	}
}
