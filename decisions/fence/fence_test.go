package fence

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/rego"
)

// The fence itself is tried by the engine's tests; here its lists are compared with those
// of the same programs in the shipped rules and the program table.

// programsOf returns the programs that a shipped rule names.
func programsOf(t *testing.T, file, id string) []string {
	t.Helper()
	_, rule, found := strings.Cut(string(rego.Base()[file]), "id: "+id+"\n")
	m := regexp.MustCompile(`input\.effect\.program in \{([^}]*)\}`).FindStringSubmatch(rule)
	if !found || m == nil {
		t.Fatalf("%s in %s names no programs", id, file)
	}
	var names []string
	for _, word := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(m[1], -1) {
		names = append(names, word[1])
	}
	return names
}

func TestSameServiceManagers(t *testing.T) {
	rule := programsOf(t, "base/permd.rego", "base.permd-unit")
	want := slices.Sorted(slices.Values(serviceManagers))
	// It ends sessions and takes no unit: the fence knows its words, and the rule looks for
	// permd's name.
	want = slices.DeleteFunc(want, func(name string) bool { return name == "loginctl" })
	if !slices.Equal(rule, want) {
		t.Errorf("base.permd-unit has %q, the fence %q", rule, want)
	}
	for _, name := range rule {
		for _, words := range [][]string{{"stop", "permd"}, {"permd", "stop"}} {
			e := effects.Effect{Kind: effects.KindRun, Run: &effects.Run{Program: name, Args: words}}
			if (Fence{}).Reason(&e) == "" {
				t.Errorf("%s %s passes the fence", name, strings.Join(words, " "))
			}
		}
	}
}

func TestSameProgramsThatSignal(t *testing.T) {
	rule := programsOf(t, "base/permd.rego", "base.permd-kill")
	want := []string{"kill"}
	for _, name := range signalsByName {
		if name != "killall5" { // it takes no name of a process
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if !slices.Equal(rule, want) {
		t.Errorf("base.permd-kill has %q, the fence %q", rule, want)
	}
}

// TestSameWordsForTheMachine: poweroff and "systemctl poweroff" have the same text, and
// what the fence leaves to rules and people has a rule or a text.
func TestSameWordsForTheMachine(t *testing.T) {
	_, rule, _ := strings.Cut(string(rego.Base()["base/ask.rego"]), "id: base.shutdown\n")
	text := regexp.MustCompile(`^ask contains "([^"]*)"`).FindStringSubmatch(rule)
	if text == nil {
		t.Fatal("base.shutdown has no text")
	}
	m := regexp.MustCompile(`- "([a-z -]*): ` + text[1] + `"`).FindStringSubmatch(string(rego.Programs()["system.yaml"]))
	if m == nil {
		t.Fatalf("system.yaml says nowhere %q", text[1])
	}
	table := strings.Fields(m[1])
	for _, word := range table {
		if !slices.Contains(systemctlEndMachine, word) {
			t.Errorf("the table says of systemctl %s that it %s, the fence does not", word, text[1])
		}
	}
	for _, word := range programsOf(t, "base/ask.rego", "base.shutdown") {
		if slices.Contains(systemctlEndMachine, word) && !slices.Contains(table, word) {
			t.Errorf("the table does not say of systemctl %s that it %s", word, text[1])
		}
	}
}
