package docs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/hook"
)

var hookCommand = regexp.MustCompile(`permd hook ([a-z]+)( \|\| exit 2"| --after \|\| exit 0"|\) && )`)

// TestHooksByHand checks the settings in hooks.md: each is valid in its format and runs
// an existing hook.
func TestHooksByHand(t *testing.T) {
	shown := map[string]bool{}
	for _, b := range read(t, "hooks.md").blocks {
		if b.heading != "By hand" && b.heading != "opencode" {
			continue
		}
		switch b.info {
		case "json":
			if err := strictjson.Check([]byte(b.text)); err != nil {
				t.Errorf("line %d: %v", b.first, err)
			}
		case "toml":
			if _, err := toml.Decode(b.text, new(map[string]any)); err != nil {
				t.Errorf("line %d: %v", b.first, err)
			}
		}
		for _, m := range hookCommand.FindAllStringSubmatch(b.text, -1) {
			if hook.ByName(m[1]) == nil {
				t.Errorf("line %d: permd hook %s is none", b.first, m[1])
			}
			shown[m[1]] = true
		}
		if n := strings.Count(b.text, "permd hook "); n > 0 && n != len(hookCommand.FindAllString(b.text, -1)) {
			t.Errorf("line %d: a hook goes on when permd is gone", b.first)
		}
	}
	for _, name := range hook.Names() {
		if !shown[name] {
			t.Errorf("nothing is shown for %s", name)
		}
	}
}
