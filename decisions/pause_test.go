package decisions

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/testload"
)

// underPause returns the result of a situation under a pause.
func (s *situation) underPause(p *Pause) effectResult {
	e, v := s.inputs()
	c := &conclusion{effectResults: &effectResults{
		all: []effects.Effect{*e}, inputs: []effectInputs{*v}, results: []effectResult{precede(e, v)},
	}}
	c.decision.conclude(c.all, c.results)
	was := c.results[0].verdict
	got := p.over(&evaluation{}, c, nil)
	if c.results[0].verdict != was {
		panic("the conclusion of other requests was changed")
	}
	return got.results[0]
}

// TestPauseRows: in every combination of what the table knows, a pause allows what asks at
// rows 8, 10 and 11 and nothing else, and a lock leaves no allow.
func TestPauseRows(t *testing.T) {
	n := map[string]int{}
	check := func(s *situation) {
		plain := s.decide()
		paused, unknown, locked := s.underPause(&Pause{}), s.underPause(&Pause{Unknown: true}), s.underPause(&Pause{Locked: true})
		want := plain.verdict
		if plain.verdict == Ask && (plain.row == 8 || plain.row == 10 || plain.row == 11) && s.kind != effects.KindUnknown {
			want = Allow
			n["paused"]++
		}
		if paused.verdict != want || (paused.by == ByPause) != (want != plain.verdict) {
			t.Fatalf("%s by %s, want %s, for %+v", paused.verdict, paused.by, want, *s)
		}
		// What is not understood is what org, user and project may ask about for good.
		if s.kind == effects.KindUnknown {
			org := s.orgAsk == "plain" || s.orgAsk == "remember" && s.choice == "none"
			firm := s.userAsk == "firm" || s.projectAsk == "firm"
			if s.deny != "" || s.fence || s.person || s.reject || s.cause != "" || org || firm {
				want = plain.verdict
			} else {
				want = Allow
				n["unknown"]++
			}
		}
		if unknown.verdict != want {
			t.Fatalf("with what is not understood %s, want %s, for %+v", unknown.verdict, want, *s)
		}
		if locked.verdict == Allow || (locked.verdict == Deny) != (plain.verdict == Deny) || locked.verdict == Ask && (locked.by != ByLock || locked.needed != NeededByRule) {
			t.Fatalf("locked: %s by %s, for %+v", locked.verdict, locked.by, *s)
		}
	}
	one := 11
	if testing.Short() {
		one = 53
	}
	for s := range mixtures(testload.OneIn(t, one)) {
		check(s)
	}
	for s := range stops() {
		check(s)
	}
	if n["paused"] < 2 || n["unknown"] < 2 {
		t.Errorf("too few of the situations that matter: %v", n)
	}
}

