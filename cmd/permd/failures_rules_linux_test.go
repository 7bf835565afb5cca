package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
)

// TestFailuresRules is [TestFailures] for rules that take what they can get.
func TestFailuresRules(t *testing.T) {
	failures(t, append([]failure{
		{"rules that take much memory", greedyRules},
		{"a rule with a step that does not end", endlessRule},
	}, longRows(t, failure{"lists that would take all memory", largeLists})...))
}

// maxGreedyRSS bounds the memory of a daemon with such rules, in MiB.
const maxGreedyRSS = 384

// greedyRules: they are ended before they have taken much, and ask, however many clients
// ask at the same time.
func greedyRules(t *testing.T) {
	letters := `split("` + strings.Repeat("x", 300) + `", "")`
	doubled := ""
	for i := range 40 {
		doubled += fmt.Sprintf("\ts%d := concat(\"\", [s%d, s%d])\n", i+1, i, i)
	}
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.start(t)
	wires := make([]*wire, 8)
	for i := range wires {
		wires[i] = d.session(t, project)
	}
	for name, rego := range map[string]string{
		"all mixtures": `deny contains "x" if {
	all := [concat(" ", [input.effect.kind, a, b, c, sprintf("%d %d", [i, j])]) | some i, a in letters; some j, b in letters; some c in letters]
	count(all) == 7
}
letters := ` + letters,
		"a text that doubles": "deny contains \"x\" if {\n\ts0 := input.effect.kind\n" + doubled + "\ts40 == \"y\"\n}",
		"a text in a text": `deny contains "x" if {
	text := concat("", [input.effect.kind | some _ in letters; some _ in letters])
	replace(text, "", text) == "y"
}
letters := ` + letters,
	} {
		t.Run(name, func(t *testing.T) {
			wantAllowed(t, wires[0])
			d.policy(t, "greedy.rego", rego)
			d.reload(t)
			for round := range testload.Rounds(t, "", 1, 3) {
				for i, w := range wires {
					line := decideLine(fmt.Sprintf("git status -s%s", strings.Repeat("b", 1+round*len(wires)+i))) // nothing that was asked before
					if _, err := w.Write([]byte(line + "\n")); err != nil {
						t.Fatal(err)
					}
				}
				for _, w := range wires {
					wantAnswer(t, name, w.next(t), "ask", "failure", "")
				}
			}
			d.policy(t, "greedy.rego", "")
			d.reload(t)
			wantAllowed(t, wires[0])
		})
	}
	if got := d.rss(t, "VmHWM"); got > maxGreedyRSS && !testload.Race {
		t.Errorf("the rules took %d MiB, more than %d", got, maxGreedyRSS)
	} else {
		t.Logf("at most %d MiB", got)
	}
}

// endlessRule: nobody waits for it, denies of other layers count, and permd says which
// layer is off. Without the rule all goes on.
func endlessRule(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.start(t)
	w := d.session(t, project)
	wantAllowed(t, w)
	// A set of two values that hold others 2^40 times, and are compared for that.
	rules := "deny contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\tcount({a40, b40}) == 1\n}\na0 := [1]\nb0 := [1]\n"
	for i := range 40 {
		rules += fmt.Sprintf("a%d := [a%d | some _ in [1, 2]]\nb%d := [b%d | some _ in [1, 2]]\n", i+1, i, i+1, i)
	}
	d.policy(t, "endless.rego", rules)
	d.reload(t)
	for range 5 {
		wantProbe(t, w, "ask", "failure", "")
	}
	wantAnswer(t, "endless", w.ask(t, decideLine("git diff")), "ask", "failure", "does not end")
	if got := w.ask(t, decideLine("rm -rf /")); got.Verdict != "deny" {
		t.Errorf("what base denies: %+v", got)
	}
	if st := d.status(t); !st.Degraded || !strings.Contains(st.Policy.Summary(), "does not end") {
		t.Errorf("the status does not say it: %s", st.Policy.Summary())
	}
	d.policy(t, "endless.rego", "")
	d.reload(t)
	wantAllowed(t, w)
	eventually.Holds(t, "the status is well", func() bool { return !d.status(t).Degraded })
}

// largeLists: a project's list that would become gigabytes of rules is not loaded, however
// small it is; its calls ask, others go on, and the memory of the unit is never reached.
func largeLists(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.start(t)
	w := d.session(t, project)
	wantAllowed(t, w)
	entries := func(n int, text string) string {
		list := "deny:\n  write:\n"
		for i := range n {
			list += fmt.Sprintf("  - \"%s%d\"\n", text, i)
		}
		return list
	}
	for name, list := range map[string]string{
		"deep":     entries(9000, "/"+strings.Repeat("a/", 45)),
		"deepest":  entries(200, "/"+strings.Repeat("a/", 2040)),
		"many":     entries(9000, "/srv/**/x"),
		"comments": "deny:\n  run: [dd]\n" + strings.Repeat("#\n", 500_000),
	} {
		dir := filepath.Join(d.home, "large", name)
		writeFile(t, filepath.Join(dir, ".permd", "rules.yaml"), list)
		w := d.wire(t)
		w.ask(t, declaration("s1", dir))
		if got := w.ask(t, decideLine(probe)); got.Verdict != "ask" || got.By != "failure" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for i := range 8 { // each is loaded
		dir := filepath.Join(d.home, "large", fmt.Sprint(i))
		writeFile(t, filepath.Join(dir, ".permd", "rules.yaml"), entries(250, "/srv/**/x"))
		w := d.session(t, dir)
		if got := w.ask(t, toolLine("Write", map[string]any{"file_path": "/srv/a/b/x7", "content": "x"})); got.Verdict != "deny" {
			t.Errorf("project %d: %+v", i, got)
		}
	}
	wantAllowed(t, w)
	if got := d.rss(t, "VmHWM"); got > maxGreedyRSS && !testload.Race {
		t.Errorf("the rules took %d MiB, more than %d", got, maxGreedyRSS)
	} else {
		t.Logf("at most %d MiB", got)
	}
}
