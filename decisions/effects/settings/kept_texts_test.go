package settings

import (
	"testing"

	"github.com/permd/permd/decisions/effects/fsfake"
)

// TestKeptTexts: of a text that was read before, what depends on the files around it is
// still looked at. It begins with a text that is harmless.
func TestKeptTexts(t *testing.T) {
	s := NewFormat("gitconfig")
	for _, line := range []string{"core.bare: yes", "core.editor: word", "core.hookspath: hooks", "submodule.*.url: word", "submodule.*.active: submodule", "user.name", "core.x=1"} {
		if !s.Allow(line) {
			t.Fatal(line)
		}
	}
	for text, want := range map[string]bool{
		"[core]\nbare = false\n[user]\nname = A b\n": true,
		"[core]\nx = 1\n":           true,
		"[core]\nx = 2\n":           false,
		"[core]\nbare = maybe\n":    false,
		"[core]\nfsmonitor = ./x\n": false,
		"[core\n":                   false,
	} {
		for range 2 {
			if got := s.Plain([]byte(text)); got != want {
				t.Errorf("%q: %v, want %v", text, got, want)
			}
		}
	}
	if other := NewFormat("gitconfig"); other.Plain([]byte("[core]\nbare = false\n")) {
		t.Error("another list has the same text")
	}
	data := []byte("[submodule \"a\"]\nactive = true\n")
	for _, nested := range []bool{true, false, true} {
		c := &settingsCheck{Surroundings: &Surroundings{FS: fsfake.New()}, nested: nested}
		if got := s.plain(c, data); got != nested {
			t.Errorf("nested %v: %v", nested, got)
		}
	}
}

// TestKindsOfValues: kinds that are said to depend on the value alone use nothing else.
func TestKindsOfValues(t *testing.T) {
	for kind, of := range valueKinds {
		if ofFiles.Has(kind) {
			continue
		}
		for _, value := range []string{"", "true", "a", "./a", "~/b", "$X", "a b", "-x", "https://a.example/b", "@s/p@1"} {
			of(nil, value) // or it panics
		}
	}
}
