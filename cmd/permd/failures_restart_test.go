package main

import (
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/testload"
)

// TestFailuresRestart is [TestFailures] for a daemon that ends while it has work, and
// for what clients have open then.
func TestFailuresRestart(t *testing.T) {
	failures(t, []failure{
		{"SIGTERM under load", endedUnderLoad},
		{"restart under clients with open questions", restartedUnderQuestions},
	})
}

// endedUnderLoad sends SIGTERM to a daemon while many clients ask: it exits with 0, and
// every answer that it gave is in the journal.
func endedUnderLoad(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"main.go": "package main\n"})
	for round := range testload.Rounds(t, "", 1, 3) {
		d.start(t)
		before := d.status(t).Journal.Last
		askers := make([]asker, 32)
		var all sync.WaitGroup
		for n := range askers {
			a := &askers[n]
			a.session = "s1"
			w := d.session(t, project)
			all.Go(func() { a.run(w) })
		}
		d.waitStored(t, before+int64(100*(round+1)))
		if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		err := d.cmd.Wait()
		d.cmd = nil
		if err != nil {
			t.Fatalf("round %d: the daemon ended with %v:\n%s", round, err, d.output.String())
		}
		all.Wait()
		d.start(t)
		verdicts, answers := d.verdicts(t, before), 0
		for i := range askers {
			// An error instead of a decision is what requests get that came too late.
			if err := askers[i].err; err != nil && !strings.Contains(err.Error(), `"code":-32051`) {
				t.Errorf("round %d: %v", round, err)
			}
			for _, a := range askers[i].answered {
				if answers++; verdicts[a.ID] != a.Verdict {
					t.Errorf("round %d: answered %s (decision %s), the journal says %q", round, a.Verdict, a.ID, verdicts[a.ID])
				}
			}
		}
		if st := d.status(t); st.Degraded || answers < 100*(round+1)/2 {
			t.Errorf("round %d: %d answers, degraded: %v", round, answers, st.Degraded)
		}
		if err := d.stop(t); err != nil {
			t.Fatal(err)
		}
	}
}

// restartedUnderQuestions: a question ends with the daemon, however that ends. Nobody's
// answer to it counts afterwards, and the same call asks again; what was remembered
// before holds.
func restartedUnderQuestions(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"go.mod": "module canary\n"})
	d.start(t)
	for name, end := range map[string]func(){
		"killed": d.kill,
		"ended": func() {
			if err := d.stop(t); err != nil {
				t.Errorf("the daemon ended with %v", err)
			}
		},
	} {
		p, w := d.asks(t, project), d.session(t, project)
		kept := p.bash("go vet ./" + name)
		p.choose(kept, map[string]any{"width": kept.Widths[0].ID}, "")
		native := p.bash("frob " + name)
		acp := w.ask(t, acpLine("frob "+name))
		m := allowedBy.FindStringSubmatch(string(d.hook(t, "cursor", hookInput(hookShell[8].in, project, "frob "+name)).Stdout))
		if native.Verdict != decisions.Ask || acp.Verdict != "ask" || m == nil {
			t.Fatalf("%s: %s, %s and %q are no questions", name, native.Verdict, acp.Verdict, m)
		}
		end()
		if got := w.ask(t, decideLine(probe)); got != (answer{}) {
			t.Errorf("%s: the old connection answers %+v", name, got)
		}
		d.start(t)
		if out, err := d.command("allow", m[1]).CombinedOutput(); err == nil {
			t.Errorf("%s: permd allow of a question of before: %s", name, out)
		}
		p, w = d.asks(t, project), d.session(t, project)
		p.choose(native, nil, "no question of that decisionId")
		p.choose(&decisions.Decision{ID: acp.ID}, map[string]any{"verdict": "deny"}, "no question of that decisionId")
		p.is(p.bash("frob "+name), decisions.Ask, decisions.ByPolicy)
		if got := w.ask(t, acpLine("frob "+name)); got.Verdict != "ask" {
			t.Errorf("%s: asked again: %+v", name, got)
		}
		if said := string(d.hook(t, "cursor", hookInput(hookShell[8].in, project, "frob "+name)).Stdout); strings.Contains(said, `"allow"`) {
			t.Errorf("%s: the hook allows it: %s", name, said)
		}
		p.is(p.bash("go vet ./"+name), decisions.Allow, decisions.ByMemory)
		for _, r := range d.records(t) {
			if (r.Decision.ID == native.ID || r.Decision.ID == acp.ID) && r.Answer != nil {
				t.Errorf("%s: the journal has the answer %+v to a question that nobody answered", name, r.Answer)
			}
		}
	}
}
