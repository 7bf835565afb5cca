package tools

import (
	"strings"
	"testing"

	"github.com/permd/permd/rego"
)

// FuzzProfiles: data that is accepted is read the same again, and names no tool twice.
func FuzzProfiles(f *testing.F) {
	f.Add(rego.Profiles())
	f.Add([]byte("version: 1\ngeneric:\n  command: [command]\n  touch: [path]\n"))
	f.Add([]byte("version: 1\ngeneric: {command: [c], touch: [p]}\nshapes: {s: {members: {command: c}}}\nagents:\n  - names: [a]\n    tools: {T: s}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParseProfiles(data)
		if err != nil {
			return
		}
		again, err := ParseProfiles(data)
		if err != nil || len(again.byName) != len(p.byName) {
			t.Fatalf("read again: %v", err)
		}
		if !p.generic.takes(roleCommand) || !p.generic.takes(roleTouch) {
			t.Fatal("no command or no path is known in tools of others")
		}
	})
}

// FuzzVersion: a version is in a range or in what is beyond it, never in both, and one
// that cannot be read is in none with bounds.
func FuzzVersion(f *testing.F) {
	for _, c := range [][2]string{{">=0.20 <2", "1.2.3"}, {"=1", "v1.0.0-beta"}, {"<1", "1.x"}, {">2147483647", "2147483648"}, {"", "x"}, {">=1 >=2", "1.5+b 2"}} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, bound, version string) {
		if r, err := parseVersionRange(bound); err == nil && len(r) > 0 {
			if _, ok := parseVersion(version); !ok && r.Holds(version) {
				t.Fatalf("%q is in %q", version, bound)
			}
		}
		number := strings.TrimLeft(bound, "<>= ")
		if strings.ContainsAny(number, " \t\n<>=") {
			return
		}
		below, err1 := parseVersionRange("<" + number)
		from, err2 := parseVersionRange(">=" + number)
		if err1 != nil || err2 != nil || len(below) != 1 || len(from) != 1 {
			return
		}
		if _, ok := parseVersion(version); ok && below.Holds(version) == from.Holds(version) {
			t.Fatalf("%q is below %q: %v, and from it on: %v", version, number, below.Holds(version), from.Holds(version))
		}
	})
}
