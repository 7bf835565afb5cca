package publicsuffix

import (
	"testing"

	"golang.org/x/net/publicsuffix"
)

// TestSameAsGo compares with golang.org/x/net, for each listed suffix, what is above it
// and names below it.
func TestSameAsGo(t *testing.T) {
	if got := publicsuffix.List.String(); got != version {
		t.Fatalf("golang.org/x/net has another list; run: go generate ./internal/publicsuffix, and write its name and numTLD into table.go\nits list: %s\nthis one: %s", got, version)
	}
	names := []string{"", ".", "..", ".com", "com.", "a..com", "127.0.0.1", "::1", "fe80::1%eth0", "localhost", "a.localhost", "example.COM", "a.b.c.d"}
	var walk func(lo, hi uint32, above string)
	walk = func(lo, hi uint32, above string) {
		for i := lo; i < hi; i++ {
			name := labelOf(nodes.at(i)) + above
			names = append(names, name, "x."+name, "y.x."+name, "z.y.x."+name, "."+name, "x"+name)
			n := nodeOf(nodes.at(i))
			walk(n.lo, n.hi, "."+name)
		}
	}
	walk(0, numTLD, "")
	if len(names) < 50_000 {
		t.Fatalf("%d names", len(names))
	}
	for _, name := range names {
		suffix, managed := Of(name)
		if want, icann := publicsuffix.PublicSuffix(name); suffix != want || managed != icann {
			t.Errorf("the suffix of %q is %q, %v, want %q, %v", name, suffix, managed, want, icann)
		}
		registered, ok := Registered(name)
		if want, err := publicsuffix.EffectiveTLDPlusOne(name); registered != want || ok != (err == nil) {
			t.Errorf("registered of %q is %q, %v, want %q, %v", name, registered, ok, want, err)
		}
	}
}

func TestOf(t *testing.T) {
	for name, want := range map[string]struct{ suffix, registered string }{
		"www.example.co.uk": {"co.uk", "example.co.uk"},
		"a.github.io":       {"github.io", "a.github.io"},
		"github.io":         {"github.io", ""},
		"x.www.ck":          {"ck", "www.ck"}, // the exception of *.ck
		"a.b.ck":            {"b.ck", "a.b.ck"},
		"printer":           {"printer", ""},
		"a.printer":         {"printer", "a.printer"},
		"192.0.2.1":         {"192.0.2.1", ""},
	} {
		suffix, _ := Of(name)
		if registered, _ := Registered(name); suffix != want.suffix || registered != want.registered {
			t.Errorf("%s: %q, %q, want %q, %q", name, suffix, registered, want.suffix, want.registered)
		}
	}
}
