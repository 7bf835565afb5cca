package shell

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/testload"
)

// TestLooksUpOracle starts the installed programs of the table that only look, with each option
// that is harmless and takes no value, and compares whether they ask for the address of a name.
func TestLooksUpOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts many programs; TestMayConnect is the quick one")
	}
	if out, err := exec.Command("unshare", "-rnu", "hostname", "x").CombinedOutput(); err != nil {
		t.Skipf("a run without a network is not possible here: %v, %s", err, out)
	}
	o := newTracedOracle(t)
	o.write(t, "a.txt", "a\n")
	table := effectstest.Table(t)
	lines := []string{"hostname -f", "hostname -i"}
	for _, name := range table.Names() {
		p := table.Program(name)
		if _, err := exec.LookPath(name); err != nil || !p.Readonly || p.Wrapper != nil || strings.ContainsAny(name, "/[") {
			continue
		}
		for _, option := range slices.Sorted(maps.Keys(p.Options)) {
			if spec := p.Options[option]; spec.Arity == programs.ArityNone && strings.HasPrefix(option, "-") {
				lines = append(lines, name+" "+option, name+" "+option+" a.txt")
			}
		}
	}
	asked, few := 0, []string(nil)
	few = append(few, lines[:2]...)
	for _, text := range append(few, testload.Sample(t, 60, lines)...) {
		// Its own name is in no file of this machine.
		found := o.trace(t, "timeout 2 unshare -rnu sh -c 'hostname nowhere.example && exec "+text+"' </dev/null", o.project)
		if !slices.ContainsFunc(found.connects, func(c string) bool { return strings.Contains(c, "htons(53)") }) {
			continue
		}
		asked++
		b := onDisk(table, o.top, o.project, text)
		if len(b.Paths.MayReach) == 0 && !slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindConnect || e.Kind == effects.KindUnknown }) {
			t.Errorf("%s asks for an address by %s, which no effect has", text, found.connects)
		}
	}
	t.Logf("%d of %d asked", asked, len(lines))
}