// TestPausedCalls: whole calls under a pause and a lock.
func TestPausedCalls(t *testing.T) {
	key := "/elsewhere"
	tests := []struct {
		name    string
		command string
		pause   Pause
		set     func(*fakePolicy, *fakeMemory, *fakeJournal, *Request)
		verdict Verdict
		by      DecidedBy
	}{
		{name: "no rule", command: "frob", verdict: Allow, by: ByPause},
		{name: "the user asks", command: "frob", set: fires(User, SetAsk), verdict: Allow, by: ByPause},
		{name: "allowed", command: "frob", set: fires(User, SetAllow), verdict: Allow, by: ByPolicy},
		{name: "org asks", command: "frob", set: fires(Org, SetAsk), verdict: Ask, by: ByPolicy},
		{name: "denied", command: "frob", set: fires(User, SetDeny), verdict: Deny, by: ByPolicy},
		{name: "rejected", command: "frob", verdict: Deny, by: ByMemory, set: func(_ *fakePolicy, m *fakeMemory, _ *fakeJournal, _ *Request) {
			m.reject = &Choice{ID: "n"}
		}},
		{name: "fenced", command: "kill 4242", verdict: Deny, by: ByPolicy},
		{name: "permd itself", command: "permd status", verdict: Ask, by: ByDefault},
		{name: "guarded", command: "frob < /home/canary/.ssh/id_rsa", verdict: Ask, by: ByPolicy},
		{name: "code given inline", command: "python3 -c 'print(1)'", verdict: Ask, by: ByPolicy},
		{name: "the same, unknown", command: "python3 -c 'print(1)'", pause: Pause{Unknown: true}, verdict: Allow, by: ByPause},
		{name: "not plain, unknown", command: "frob {a,b}", pause: Pause{Unknown: true}, verdict: Ask, by: ByPolicy},
		{name: "the harness wants a person", command: "frob", verdict: Ask, by: ByPolicy, set: func(_ *fakePolicy, _ *fakeMemory, _ *fakeJournal, r *Request) {
			r.HarnessAsks = "plan"
		}},
		{name: "a defect", command: "frob", verdict: Ask, by: ByPolicy, set: func(_ *fakePolicy, _ *fakeMemory, _ *fakeJournal, r *Request) {
			r.Call.Defects = []effects.Defect{{Code: "x"}}
		}},
		{name: "a widened mode", command: "frob", verdict: Ask, by: ByPolicy, set: func(_ *fakePolicy, _ *fakeMemory, _ *fakeJournal, r *Request) {
			r.Call.Tool.Name, r.Call.Input = "ExitPlanMode", []byte(`{"plan":"x"}`)
		}},
		{name: "rules broke", command: "frob", verdict: Ask, by: ByFailure, set: func(p *fakePolicy, _ *fakeMemory, _ *fakeJournal, _ *Request) {
			p.err = errors.New("broken")
		}},
		{name: "rules panic", command: "frob", verdict: Ask, by: ByFailure, set: func(p *fakePolicy, _ *fakeMemory, _ *fakeJournal, _ *Request) {
			p.panics = true
		}},
		{name: "not logged", command: "frob", verdict: Ask, by: ByFailure, set: func(_ *fakePolicy, _ *fakeMemory, j *fakeJournal, _ *Request) {
			j.err = errors.New("full")
		}},
		{name: "in a folder that is not known", command: "frob orgsecret/a", verdict: Ask, by: ByDefault, set: func(_ *fakePolicy, _ *fakeMemory, _ *fakeJournal, r *Request) {
			r.Call.LiveShell, r.Call.Folders = true, []string{""}
		}},
		{name: "the same, unknown", command: "frob orgsecret/a", pause: Pause{Unknown: true}, verdict: Ask, by: ByDefault, set: func(_ *fakePolicy, _ *fakeMemory, _ *fakeJournal, r *Request) {
			r.Call.LiveShell, r.Call.Folders = true, []string{""}
		}},
		{name: "a program that is not known, with words", command: "frob build", verdict: Ask, by: ByDefault},
		{name: "the same, allowed by a rule", command: "frob build", set: fires(User, SetAllow), verdict: Allow, by: ByPolicy},
		{name: "the same, unknown", command: "frob build -x --y=z 'a message'", pause: Pause{Unknown: true}, verdict: Allow, by: ByPause},
		{name: "words that org asks about", command: "frob x terraform apply", pause: Pause{Unknown: true}, verdict: Ask, by: ByDefault, set: speaksOf(Org, SetAsk)},
		{name: "the last word", command: "frob -- terraform", pause: Pause{Unknown: true}, verdict: Ask, set: speaksOf(Org, SetAsk)},
		{name: "by the path of the program", command: "frob /usr/bin/terraform", pause: Pause{Unknown: true}, verdict: Ask, set: speaksOf(Org, SetAsk)},
		{name: "shell text in a word", command: "frob 'ls; terraform apply'", pause: Pause{Unknown: true}, verdict: Ask, set: speaksOf(Org, SetAsk)},
		{name: "shell text in a value", command: "frob --cmd='terraform apply'", pause: Pause{Unknown: true}, verdict: Ask, set: speaksOf(Org, SetAsk)},
		{name: "a program in a value", command: "frob --cmd=terraform apply", pause: Pause{Unknown: true}, verdict: Ask, set: speaksOf(Org, SetAsk)},
		{name: "in the words of another", command: "frob 'fred \"x terraform apply\"'", pause: Pause{Unknown: true}, verdict: Ask, set: speaksOf(Org, SetAsk)},
		{name: "as deep as is read", command: `frob "fred 'a b'"`, pause: Pause{Unknown: true}, verdict: Allow, by: ByPause},
		{name: "too deep", command: `frob "fred 'a \"b c\"'"`, pause: Pause{Unknown: true}, verdict: Ask},
		{name: "in a here-document", command: "frob <<'x'\nterraform apply\nx", pause: Pause{Unknown: true}, verdict: Ask, set: speaksOf(Org, SetAsk)},
		{name: "what another prints", command: "frob | fred", pause: Pause{Unknown: true}, verdict: Ask},
		{name: "a word that is not plain", command: "frob 'x $(a'", pause: Pause{Unknown: true}, verdict: Ask},
		{name: "too many words", command: "frob" + strings.Repeat(" a", 80), pause: Pause{Unknown: true}, verdict: Ask},
		{name: "words that the user asks about", command: "frob x terraform apply", pause: Pause{Unknown: true}, verdict: Allow, by: ByPause, set: speaksOf(User, SetAsk)},
		{name: "words that the user denies", command: "frob x terraform apply", pause: Pause{Unknown: true}, verdict: Deny, set: speaksOf(User, SetDeny)},
		{name: "words that the user denies, in a value", command: "frob --cmd=terraform apply", pause: Pause{Unknown: true}, verdict: Ask, set: speaksOf(User, SetDeny)},
		{name: "another program with a command", command: "frob terraform; fred", pause: Pause{Unknown: true}, verdict: Ask, set: speaksOf(Org, SetAsk)},
		{name: "permd itself in words", command: "frob permd pause 1h", pause: Pause{Unknown: true}, verdict: Deny},
		{name: "a guarded file in words", command: "frob cat /home/canary/.ssh/id_rsa", pause: Pause{Unknown: true}, verdict: Ask},
		{name: "another project", command: "frob", pause: Pause{Project: key}, verdict: Ask, by: ByDefault},
		{name: "tests", command: "go test ./...", pause: Pause{Only: []Activity{Tests}}, verdict: Allow, by: ByPause},
		{name: "a target that tests", command: "make test", pause: Pause{Only: []Activity{Tests}}, verdict: Allow, by: ByPause},
		{name: "one of two targets", command: "make test deploy", pause: Pause{Only: []Activity{Tests}}, verdict: Ask, by: ByDefault},
		{name: "more than tests", command: "go test ./... && git push", pause: Pause{Only: []Activity{Tests}}, verdict: Ask, by: ByDefault},
		{name: "what a test starts", command: "go test -exec ./x ./...", pause: Pause{Only: []Activity{Tests}}, verdict: Ask},
		{name: "tests of a makefile elsewhere", command: "make -f /srv/x.mk test", pause: Pause{Only: []Activity{Tests}}, verdict: Ask},
		{name: "tests in another folder", command: "cd / && make test", pause: Pause{Only: []Activity{Tests}}, verdict: Ask},
		{name: "a test elsewhere", command: "go test ../other", pause: Pause{Only: []Activity{Tests}}, verdict: Ask},
		{name: "options in a file", command: "pytest @x", pause: Pause{Only: []Activity{Tests}}, verdict: Ask},
		{name: "a goal that begins like a test", command: "make test-deploy", pause: Pause{Only: []Activity{Tests}}, verdict: Ask, by: ByDefault},
		{name: "a test of that name elsewhere", command: "./pytest", pause: Pause{Only: []Activity{Tests}}, verdict: Ask, by: ByDefault},
		{name: "an edit", pause: Pause{Only: []Activity{Edits}}, verdict: Allow, by: ByPause, set: writes("%/a.go")},
		{name: "an edit elsewhere", pause: Pause{Only: []Activity{Edits}}, verdict: Ask, by: ByDefault, set: writes("/srv/a.go")},
		{name: "an edit for tests", pause: Pause{Only: []Activity{Tests}}, verdict: Ask, by: ByDefault, set: writes("%/a.go")},
		{name: "a deletion for edits", command: "rm a.go", pause: Pause{Only: []Activity{Edits}}, verdict: Ask, by: ByDefault},
		{name: "locked, allowed", command: "ls", pause: Pause{Locked: true}, set: fires(User, SetAllow), verdict: Ask, by: ByLock},
		{name: "locked, remembered", command: "ls", pause: Pause{Locked: true}, verdict: Ask, by: ByLock, set: func(_ *fakePolicy, m *fakeMemory, _ *fakeJournal, _ *Request) {
			m.allow = &Choice{ID: "y", Exact: true}
		}},
		{name: "locked, asked", command: "frob", pause: Pause{Locked: true}, verdict: Ask, by: ByLock},
		{name: "locked, denied", command: "ls", pause: Pause{Locked: true}, set: fires(User, SetDeny), verdict: Deny, by: ByPolicy},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, m, j, e := newFakes(t)
			p.fired, p.unknownAsks = nil, true
			r := bash(t, tt.command)
			if tt.set != nil {
				tt.set(p, m, j, r)
			}
			e.pause = func(uint32) *Pause {
				tt.pause.Left = 125 * time.Second
				return &tt.pause
			}
			d := e.Decide(t.Context(), r)[0]
			if d.Verdict != tt.verdict || tt.by != "" && d.By != tt.by {
				t.Errorf("%s by %s: %s; want %s by %s\n%+v", d.Verdict, d.By, d.Reason, tt.verdict, tt.by, d.Effects)
			}
			if d.By == ByPause && !strings.HasPrefix(d.Reason, "permd is paused, 3 min left; otherwise it asks: ") {
				t.Errorf("the reason is %q", d.Reason)
			}
			if d.By == ByLock && (d.Needed != NeededByRule || !strings.HasPrefix(d.Reason, "permd is locked")) {
				t.Errorf("needed %s: %q", d.Needed, d.Reason)
			}
			if rec := j.recs[0].Decision; j.err == nil && (rec.By != d.By || rec.Verdict != d.Verdict) {
				t.Errorf("the journal has %s by %s", rec.Verdict, rec.By)
			}
		})
	}
}

