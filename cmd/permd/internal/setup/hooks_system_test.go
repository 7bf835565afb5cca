package setup

import (
	"strings"
	"testing"
	"time"
)

// TestHookSystem: with --system every command line of a managed file asks the machine's daemon
// alone, with a wait too; it is permd's own for the doctor and for uninstall, and installing
// without the option takes it out.
func TestHookSystem(t *testing.T) {
	for _, harness := range hookHarnesses() {
		for _, wait := range []time.Duration{0, time.Minute} {
			place := func(o hookOptions) *configPlace {
				places := managedPlaces(hookPlaces("/root-of-none", harness, "/home/ana", o), true)
				if len(places) == 0 {
					return nil
				}
				return &places[0]
			}
			p := place(hookOptions{wait, true})
			if p == nil {
				if harness != "cline" {
					t.Errorf("%s has no managed file", harness)
				}
				continue
			}
			text, err := p.edit.install(nil, testProgram)
			if err != nil {
				t.Fatal(err)
			}
			asks := strings.Count(string(text), " hook "+harness) - strings.Count(string(text), "permd hook codex")
			if n := strings.Count(string(text), " hook "+harness+" --system"); n == 0 || n != asks {
				t.Errorf("%s: %d of %d command lines ask the machine's daemon alone\n%s", harness, n, asks, text)
			}
			if wait != 0 && !strings.Contains(string(text), " --system --wait 1m || exit 2") {
				t.Errorf("%s does not wait\n%s", harness, text)
			}
			for _, other := range []*configPlace{p, place(hookOptions{})} {
				e, err := other.edit.check(text)
				if err != nil || len(e.programs) != 1 || e.programs[0] != testProgram || len(e.problems)+len(e.silent) > 0 {
					t.Errorf("%s: %+v, %v", harness, e, err)
				}
				rest, found, err := other.edit.remove(text)
				if err != nil || !found || strings.Contains(string(rest), "permd") {
					t.Errorf("%s: left is %q, %v", harness, rest, err)
				}
			}
		}
	}
}
