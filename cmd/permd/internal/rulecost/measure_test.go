package rulecost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/cmd/permd/internal/replay"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/socket/admin"
)

// past makes a source of calls of commands, the oldest first, under one more file of rules.
func past(t *testing.T, rules string, commands ...string) (s *source, recs []*decisions.Record, calls map[string]*arguments.Call) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	under := func(parts ...string) string { return filepath.Join(append([]string{home}, parts...)...) }
	dirs := xdg.Dirs{Org: under("etc"), Config: under(".config", "permd"), Data: under(".local", "share", "permd")}
	for _, folder := range []string{under("project", ".git"), under(".config", "permd", "policy.d")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	text := "package permd.user\nimport rego.v2\nd := [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n" + rules
	if err := os.WriteFile(under(".config", "permd", "policy.d", "a.rego"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, e, err := replay.Open(t.Context(), dirs, dirs, "", true)
	if err != nil {
		t.Fatal(err)
	}
	calls = map[string]*arguments.Call{}
	uid := uint32(os.Geteuid())
	quick, err := e.Decisions.With(func(c *decisions.Config) { c.Policy = withoutRules{r} })
	if err != nil {
		t.Fatal(err)
	}
	for i, command := range commands {
		c := effects.Call{
			ID: "1", Protocol: "permd", Tool: effects.Tool{Name: "Bash"}, Agent: effects.Party{Name: "claude-agent-acp"}, Cwd: under("project"),
			Input: jsontext.Value(fmt.Sprintf(`{"command": %q}`, command)),
		}
		req := &decisions.Request{Call: c, Peer: decisions.Peer{UID: uid}, Session: decisions.SessionRef{ID: "s"}, Recent: 1}
		req.Call.User = e.Users.Lookup(uid)
		d := quick.Decide(t.Context(), req)[0]
		d.By = decisions.ByPolicy
		recs = append(recs, &decisions.Record{Seq: int64(i + 1), Time: time.Unix(int64(1_700_000_000+i), 0), Protocol: "permd", Peer: req.Peer, Session: req.Session, Project: under("project"), Decision: *d})
		calls[d.ID] = &arguments.Call{Call: c}
	}
	s = &source{
		engine: e, rules: r, policy: r, prepare: r.Prepare, maxCalls: 1000, maxWork: time.Hour,
		calls: func(map[string]bool) (callOf, error) {
			return func(id string) (*arguments.Call, int) { return calls[id], 1 }, nil
		},
		page: func(_ context.Context, f decisions.RecordFilter) (out admin.Records, err error) {
			for _, rec := range recs {
				if f.Before == 0 || rec.Seq < f.Before {
					out.Records = append(out.Records, rec)
				}
			}
			if n := len(out.Records); n > f.Limit {
				out.Records = out.Records[n-f.Limit:]
				out.Next = out.Records[0].Seq
			}
			return out, nil
		},
	}
	return s, recs, calls
}

// withoutRules has the effects of calls found at once, whatever rules take.
type withoutRules struct{ decisions.Policy }

func (p withoutRules) Snapshot(uid uint32, _ string) (decisions.Snapshot, error) {
	s, err := p.Policy.Snapshot(uid, "")
	return silent{s}, err
}

type silent struct{ decisions.Snapshot }

func (silent) Evaluate(context.Context, *decisions.Input) (decisions.Findings, error) {
	return decisions.Findings{}, nil
}

// TestMeasureCounts: calls whose effects are others now, that are not kept or that nobody can read
// are counted with the reason, records of what a person did are none, and the newest ones come
// first.
func TestMeasureCounts(t *testing.T) {
	s, recs, calls := past(t, "deny contains \"frob\" if input.effect.program == \"frob\"\n", "frob 1", "ls", "frob 2", "frob 3", "ls -l", "frob 4", "frob 5")
	delete(calls, recs[1].Decision.ID)
	recs[2].Decision.Effects[0].Text = "run something else"
	recs[3].Unreadable = "not JSON"
	recs[5].Protocol = "admin"
	for _, tt := range []struct {
		most, calls, frobs, unknown int
		ended                       bool
	}{{1000, 3, 2, 3, false}, {2, 2, 1, 0, true}, {5, 2, 1, 3, true}} {
		s.maxCalls = tt.most
		seen := 0
		s.progress = func(done, all int) {
			if seen++; done != seen || all != tt.calls+tt.unknown {
				t.Errorf("%d of %d at %d", done, all, seen)
			}
		}
		r, err := s.measure(t.Context(), decisions.RecordFilter{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.Rules, func(r *Rule) bool { return r.Name() == "frob" })
		unknown := 0
		for _, u := range r.Undecided {
			unknown += u.Count
		}
		if r.Calls != tt.calls || i < 0 || r.Rules[i].Matched != tt.frobs || r.Rules[i].Evaluations != tt.frobs || unknown != tt.unknown || (r.Ended != "") != tt.ended || !r.Newest.Equal(recs[6].Time) {
			t.Errorf("of %d: %+v, %+v", tt.most, r, r.Rules[max(i, 0)])
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.progress = func(int, int) { cancel() }
	if _, err := s.measure(ctx, decisions.RecordFilter{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context has ended: %v", err)
	}
}

// TestMeasureEnds: rules that would take all of the time are named although no call was looked at
// as a whole, and others are measured in what is left.
func TestMeasureEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it evaluates rules that do not end; TestMeasureCounts is the quick one")
	}
	rules := ""
	for n := range 4 {
		rules += fmt.Sprintf("deny contains \"long %d\" if {\n\tinput.effect.kind == \"run\"\n\tcount([1 | some a in d; some b in d; some c in d; some e in d; some f in d; some g in d; some h in d; a + b + c + e + f + g + h == %d]) == 0\n}\n", n, 100+n)
	}
	s, _, _ := past(t, rules, "ls", "ls -l", "ls -a", "ls -b", "ls -c")
	s.maxWork = 600 * time.Millisecond
	r, err := s.measure(t.Context(), decisions.RecordFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Calls != 1 || !strings.Contains(r.Ended, "1 of 5 calls") || !strings.HasPrefix(r.Rules[0].Name(), "long ") || r.Rules[0].Cut > 2 || r.Rules[0].Share < 0.2 {
		t.Errorf("%+v, first %+v", r, r.Rules[0])
	}
	s.maxWork = time.Hour
	if r, err = s.measure(t.Context(), decisions.RecordFilter{}); err != nil {
		t.Fatal(err)
	}
	long := 0
	for _, one := range r.Rules {
		if one.Cut > maxCrowded {
			t.Errorf("cut %d times: %+v", one.Cut, one)
		}
		if one.Cut > 0 {
			long++
		}
	}
	if r.Calls != 5 || r.Ended != "" || long != 4 {
		t.Errorf("%d rules are long of %+v", long, r)
	}
}

// TestMeasureEndsLast: the report says that the time has ended also if it does in the oldest call.
func TestMeasureEndsLast(t *testing.T) {
	const rules = "deny contains \"long\" if {\n\tinput.effect.program == \"frob\"\n\tcount([1 | some a in d; some b in d; some c in d; some e in d; some f in d; some g in d; some h in d; a + b + c + e + f + g + h == 100]) == 0\n}\n"
	for _, tt := range []struct {
		commands []string
		want     string
	}{{[]string{"frob", "ls"}, "1 of 2 calls"}, {[]string{"frob"}, "1 of 1 calls"}} {
		s, _, _ := past(t, rules, tt.commands...)
		s.maxWork = 200 * time.Millisecond
		r, err := s.measure(t.Context(), decisions.RecordFilter{})
		if err != nil || r.Calls != 1 || !strings.Contains(r.Ended, tt.want) {
			t.Errorf("%v: %+v, %v", tt.commands, r, err)
		}
	}
}

// TestCrowdedOut: a rule is not given up because requests have taken memory now and then while it
// was timed; one that takes too much each time is.
func TestCrowdedOut(t *testing.T) {
	t.Parallel()
	ref := decisions.RuleRef{ID: "a"}
	whole, memory, long := rules.Timing{Rule: ref}, rules.Timing{Rule: ref, Err: errTime, Memory: true}, rules.Timing{Rule: ref, Err: errTime}
	for _, tt := range []struct {
		name string
		of   []rules.Timing
		cut  int
		off  bool
	}{
		{"now and then", slices.Repeat([]rules.Timing{memory, memory, memory, memory, memory, whole}, 50), 0, false},
		{"a while", slices.Concat([]rules.Timing{whole}, slices.Repeat([]rules.Timing{memory}, maxCrowded-1)), 0, false},
		{"each time", slices.Repeat([]rules.Timing{memory}, 2), 2, false},
		{"always", slices.Repeat([]rules.Timing{memory}, maxCrowded), maxCrowded, true},
		{"too long", []rules.Timing{long, whole, long, memory, long}, maxCut, true},
	} {
		m := newMeter(nil)
		for i := range tt.of {
			m.note(&tt.of[i])
		}
		got := m.rules[ref]
		if cut, why := got.cutShort(); cut != tt.cut || got.off != tt.off || (why != "") != (cut > 0) {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

// TestFewReasons: however many reasons there are, all calls are counted and few reasons kept.
func TestFewReasons(t *testing.T) {
	var r Report
	all := 0
	for n := range 100 {
		r.miss(fmt.Sprintf("reason\x1b[2J %d", n%40))
	}
	for _, u := range r.Undecided {
		all += u.Count
	}
	if len(r.Undecided) != maxReasons || all != 100 {
		t.Errorf("%d reasons of %d", len(r.Undecided), all)
	}
	if text := strings.Join(r.Lines(), "\n"); strings.Contains(text, "\x1b") || !strings.Contains(text, "other reasons") {
		t.Errorf("%q", text)
	}
}

// TestQuantile compares with the definition: the least time that so many percent do not exceed.
func TestQuantile(t *testing.T) {
	var times []time.Duration
	for n := 1; n <= 250; n++ {
		times = append(times, time.Duration(n*n))
		for _, percent := range []int{50, 99} {
			got := time.Duration(quantile(times, percent))
			within := func(limit time.Duration) (k int) {
				for _, d := range times {
					if d <= limit {
						k++
					}
				}
				return 100 * k
			}
			if within(got) < percent*n || within(got-1) >= percent*n {
				t.Errorf("of %d times, %d percent: %v", n, percent, got)
			}
		}
	}
	if quantile(nil, 50) != 0 {
		t.Error("of none")
	}
}