func fires(l Layer, set Set) func(*fakePolicy, *fakeMemory, *fakeJournal, *Request) {
	return func(p *fakePolicy, _ *fakeMemory, _ *fakeJournal, _ *Request) { p.fired = []Finding{finding(l, set)} }
}

// speaksOf makes a rule fire for runs of terraform alone.
func speaksOf(l Layer, set Set) func(*fakePolicy, *fakeMemory, *fakeJournal, *Request) {
	return func(p *fakePolicy, _ *fakeMemory, _ *fakeJournal, _ *Request) {
		p.fired, p.only = []Finding{finding(l, set)}, func(e *effects.Effect) bool { return e.Run != nil && e.Run.Program == "terraform" }
	}
}

// writes makes a request write a file; % is the project.
func writes(path string) func(*fakePolicy, *fakeMemory, *fakeJournal, *Request) {
	return func(_ *fakePolicy, _ *fakeMemory, _ *fakeJournal, r *Request) {
		r.Call.Tool.Name = "Write"
		r.Call.Input = []byte(`{"file_path":` + quote(strings.ReplaceAll(path, "%", r.Call.Cwd)) + `,"content":"x"}`)
	}
}

// TestPauseOfProject: the project of a pause is that of the call.
func TestPauseOfProject(t *testing.T) {
	p, _, _, e := newFakes(t)
	p.fired = nil
	here, there := repository(t), repository(t)
	e.pause = func(uint32) *Pause { return &Pause{Project: here, Left: time.Hour} }
	for dir, want := range map[string]Verdict{here: Allow, there: Ask, t.TempDir(): Ask} {
		if d := e.Decide(t.Context(), bashIn(dir, "frob"))[0]; d.Verdict != want {
			t.Errorf("in %s: %s, want %s", dir, d.Verdict, want)
		}
	}
}

