package native

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
)

// finishedDaemon asks about every call but those that a test allows.
type finishedDaemon struct {
	*persistentDaemon
	recorded []string
	n        int
	verdict  decisions.Verdict
}

func newFinishedDaemon(t *testing.T) *finishedDaemon {
	d := &finishedDaemon{persistentDaemon: newPersistentDaemon(), verdict: decisions.Ask}
	Register(d.methods, Deps{
		Sessions: d.sessions, Decider: d, Persistent: d.lasting,
		Users:     func(uid uint32) effects.User { return effects.User{UID: uid} },
		RecordRun: func(_ context.Context, id string) { d.recorded = append(d.recorded, id) },
	})
	d.declare(t, conn(1), "s", "")
	return d
}

func (d *finishedDaemon) Decide(_ context.Context, reqs ...*decisions.Request) (list []*decisions.Decision) {
	for range reqs {
		d.n++
		list = append(list, &decisions.Decision{ID: fmt.Sprint("d", d.n), Verdict: d.verdict})
	}
	return list
}

func (d *finishedDaemon) asks(t *testing.T, id, tool, input string) {
	t.Helper()
	c := conn(uint64(100 + d.n))
	d.declare(t, c, "s", "")
	server := ""
	if s, name, ok := strings.Cut(tool, ":"); ok {
		server, tool = fmt.Sprintf(`"server":%q,`, s), name
	}
	d.must(t, c, MethodDecide, fmt.Sprintf(`{"sessionId":"s","calls":[{"callId":%q,"tool":{%s"name":%q},"input":%s}]}`, id, server, tool, input))
}

func (d *finishedDaemon) report(t *testing.T, more string) []string {
	t.Helper()
	var got finishedResult
	if err := json.Unmarshal([]byte(d.must(t, conn(2000), methodFinished, `{"sessionId":"s","harness":"claude",`+more+`}`)), &got); err != nil {
		t.Fatal(err)
	}
	return got.DecisionIDs
}

func (d *finishedDaemon) waiting() string {
	var ids []string
	for _, q := range d.lasting.Questions(nil) {
		ids = append(ids, q.Decision.ID)
	}
	return strings.Join(ids, " ")
}

