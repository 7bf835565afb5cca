package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// killRounds overrides how often TestKill kills.
const killRounds = "PERMD_TEST_KILL_ROUNDS"

// TestKill kills the daemon, again and again, while it decides, remembers, forgets
// and reads new rules. Everything that a client got an answer for is true when the
// daemon runs again: each decision is in the journal, each choice is stored and
// matches, each revoked one is gone, and the rules are those that were written
// last.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it kills the daemon again and again")
	}
	t.Parallel()
	rounds := testload.Rounds(t, killRounds, 3, 6)
	d := newTestDaemon(t)
	k := &killer{t: t, d: d, project: d.project(t, map[string]string{"main.go": "package main\n"}), holding: map[string]string{}}
	k.writeRules(t, 0)
	d.start(t)
	k.wantRules() // and a first record
	for round := range rounds {
		if (round+1)%100 == 0 {
			t.Logf("%d kills, %+v so far", round+1, k.counts)
		}
		if k.round(round); t.Failed() {
			k.report()
			t.Fatalf("after kill %d", round+1)
		}
	}
	c := k.counts
	if c.decisions == 0 || c.kept == 0 || c.forgotten == 0 || c.reloads == 0 || c.idle == 4*rounds {
		t.Fatalf("%+v: no kill came while something was under way", c)
	}
	t.Logf("%d kills, %+v, none lost", rounds, c)
	if st := d.status(t); st.Degraded {
		t.Errorf("the daemon is degraded after %d kills: %+v", rounds, st)
	}
}

// killer drives one daemon through all rounds.
type killer struct {
	t       *testing.T
	d       *testDaemon
	project string
	edition int // of the rules, the last that was written
	// holding has the commands of the choices in force, by the choices' ids.
	holding map[string]string
	counts  struct{ decisions, kept, forgotten, reloads, idle int }
}

// mostHolding is how many choices are kept from round to round.
const mostHolding = 200

func (k *killer) round(round int) {
	t, d := k.t, k.d
	before := k.lastSeq()
	askers := make([]asker, 3)
	var all sync.WaitGroup
	for n := range askers {
		a := &askers[n]
		a.session = fmt.Sprintf("round-%d-%d", round, n)
		w := d.wire(t)
		if got := w.ask(t, declaration(a.session, k.project)); got != (answer{}) {
			t.Fatalf("permd/session: %+v", got)
		}
		all.Go(func() { a.run(w) })
	}
	c := &chooser{round: round, old: maps.Clone(k.holding)}
	c.connect(t, d, k.project)
	all.Go(c.run)
	r := &reloader{k: k, c: d.dialAdmin(t)}
	all.Go(r.run)

	// Kill at any moment, but not always before the first answer of the person.
	enough := time.Now().Add(2 * time.Second)
	steps := int64(rand.IntN(8))
	if round == 0 {
		steps = max(steps, 3) // the third step forgets
	}
	eventually.True(func() bool { return c.steps.Load() >= steps || round > 0 && time.Now().After(enough) })
	// A slow machine reloads less than once a round.
	eventually.True(func() bool { return k.counts.reloads > 0 || r.reloads.Load() > 0 })
	time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
	d.kill()
	all.Wait()
	d.start(t)

	for i := range askers {
		a := &askers[i]
		if a.err != nil {
			t.Fatal(a.err)
		}
		k.counts.decisions += len(a.answered)
		if len(a.answered) == mostAsked {
			k.counts.idle++
		}
	}
	if err := errors.Join(c.err, r.err); err != nil {
		t.Fatal(err)
	}
	k.counts.reloads += int(r.reloads.Load())
	k.wantJournalled(before, append(askers, asker{answered: c.asked}))
	k.wantChoices(c)
	k.wantRules()
	d.wantVerified(t)
}

// report prints the state of a daemon that has lost something.
func (k *killer) report() {
	k.t.Helper()
	lines := strings.SplitAfter(k.d.output.String(), "\n")
	k.t.Logf("the end of the daemons' log:\n%s", strings.Join(lines[max(0, len(lines)-40):], ""))
	entries, err := os.ReadDir(filepath.Dir(k.d.data("decisions.db")))
	if err != nil {
		k.t.Log(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			k.t.Logf("%10d %s %s", info.Size(), info.ModTime().Format("15:04:05.000"), e.Name())
		}
	}
	k.t.Logf("status: %+v", k.d.status(k.t).Journal)
}

// lastSeq is the newest sequence number of the journal.
func (k *killer) lastSeq() int64 {
	k.t.Helper()
	return k.list(decisions.RecordFilter{Limit: 1})[0].Seq
}

func (k *killer) list(f decisions.RecordFilter) []*decisions.Record {
	k.t.Helper()
	c := k.d.dialAdmin(k.t)
	defer c.Close()
	var got admin.Records
	if err := c.Call(k.t.Context(), admin.MethodList, f, &got); err != nil {
		k.t.Fatalf("listing decisions: %v", err)
	}
	return got.Records
}

