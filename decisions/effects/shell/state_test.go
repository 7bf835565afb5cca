package shell

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// knows reports whether a scope allows all that another one does.
func (at *scope) knows(o *scope) bool {
	if o.unreachable {
		return true
	}
	if at.unreachable || o.elsewhere && !at.elsewhere {
		return false
	}
	for _, p := range o.places {
		found := at.elsewhere
		for _, q := range at.places {
			found = found || q.cwd == p.cwd && (q.old == "" || q.old == p.old) && (q.outside || !p.outside)
		}
		if !found {
			return false
		}
	}
	for b := at.vars; b != nil; b = b.next {
		if x := o.vars.find(b.name); x == nil || x.value != b.value || x.glob != b.glob {
			return false
		}
	}
	return true
}

func TestJoin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() scope {
		at := scope{elsewhere: r.IntN(8) == 0, unreachable: r.IntN(8) == 0}
		for range r.IntN(4) {
			at.add([]location{{cwd: fmt.Sprint("/", r.IntN(7)), old: []string{"", "/x", "/y"}[r.IntN(3)], outside: r.IntN(2) == 0}})
		}
		for range r.IntN(4) {
			at.bind(string(rune('a'+r.IntN(4))), fmt.Sprint(r.IntN(2)), [2]string{"", "/srv"}[r.IntN(2)])
		}
		return at
	}
	for range 20_000 {
		a, b := random(), random()
		c := join(a, b)
		if !c.knows(&a) || !c.knows(&b) {
			t.Fatalf("join of %+v and %+v is %+v", a, b, c)
		}
		if again := join(c, a); !a.unreachable && !again.equal(&c) {
			t.Fatalf("join of %+v with its part %+v is %+v", c, a, again)
		}
		if len(c.places) > maxPlaces {
			t.Fatalf("%d places", len(c.places))
		}
	}
}

func TestScopeBounds(t *testing.T) {
	at := startAt("/0")
	for i := range maxPlaces + 1 {
		if other := startAt(fmt.Sprint("/", i)); at.elsewhere {
			t.Errorf("elsewhere with %d folders", i)
		} else {
			at = join(at, other)
		}
	}
	if !at.elsewhere || len(at.places) != maxPlaces {
		t.Errorf("elsewhere %v, %d folders", at.elsewhere, len(at.places))
	}
	for i := range maxVars + 1 {
		at.bind(fmt.Sprint("v", i), "x", "")
		at.bind(fmt.Sprint("v", i), "y", "")
		if value, ok := at.valueOf(fmt.Sprint("v", i)); ok != (i < maxVars) || ok && value != "y" {
			t.Errorf("variable %d: %q %v", i, value, ok)
		}
	}
}

// TestLoopBound has loops in which each round finds another variable to be
// unknown, and deep ones.
func TestLoopBound(t *testing.T) {
	table := effectstest.Table(t)
	var chain strings.Builder
	for i := range 30 {
		fmt.Fprintf(&chain, "a%d=$a%d; ", i, i+1)
	}
	for name, text := range map[string]string{
		"chain": "while cat x; do " + chain.String() + "a30=b; cat $a0; done",
		"names": "while cat x; do cat $a0; " + strings.ReplaceAll(chain.String(), "a", "b") + "read a0; done; cat $a0",
		"deep":  strings.Repeat("while cat x; do cd nosuch; ", 12) + "cat y" + strings.Repeat("; done", 12),
	} {
		b := shellBuilder(table, effectstest.Files())
		Text(b, text, effectstest.Cwd, "command")
		if b.Statements > maxStatements+1 || len(b.Effects) > 2*MaxEffects {
			t.Errorf("%s: %d statements, %d effects", name, b.Statements, len(b.Effects))
		}
		unknown := false
		for i := range b.Effects {
			unknown = unknown || b.Effects[i].Kind == effects.KindUnknown
		}
		if !unknown {
			t.Errorf("%s: all is known", name)
		}
	}
}

// TestUnknownFolder: if more folders are possible than permd follows, a program
// that reads the folder that it runs in, or unpacks into it, has an unknown folder.
func TestUnknownFolder(t *testing.T) {
	for command, want := range map[string]bool{
		"cd x1; cd x2; cd x3; ls": true,
		"cd src; ls":              false,
	} {
		fs := effectstest.Files()
		fs.Dir(effectstest.Cwd + "/src")
		b := shellBuilder(effectstest.Table(t), fs)
		Text(b, command, effectstest.Cwd, "command")
		unknown := false
		for _, e := range b.Effects {
			unknown = unknown || e.Kind == effects.KindUnknown
		}
		if unknown != want {
			t.Errorf("%s: not understood: %v", command, unknown)
		}
	}
}
