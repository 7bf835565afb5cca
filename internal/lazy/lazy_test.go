package lazy

import "testing"

func TestRegexp(t *testing.T) {
	re := Regexp(`^a+$`)
	if first := re(); !first.MatchString("aa") || first.MatchString("b") || first != re() {
		t.Error("it is not the expression, or not compiled once")
	}
	wrong := Regexp(`(`) // which is no error until it is used
	defer func() {
		if recover() == nil {
			t.Error("an expression that is not valid is used")
		}
	}()
	wrong()
}
