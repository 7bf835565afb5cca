package policy

import (
	"reflect"
	"slices"
	"testing"

	"github.com/permd/permd/policy/restrictions"
)

// TestSettingsChanged: a change of each setting is said by the setting's key, and by no other.
func TestSettingsChanged(t *testing.T) {
	said := map[string]bool{}
	try := func(field string, change func(w *Switches) reflect.Value) {
		var before, now Switches
		v := change(&now)
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.String:
			v.SetString("x")
		case reflect.Int64:
			v.SetInt(1)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.Struct:
			v.Field(0).SetString("x")
		default:
			t.Fatalf("%s: cannot be changed", field)
		}
		keys := now.Changed(&before)
		if len(keys) != 1 || said[keys[0]] {
			t.Errorf("a change of %s is said as %q", field, keys)
			return
		}
		said[keys[0]] = true
		if back := before.Changed(&now); !slices.Equal(back, keys) {
			t.Errorf("the change of %s back is said as %q", field, back)
		}
	}
	for i := range reflect.TypeFor[Switches]().NumField() {
		if name := reflect.TypeFor[Switches]().Field(i).Name; name != "Restrictions" {
			try(name, func(w *Switches) reflect.Value { return reflect.ValueOf(w).Elem().Field(i) })
		}
	}
	for i := range reflect.TypeFor[restrictions.Restrictions]().NumField() {
		try(reflect.TypeFor[restrictions.Restrictions]().Field(i).Name, func(w *Switches) reflect.Value { return reflect.ValueOf(&w.Restrictions).Elem().Field(i) })
	}
	var same Switches
	if keys := same.Changed(&same); keys != nil {
		t.Errorf("nothing is said as %q", keys)
	}
}
