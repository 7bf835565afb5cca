package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// killRounds overrides how often TestKill kills.
const killRounds = "PERMD_TEST_KILL_ROUNDS"

// asker asks on a connection of its own until the daemon is gone, and keeps
// what it was answered.
type asker struct {
	session  string
	answered []answer
	err      error // an answer that could not be read
}

// inFlight is how many requests an asker has open at a time; mostAsked keeps
// what it was answered within one page of the journal's list.
const (
	inFlight  = 8
	mostAsked = 960
)

func (a *asker) run(w *wire) {
	calls := []string{probe, "rm -rf /", "make install", "cat main.go"}
	for len(a.answered) < mostAsked {
		var batch strings.Builder
		for n := range inFlight {
			line := withID(decideLine(calls[n%len(calls)]), n+1)
			batch.WriteString(strings.Replace(line, `"s1"`, strconv.Quote(a.session), 1) + "\n")
		}
		if _, err := io.WriteString(w, batch.String()); err != nil {
			return
		}
		for range inFlight {
			line, err := w.lines.ReadBytes('\n')
			if err != nil {
				return // killed; a part of a line is no answer
			}
			got, err := parseAnswer(line)
			if err != nil || got.Verdict == "" {
				a.err = fmt.Errorf("unexpected answer %s: %w", line, err)
				return
			}
			a.answered = append(a.answered, got)
		}
	}
}

// TestKill kills the daemon, again and again, while it answers: whatever a
// client was told is in the journal when the daemon runs again.
func TestKill(t *testing.T) {
	t.Parallel()
	rounds := 8
	if s := os.Getenv(killRounds); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		rounds = n
	}
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"main.go": "package main\n"})
	d.start(t)
	total, fewest := 0, mostAsked
	for round := range rounds {
		askers := make([]asker, 4)
		var all sync.WaitGroup
		for n := range askers {
			a := &askers[n]
			a.session = fmt.Sprintf("round-%d-%d", round, n)
			w := d.wire(t)
			if got := w.ask(t, declaration(a.session, project)); got != (answer{}) {
				t.Fatalf("permd/session: %+v", got)
			}
			all.Go(func() { a.run(w) })
		}
		time.Sleep(time.Duration(5+rand.IntN(40)) * time.Millisecond)
		d.kill()
		all.Wait()
		d.start(t)
		for _, a := range askers {
			if a.err != nil {
				t.Fatal(a.err)
			}
			total, fewest = total+len(a.answered), min(fewest, len(a.answered))
			d.wantJournalled(t, a.session, a.answered)
		}
		if t.Failed() {
			t.Fatalf("after kill %d", round+1)
		}
	}
	if total == 0 || fewest == mostAsked {
		t.Fatalf("%d answers in all, at least %d on a connection: no kill came while it was answering", total, fewest)
	}
	t.Logf("%d answers, none lost", total)
	if st := d.status(t); st.Degraded {
		t.Errorf("the daemon is degraded after %d kills: %+v", rounds, st)
	}
}

// wantJournalled wants all answers of a session in the journal, as they were
// given.
func (d *testDaemon) wantJournalled(t *testing.T, session string, answers []answer) {
	t.Helper()
	verdicts := map[string]string{}
	for _, rec := range d.records(t, "--session", session) {
		verdicts[rec.Decision.ID] = string(rec.Decision.Verdict)
	}
	for _, a := range answers {
		if verdicts[a.ID] != a.Verdict {
			t.Errorf("session %s was answered %s (decision %s), the journal says %q", session, a.Verdict, a.ID, verdicts[a.ID])
		}
	}
	if len(answers) == 0 {
		return
	}
	last := answers[len(answers)-1]
	out, err := d.command("log", "show", "--json", last.ID).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			out = exit.Stderr
		}
		t.Fatalf("permd log show %s: %v\n%s", last.ID, err, out)
	}
	var rec struct {
		Decision struct{ DecisionID, Verdict string }
	}
	if err := json.Unmarshal(out, &rec); err != nil || rec.Decision.DecisionID != last.ID || rec.Decision.Verdict != last.Verdict {
		t.Errorf("permd log show %s: %+v, %v", last.ID, rec, err)
	}
}
