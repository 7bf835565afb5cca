package lookups

import (
	"fmt"
	"strings"
	"testing"
)

// TestSharedLooksAreBounded: with more than there is room for, calls look by themselves.
func TestSharedLooksAreBounded(t *testing.T) {
	s := &Shared{}
	for n := range 2 * maxShared {
		s.add(Lookup{op: opLstat, path: fmt.Sprint("/", n)})
	}
	if n := len(s.byKey); n != maxShared {
		t.Errorf("%d lookups are shared", n)
	}
	s = &Shared{}
	text := strings.Repeat("x", maxSharedBytes/4)
	for n := range 8 {
		s.add(Lookup{op: opReadFile, path: fmt.Sprint("/", n), limit: 1, text: text})
	}
	if s.bytes != maxSharedBytes || len(s.byKey) != 4 {
		t.Errorf("%d bytes of %d files are shared", s.bytes, len(s.byKey))
	}
	other := Lookup{op: opReadFile, path: "/0", limit: 2}
	if s.answer(&other) || !s.answer(&Lookup{op: opReadFile, path: "/0", limit: 1}) {
		t.Error("a lookup with another limit is another lookup")
	}
}