// TestFinished: which question a call that has run was about, and which ones wait on.
func TestFinished(t *testing.T) {
	const a, b = `{"command":"a"}`, `{"command":"b"}`
	type step struct {
		ask     [3]string // id, tool, input
		allowed bool
		report  string
		want    string // the decisions that the report is about
	}
	for name, tt := range map[string]struct {
		steps []step
		waits string
	}{
		"by the id": {
			[]step{{ask: [3]string{"t1", "Bash", a}}, {ask: [3]string{"t2", "Bash", b}}, {report: `"call":{"callId":"t1","tool":"Bash","input":{"command":"changed"}}`, want: "d1"}}, "d2",
		},
		"an id that was not asked about": {
			[]step{{ask: [3]string{"t1", "Bash", a}}, {report: `"call":{"callId":"t9","tool":"Bash","input":` + b + `}`}}, "d1",
		},
		"the same call again with another id is another call": {
			[]step{{ask: [3]string{"t1", "Bash", a}}, {report: `"call":{"callId":"t9","tool":"Bash","input":` + a + `}`}}, "d1",
		},
		"an id of another tool": {
			[]step{{ask: [3]string{"t1", "Bash", a}}, {report: `"call":{"callId":"t1","tool":"Write","input":` + a + `}`}}, "d1",
		},
		"by the input, in another order and spelt otherwise": {
			[]step{
				{ask: [3]string{"1", "Bash", `{"command":"a","more":{"x":1,"y":[2]}}`}},
				{report: `"call":{"tool":"Bash","input":{"more": {"y":[2], "x":1},"command":"\u0061"}}`, want: "d1"},
			}, "",
		},
		"a description is a part of the input": {
			[]step{
				{ask: [3]string{"1", "Bash", `{"command":"a","description":"x"}`}},
				{ask: [3]string{"1", "Bash", `{"command":"a","description":"y"}`}},
				{report: `"call":{"tool":"Bash","input":{"command":"a","description":"y"}}`, want: "d2"},
				{report: `"call":{"tool":"Bash","input":{"command":"a","description":"z"}}`},
			}, "d1",
		},
		"an input that is no object": {
			[]step{
				{ask: [3]string{"1", "Bash", `"x"`}},
				{report: `"call":{"tool":"Bash","input":{"":"x"}}`},
				{report: `"call":{"tool":"Bash"}`},
				{report: `"call":{"tool":"Bash","input":["x"]}`},
				{ask: [3]string{"1", "Bash", `{"":"x"}`}},
				{report: `"call":{"tool":"Bash","input":"x"}`, want: "d1"},
			}, "d2",
		},
		"another tool": {
			[]step{{ask: [3]string{"1", "Bash", a}}, {report: `"call":{"tool":"Write","input":` + a + `}`}}, "d1",
		},
		"the same tool of two servers": {
			[]step{
				{ask: [3]string{"1", "x:close", a}}, {ask: [3]string{"1", "y:close", a}}, {ask: [3]string{"1", "close", a}},
				{report: `"call":{"tool":"close","server":"y","input":` + a + `}`, want: "d2"},
				{report: `"call":{"tool":"close","server":"z","input":` + a + `}`},
				{report: `"call":{"tool":"close","input":` + a + `}`, want: "d3"},
			}, "d1",
		},
		"a server that the harness does not name": {
			[]step{
				{ask: [3]string{"1", "x:close", a}}, {ask: [3]string{"1", "y:close", a}}, {ask: [3]string{"1", "x:close", b}},
				{report: `"call":{"tool":"close","input":` + a + `}`},
				{report: `"call":{"tool":"close","input":` + b + `}`, want: "d3"},
			}, "d1 d2",
		},
		"asked at two events": {
			[]step{
				{ask: [3]string{"t1", "Bash", a}},
				{ask: [3]string{"1", "Bash", `{"command":"a","description":"x"}`}},
				{report: `"call":{"callId":"t1","tool":"Bash","input":` + a + `}`, want: "d1 d2"},
			}, "",
		},
		"asked at two events, two times at once": {
			[]step{
				{ask: [3]string{"t1", "Bash", a}}, {ask: [3]string{"t2", "Bash", a}}, {ask: [3]string{"1", "Bash", a}}, {ask: [3]string{"1", "Bash", a}},
				{report: `"call":{"callId":"t2","tool":"Bash","input":` + a + `}`, want: "d2 d4"},
			}, "d1 d3",
		},
		"asked at the second event alone": {
			[]step{
				{ask: [3]string{"1", "Bash", `{"command":"a","description":"x"}`}}, {ask: [3]string{"1", "Bash", `{"command":"a","description":"x"}`}},
				{report: `"call":{"callId":"t1","tool":"Bash","input":` + a + `}`, want: "d1"},
			}, "d2",
		},
		"without an id the oldest of equal ones ends, and one alone": {
			[]step{
				{ask: [3]string{"1", "Bash", a}}, {ask: [3]string{"1", "Bash", b}}, {ask: [3]string{"1", "Bash", a}},
				{report: `"call":{"tool":"Bash","input":` + a + `}`, want: "d1"},
				{report: `"call":{"tool":"Bash","input":` + a + `}`, want: "d3"},
				{report: `"call":{"tool":"Bash","input":` + a + `}`},
			}, "d2",
		},
		"refused, then allowed: no question has run": {
			[]step{{ask: [3]string{"1", "Bash", a}}, {ask: [3]string{"1", "Bash", a}, allowed: true}, {report: `"call":{"tool":"Bash","input":` + a + `}`}}, "d1",
		},
		"allowed with an id, beside a question without one": {
			[]step{
				{ask: [3]string{"1", "Bash", a}}, {ask: [3]string{"t2", "Bash", a}, allowed: true},
				{report: `"call":{"callId":"t2","tool":"Bash","input":` + a + `}`},
			}, "d1",
		},
		"asked, then allowed with the same id": {
			[]step{
				{ask: [3]string{"t1", "Bash", a}}, {ask: [3]string{"t1", "Bash", a}, allowed: true},
				{report: `"call":{"callId":"t1","tool":"Bash","input":` + a + `}`},
			}, "d1",
		},
		"refused at the second event, then run by rules of the harness": {
			[]step{
				{ask: [3]string{"t1", "Bash", a}},
				{ask: [3]string{"1", "Bash", a}},
				{ask: [3]string{"t2", "Bash", a}},
				{report: `"call":{"callId":"t2","tool":"Bash","input":` + a + `}`, want: "d3"},
			}, "d1 d2",
		},
		"reported at two events, of which one has the id": {
			[]step{
				{ask: [3]string{"t1", "Bash", a}}, {ask: [3]string{"1", "Bash", a}}, {ask: [3]string{"1", "Bash", a}},
				{report: `"call":{"tool":"Bash","input":` + a + `}`, want: "d1 d2"},
				{report: `"call":{"callId":"t1","tool":"Bash","input":` + a + `}`},
			}, "d3",
		},
		"reported two times": {
			[]step{
				{ask: [3]string{"t1", "Bash", a}},
				{report: `"call":{"callId":"t1","tool":"Bash","input":` + a + `}`, want: "d1"},
				{report: `"call":{"callId":"t1","tool":"Bash","input":` + a + `}`},
			}, "",
		},
		"the turn has ended": {
			[]step{{ask: [3]string{"t1", "Bash", a}}, {ask: [3]string{"t2", "Bash", b}}, {report: `"turnEnded":true`}}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFinishedDaemon(t)
			var all []string
			for _, s := range tt.steps {
				if s.report == "" {
					if d.verdict = decisions.Ask; s.allowed {
						d.verdict = decisions.Allow
					}
					d.asks(t, s.ask[0], s.ask[1], s.ask[2])
					continue
				}
				got := d.report(t, s.report)
				if diff := cmp.Diff(strings.Fields(s.want), append([]string{}, got...)); diff != "" {
					t.Errorf("%s (-want +got)\n%s", s.report, diff)
				}
				all = append(all, got...)
			}
			if diff := cmp.Diff(all, d.recorded); diff != "" && len(all)+len(d.recorded) > 0 {
				t.Errorf("recorded (-want +got)\n%s", diff)
			}
			if got := d.waiting(); got != tt.waits {
				t.Errorf("%q wait, want %q", got, tt.waits)
			}
		})
	}
}

