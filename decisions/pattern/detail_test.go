package pattern_test

import (
	"reflect"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// TestDetail: each member of a pattern after Kind has a Detail of its own.
func TestDetail(t *testing.T) {
	seen := map[effects.Detail]string{new(pattern.Pattern).Detail(): "none"}
	if _, ok := seen[effects.NoDetail]; !ok {
		t.Error("a pattern without members has a detail")
	}
	for f := range reflect.TypeFor[pattern.Pattern]().Fields() {
		if f.Type.Kind() != reflect.Pointer {
			continue
		}
		p := new(pattern.Pattern)
		reflect.ValueOf(p).Elem().FieldByIndex(f.Index).Set(reflect.New(f.Type.Elem()))
		d := p.Detail()
		if other, ok := seen[d]; ok {
			t.Errorf("a pattern with %s has the detail of one with %s", f.Name, other)
		}
		seen[d] = f.Name
	}
	if len(seen) != int(effects.DetailUse)+1 {
		t.Errorf("%d details for %d constants", len(seen), effects.DetailUse+1)
	}
}

// TestDetailOfKinds: a line of each kind has the detail that its effects have.
func TestDetailOfKinds(t *testing.T) {
	lines := map[effects.Kind]string{
		effects.KindRun: "ls *", effects.KindRead: "./a", effects.KindWrite: "./a", effects.KindDelete: "./a",
		effects.KindConnect: "example.org", effects.KindUse: "server:tool",
	}
	for _, kind := range pattern.Kinds {
		p, err := pattern.Parse(kind, lines[kind])
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if p.Detail() == effects.NoDetail {
			t.Errorf("a line of kind %s has no detail", kind)
		}
		if p.String() != lines[kind] {
			t.Errorf("%s: %q is printed as %q", kind, lines[kind], p.String())
		}
	}
}