// wantJournalled checks that the journal has all answers of a round, as they were
// given.
func (k *killer) wantJournalled(after int64, askers []asker) {
	k.t.Helper()
	verdicts := k.d.verdicts(k.t, after)
	for i := range askers {
		for _, a := range askers[i].answered {
			if verdicts[a.ID] != a.Verdict {
				k.t.Errorf("session %s was answered %s (decision %s), the journal says %q", askers[i].session, a.Verdict, a.ID, verdicts[a.ID])
			}
		}
	}
}

// wantChoices checks that the choices of all rounds apply, and revoked ones do not.
func (k *killer) wantChoices(c *chooser) {
	t := k.t
	t.Helper()
	k.counts.kept += len(c.kept)
	k.counts.forgotten += len(c.forgotten)
	maps.Copy(k.holding, c.kept)
	a := k.d.dialAdmin(t)
	defer a.Close()
	there := map[string]string{}
	for after := ""; ; {
		var page admin.Choices
		if err := a.Call(t.Context(), admin.MethodChoicesList, map[string]string{"after": after}, &page); err != nil {
			t.Fatalf("listing choices: %v", err)
		}
		for _, choice := range page.Choices {
			there[choice.ID] = choice.Rule
			if strings.HasPrefix(choice.Scope, "session") {
				t.Errorf("the choice %s of a session of an earlier daemon is there: %s", choice.ID, choice.Rule)
			}
		}
		if after = page.Next; after == "" {
			break
		}
	}
	for id, command := range k.holding {
		switch {
		case c.forgotten[id] != "" && there[id] != "":
			t.Errorf("the choice %s was revoked, and is there: %s", id, command)
		case c.forgotten[id] == "" && c.revoking[id] == "" && there[id] != command:
			t.Errorf("the choice %s was stored, and is not there: %s", id, command)
		}
	}
	for id, command := range there {
		// One that was under way when the kill came may be there or not.
		if k.holding[id] == "" && command != c.open {
			t.Errorf("nobody stored %s %q", id, command)
		}
	}
	k.holding = there
	// What is listed is what decides.
	p := k.d.asks(t, k.project)
	defer p.Close()
	for id, command := range k.holding {
		if got := p.bash(command); got.Verdict != decisions.Allow || got.Effects[0].ChoiceID != id {
			t.Errorf("%s is remembered, the answer is %s by %s", command, got.Verdict, got.By)
		}
	}
	for _, command := range c.forgotten {
		if got := p.bash(command); got.Verdict != decisions.Ask {
			t.Errorf("%s was revoked, the answer is %s by %s", command, got.Verdict, got.By)
		}
	}
	for _, command := range c.passing {
		if got := p.bash(command); got.Verdict != decisions.Ask {
			t.Errorf("%s was for a session that is gone, the answer is %s by %s", command, got.Verdict, got.By)
		}
	}
	if len(k.holding) > mostHolding {
		if err := a.Call(t.Context(), admin.MethodChoicesForget, map[string]any{"choiceIds": forSome(k.holding, 100)}, nil); err != nil {
			t.Fatalf("forgetting: %v", err)
		}
	}
}

// forSome takes n keys out of a map.
func forSome(m map[string]string, n int) (keys []string) {
	for key := range m {
		if len(keys) == n {
			break
		}
		keys = append(keys, key)
		delete(m, key)
	}
	return keys
}

// writeRules saves an edition of the rules as an editor does: it denies one
// program with its number as the reason.
func (k *killer) writeRules(t *testing.T, edition int) {
	t.Helper()
	if err := k.save(edition); err != nil {
		t.Fatal(err)
	}
}

func (k *killer) save(edition int) error {
	path := filepath.Join(k.d.home, ".config", "permd", "policy.d", "rules.rego")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	text := fmt.Sprintf("package permd.user\nimport rego.v2\ndeny contains \"edition %d\" if input.effect.program == \"edition\"\n", edition)
	if err := os.WriteFile(path+"~", []byte(text), 0o600); err != nil {
		return err
	}
	if err := os.Rename(path+"~", path); err != nil {
		return err
	}
	k.edition = edition
	return nil
}

// wantRules checks that the rules that were written last are in use.
func (k *killer) wantRules() {
	k.t.Helper()
	p := k.d.asks(k.t, k.project)
	defer p.Close()
	want := fmt.Sprintf("edition %d", k.edition)
	if got := p.bash("edition"); got.Verdict != decisions.Deny || got.Reason != want {
		k.t.Errorf("the rules say %s (%s), want %s", got.Verdict, got.Reason, want)
	}
}

// dialAdmin connects to the management socket.
func (d *testDaemon) dialAdmin(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), d.adminSocket(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// asker asks on a connection of its own until the daemon is gone, and records the
// answers.
type asker struct {
	session  string
	answered []answer
	err      error // an answer that could not be read
}

// inFlight is how many requests an asker has open at a time; mostAsked bounds
// what it asks.
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
