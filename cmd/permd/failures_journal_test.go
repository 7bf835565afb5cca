package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
)

// TestJournalFailures has the rows of the failure table about the journal's limits and
// about the answers that it must store.
func TestJournalFailures(t *testing.T) {
	failures(t, append([]failure{
		{"an allow cannot be logged, and must be", unloggedDenied},
		{"a person's allow cannot be logged, and must be", unloggedAnswer},
		{"permd allow cannot be logged, and must be", unloggedApproval},
		{"an allow that comes in any way cannot be logged, and must be", unloggedForms},
		{"a person's allow cannot be logged, and need not be", unloggedAnswerCounts},
		{"the journal is changed while no daemon runs", chainChanged},
		{"the head of the journal cannot be kept elsewhere", headNotKept},
	}, longRows(t, failure{"an agent in a loop fills the journal", journalFlooded})...))
}

// startStrict starts a daemon that allows nothing that it cannot log.
func startStrict(t *testing.T) *testDaemon {
	t.Helper()
	d := newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "permd.toml"), "on_log_failure = \"deny\"\n")
	d.start(t)
	return d
}

// unloggedDenied: what a rule allows is denied while it cannot be logged.
func unloggedDenied(t *testing.T) {
	d := startStrict(t)
	w := d.session(t, d.project(t, nil))
	wantAllowed(t, w)
	lift := limitFiles(t, d.cmd.Process.Pid, 4096)
	wantProbe(t, w, "deny", "failure", "could not be logged")
	lift()
	wantAllowed(t, w)
}

// unloggedAnswer: a person's allow is refused while it cannot be logged, and counts
// when it can be; their no always counts.
func unloggedAnswer(t *testing.T) {
	d := startStrict(t)
	p := d.asks(t, d.project(t, nil))
	allowed, refused, denied := p.bash("frob 1"), p.bash("frob 2"), p.bash("frob 3")
	p.choose(allowed, nil, "")
	lift := limitFiles(t, d.cmd.Process.Pid, 4096)
	p.choose(refused, nil, "could not be logged")
	p.choose(denied, map[string]any{"verdict": "deny"}, "")
	lift()
	again := p.bash("frob 2")
	p.is(again, decisions.Ask, decisions.ByPolicy)
	p.choose(again, nil, "")
	for _, r := range d.records(t) {
		if answer := r.Answer; (answer != nil) != (r.Decision.ID == allowed.ID || r.Decision.ID == again.ID) {
			t.Errorf("%s: the journal has the answer %+v", r.Decision.Effects[0].Text, answer)
		}
	}
}

// unloggedApproval: permd allow is refused while it cannot be logged, and nothing runs
// by it later.
func unloggedApproval(t *testing.T) {
	d := startStrict(t)
	project := d.project(t, nil)
	asks := func() string {
		return string(d.hook(t, "cursor", hookInput(hookShell[8].in, project, "frob 1")).Stdout)
	}
	m := allowedBy.FindStringSubmatch(asks())
	if m == nil {
		t.Fatal("no way to allow it is named")
	}
	lift := limitFiles(t, d.cmd.Process.Pid, 4096)
	if out, err := d.command("allow", m[1]).CombinedOutput(); err == nil || !strings.Contains(string(out), "could not be logged") {
		t.Errorf("permd allow: %v: %s", err, out)
	}
	lift()
	if said := asks(); strings.Contains(said, `"allow"`) {
		t.Errorf("it runs: %s", said)
	}
	d.permd(t, "allow", m[1])
	if said := asks(); !strings.Contains(said, `"allow"`) {
		t.Errorf("it does not run, though it was allowed and logged: %s", said)
	}
}