// TestPauseEnds: what was decided under a pause is not decided so after it, also where the
// evaluation of the call is kept, and an answer that has to hold still does not.
func TestPauseEnds(t *testing.T) {
	p, _, _, e := newCached(t)
	p.fired = nil
	now := time.Unix(1_700_000_000, 0)
	ends := now.Add(20 * time.Minute)
	e.now = func() time.Time { return now }
	e.pause = func(uint32) *Pause {
		if left := ends.Sub(now); left > 0 {
			return &Pause{Left: left}
		}
		return nil
	}
	r := bash(t, "frob")
	first, _ := p.again(t, e, r)
	now = now.Add(19 * time.Minute)
	second, evaluated := p.again(t, e, r)
	if first.Verdict != Allow || second.Verdict != Allow || evaluated {
		t.Fatalf("paused: %s, %s, evaluated again %v", first.Verdict, second.Verdict, evaluated)
	}
	if !strings.Contains(first.Reason, "20 min left") || !strings.Contains(second.Reason, "1 min left") {
		t.Errorf("the reasons are %q and %q", first.Reason, second.Reason)
	}
	if !e.StillHolds(t.Context(), r, first) {
		t.Error("an answer does not hold because less of the pause is left")
	}
	now = ends
	third, evaluated := p.again(t, e, r)
	if third.Verdict != Ask || third.By != ByDefault || evaluated {
		t.Errorf("after it: %s by %s, evaluated again %v", third.Verdict, third.By, evaluated)
	}
	if e.StillHolds(t.Context(), r, first) {
		t.Error("an answer of the pause holds after it")
	}
	if slices.ContainsFunc(third.Effects, func(x EffectDecision) bool { return x.Verdict == Allow }) {
		t.Errorf("effects after it: %+v", third.Effects)
	}
}

// TestLockedGate: where permd is locked, a client asks before it does something for its
// agent, unless the person has said yes to the agent's own request.
func TestLockedGate(t *testing.T) {
	yes := func(*Decision) bool { return true }
	for _, tt := range []struct {
		name    string
		gate    Gate
		set     Set
		outcome Outcome
	}{
		{"by default", Gate{}, "", ""},
		{"allowed", Gate{}, SetAllow, ""},
		{"approved", Gate{Approved: yes}, "", Approved},
		{"the person's own", Gate{Own: true}, "", Passed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _, _, e := newFakes(t)
			p.fired = nil
			if tt.set != "" {
				p.fired = []Finding{finding(User, tt.set)}
			}
			e.pause = func(uint32) *Pause { return &Pause{Locked: true} }
			r := bash(t, "frobnicate x")
			r.Gate = &tt.gate
			if d := e.Decide(t.Context(), r)[0]; d.Verdict != Ask || d.Outcome != tt.outcome {
				t.Errorf("%s, %q, want %q", d.Verdict, d.Outcome, tt.outcome)
			}
		})
	}
}
