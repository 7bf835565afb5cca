package effectstest

import (
	"reflect"
	"slices"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// Details checks that each pointer of a struct, but those of other names, has a Detail
// of its own, that one without any has none, and that no Detail is without a pointer.
func Details[T any](t testing.TB, detail func(*T) effects.Detail, others ...string) {
	t.Helper()
	if got := detail(new(T)); got != effects.NoDetail {
		t.Errorf("one without details has detail %d", got)
	}
	seen := make(map[effects.Detail]string)
	seen[effects.NoDetail] = "none"
	for f := range reflect.TypeFor[T]().Fields() {
		if f.Type.Kind() != reflect.Pointer || slices.Contains(others, f.Name) {
			continue
		}
		x := new(T)
		reflect.ValueOf(x).Elem().FieldByIndex(f.Index).Set(reflect.New(f.Type.Elem()))
		d := detail(x)
		if other, ok := seen[d]; ok {
			t.Errorf("one with %s has the detail of one with %s", f.Name, other)
		}
		seen[d] = f.Name
	}
	if len(seen) != int(effects.DetailUse)+1 {
		t.Errorf("%d details for %d constants", len(seen), effects.DetailUse+1)
	}
}
