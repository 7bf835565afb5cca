package programs

import (
	"strings"
	"testing"

	"github.com/permd/permd/rego"
)

// obeysEntries returns the programs of the table's files.
func obeysEntries(t *testing.T) map[string][]programEntry {
	t.Helper()
	all := map[string][]programEntry{}
	for name, data := range rego.Programs() {
		file, err := decodeTableFile(data)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = file.Programs
	}
	return all
}

// TestEveryProgramSaysWhatItObeys: each read-only program says which files it
// obeys. Otherwise it would count as read-only in a project whose files make it do
// more.
func TestEveryProgramSaysWhatItObeys(t *testing.T) {
	seen := 0
	for name, programs := range obeysEntries(t) {
		for i := range programs {
			seen++
			if programs[i].Obeys == nil {
				t.Errorf("%s: %s: it does not say what it obeys; write obeys: [] if its manual says that it is nothing", name, strings.Join(texts(programs[i].Names), " "))
			}
		}
	}
	if seen < 100 {
		t.Errorf("the table has %d entries", seen)
	}
}

// TestObeyedVariablesAreNotHarmless: a call may not set a variable that a program
// obeys without a question.
func TestObeyedVariablesAreNotHarmless(t *testing.T) {
	table := shipped(t)
	seen := 0
	for _, programs := range obeysEntries(t) {
		var all func(list []programEntry)
		all = func(list []programEntry) {
			for i := range list {
				for _, line := range list[i].Obeys {
					name, ok := strings.CutPrefix(line.text, variableMark)
					if !ok {
						continue
					}
					seen++
					if table.HarmlessAssignment(strings.TrimSuffix(name, "*"), "x") {
						t.Errorf("%s obeys %s, which is a harmless variable", list[i].Names[0].text, name)
					}
				}
				all(list[i].Sub)
			}
		}
		all(programs)
	}
	if seen < 50 {
		t.Errorf("programs obey %d variables", seen)
	}
}