// TestFinishedIsNoYes: a call that has run is asked about again, and only what the person
// said counts.
func TestFinishedIsNoYes(t *testing.T) {
	d := newFinishedDaemon(t)
	d.asks(t, "t1", "Bash", `{"command":"a"}`)
	d.report(t, `"call":{"callId":"t1","tool":"Bash","input":{"command":"a"}}`)
	if len(d.lasting.grants) != 0 {
		t.Error("it is taken for an approval")
	}
	if _, err := d.lasting.AllowOnce(nil, "d1", logged); err == nil {
		t.Error("a question that is over takes an answer")
	}
	d.asks(t, "t2", "Bash", `{"command":"a"}`)
	if got := d.waiting(); got != "d2" {
		t.Errorf("%q wait, want the second question", got)
	}
}

// TestFinishedOfOthers: a report is about the session of the same person and harness, and
// makes none.
func TestFinishedOfOthers(t *testing.T) {
	d := newFinishedDaemon(t)
	d.asks(t, "t1", "Bash", `{"command":"a"}`)
	before := len(d.lasting.trees)
	const call = `"call":{"callId":"t1","tool":"Bash","input":{"command":"a"}},"turnEnded":true}`
	for _, params := range []string{
		`{"sessionId":"s","harness":"codex",` + call, `{"sessionId":"other","harness":"claude",` + call, `{"sessionId":"s/x","parent":"s","harness":"claude",` + call,
	} {
		d.must(t, conn(1), methodFinished, params)
	}
	other := conn(3)
	other.Peer.UID++
	d.must(t, other, methodFinished, `{"sessionId":"s","harness":"claude",`+call)
	if d.waiting() != "d1" || len(d.recorded) != 0 || len(d.lasting.trees) != before {
		t.Errorf("%q wait, %q recorded, %d sessions", d.waiting(), d.recorded, len(d.lasting.trees))
	}
	for params, why := range map[string]string{
		`{"sessionId":"s","harness":"claude"}`:           "call or turnEnded",
		`{"harness":"claude","turnEnded":true}`:          "sessionId is missing",
		`{"sessionId":"s","turnEnded":true}`:             "harness is missing",
		`{"sessionId":"s","harness":"claude","call":{}}`: "call.tool is missing",
	} {
		d.refused(t, conn(1), methodFinished, params, socket.CodeParams, why)
	}
}

// TestFinishedBound: the questions of a session that are told from each other are bounded.
func TestFinishedBound(t *testing.T) {
	d := newFinishedDaemon(t)
	for n := range maxAsked + 10 {
		d.asks(t, fmt.Sprint("t", n+10), "Bash", fmt.Sprintf(`{"command":"%d"}`, n))
	}
	for _, f := range d.lasting.trees {
		if len(f.asked.list) > maxAsked {
			t.Errorf("%d are kept", len(f.asked.list))
		}
	}
	if got := d.report(t, fmt.Sprintf(`"call":{"callId":"t%d","tool":"Bash","input":{}}`, maxAsked+19)); len(got) != 1 {
		t.Errorf("the newest: %q", got)
	}
}