// unloggedForms: while the journal's database is away and the memory is not, no person's
// allow counts in whatever way it comes, for once or for always, and nothing is
// remembered of it later.
func unloggedForms(t *testing.T) {
	d := startStrict(t)
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(d.data(from), d.data(to)); err != nil {
			t.Fatal(err)
		}
	}
	always := lateForms[len(lateForms)-1]
	always.name, always.ask = "permd allow --width", func(l *late) func() bool {
		asks := func() string {
			return string(l.d.hook(l.t, "cursor", hookInput(hookShell[8].in, l.project, "whatever a")).Stdout)
		}
		m := allowedBy.FindStringSubmatch(asks())
		if m == nil {
			l.t.Fatal("no way to allow it is named")
		}
		return func() bool { return l.d.command("allow", m[1], "--width", "w1").Run() == nil }
	}
	for _, f := range append(slices.Clone(lateForms), always) {
		t.Run(f.name, func(t *testing.T) {
			begin := func() (yes func() bool) {
				l := &late{t, d, d.dial(t), projectOf(t)}
				l.write("run.sh", "echo 1\n")
				l.write("data", "1\n")
				l.session(l.project, "default")
				return f.ask(l)
			}
			if !begin()() {
				t.Fatal("control: a yes does not count")
			}
			d.permd(t, "remember", "forget", "--all")
			yes := begin()
			rename("decisions.db", "away.db")
			got := yes()
			rename("away.db", "decisions.db")
			if got {
				t.Error("it may run, and nothing is logged of that")
			}
			if text := d.permd(t, "remember", "list", "--json"); strings.TrimSpace(text) != "" {
				t.Errorf("remembered: %s", text)
			}
			wantAllowed(t, d.session(t, d.project(t, nil)))
		})
	}
}

// unloggedAnswerCounts: by default, a person's answer counts even if it cannot be
// logged.
func unloggedAnswerCounts(t *testing.T) {
	d := startDaemon(t)
	p := d.asks(t, d.project(t, nil))
	q := p.bash("frob 1")
	limitFiles(t, d.cmd.Process.Pid, 4096)
	p.choose(q, nil, "")
}

// journalFlooded: a client in a loop that fills the journal to its limit pushes out
// its own decisions, and not the questions of others, which are answered and found
// afterwards; nothing that asks is allowed meanwhile.
func journalFlooded(t *testing.T) {
	if testload.Race {
		t.Skip("one client: races of the removal are looked for in decisions/journal")
	}
	d := newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "permd.toml"), "[journal]\nmax_bytes = 16777216\n")
	d.start(t)
	project := d.project(t, nil)
	p, w := d.asks(t, project), d.session(t, project)
	open, first := p.bash("frob open"), w.ask(t, decideLine(probe))
	sum := func() int64 { return d.status(t).Journal.Retention.Removed }
	n := 0
	for ; n < 40_000 && (n%200 != 0 || sum() < 200); n++ {
		got := w.ask(t, decideLine(fmt.Sprintf("frob %d %s%s", n, strings.Repeat(fmt.Sprintf(" arg%d", n), 30), strings.Repeat("x", 3000))))
		if got.Verdict != "ask" {
			t.Fatalf("decision %d: the answer is %+v", n, got)
		}
	}
	eventually.Holds(t, "old decisions are removed", func() bool {
		r := d.status(t).Journal.Retention
		return r.Removed > 0 && r.Bytes <= 16<<20 && r.Failing == ""
	})
	p.choose(open, nil, "")
	d.kill()
	d.start(t)
	d.wantLogged(t, answer{ID: open.ID, Verdict: "ask"})
	out := d.permd(t, "log", "show", open.ID)
	if !strings.Contains(out, "by the person at") {
		t.Errorf("the answer is not shown:\n%s", out)
	}
	if out, err := d.command("log", "show", first.ID).CombinedOutput(); err == nil {
		t.Errorf("after %d decisions the first is still there: %s", n, out)
	}
	if out := d.permd(t, "status"); !strings.Contains(out, "were removed, the others are kept since") {
		t.Errorf("the status does not say what was removed:\n%s", out)
	}
	wantAllowed(t, d.session(t, project))
}
