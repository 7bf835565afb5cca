package effects_test

import (
	"reflect"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestDetail: each detail member of an effect has a Detail of its own.
func TestDetail(t *testing.T) {
	e := new(effects.Effect)
	if got := e.Detail(); got != effects.NoDetail {
		t.Errorf("an effect without details has detail %d", got)
	}
	seen := map[effects.Detail]string{effects.NoDetail: "none"}
	for f := range reflect.TypeFor[effects.Effect]().Fields() {
		if f.Type.Kind() != reflect.Pointer || f.Name == "Via" {
			continue
		}
		e := new(effects.Effect)
		reflect.ValueOf(e).Elem().FieldByIndex(f.Index).Set(reflect.New(f.Type.Elem()))
		d := e.Detail()
		if other, ok := seen[d]; ok {
			t.Errorf("an effect with %s has the detail of one with %s", f.Name, other)
		}
		seen[d] = f.Name
	}
	if len(seen) != int(effects.DetailUse)+1 {
		t.Errorf("%d details for %d constants", len(seen), effects.DetailUse+1)
	}
}
