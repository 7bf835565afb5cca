package aap

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/sockettest"
)

// fakeDecider answers by the tool's name; what it does not know is ask. Like the
// engine, it allows nothing that needs a person.
type fakeDecider struct {
	sockettest.Unchanged

	verdicts map[string]decisions.Verdict
	message  string               // of denies
	reason   string               // if it is not the usual one
	by       decisions.DecidedBy  // of asks, if not the default
	got      []*decisions.Request // all of them
	batches  int
	short    bool // it returns no valid decision
	digest   string
	effects  []decisions.EffectDecision // of every decision
}

func (f *fakeDecider) Decide(_ context.Context, reqs ...*decisions.Request) []*decisions.Decision {
	f.batches++
	var list []*decisions.Decision
	for _, r := range reqs {
		if r.Decided != nil {
			list = append(list, r.Decided)
			continue
		}
		f.got = append(f.got, r)
		v := f.verdicts[r.Call.Tool.Name]
		if r.Forbidden != "" {
			v = decisions.Deny
		}
		if v == "" || v == decisions.Allow && (r.HarnessAsks != "" || r.Call.Incomplete != "" || r.Call.Defects != nil) {
			v = decisions.Ask
		}
		d := &decisions.Decision{
			ID: fmt.Sprintf("d%d", len(f.got)), CallID: r.Call.ID, Verdict: v, Reason: "internal: /etc/permd/rules.rego:7" + f.reason,
			By: decisions.ByPolicy, Policy: decisions.PolicyRef{Digest: f.digest}, Effects: append([]decisions.EffectDecision{}, f.effects...),
		}
		switch v {
		case decisions.Deny:
			d.Message = f.message
		case decisions.Ask:
			if f.by != "" {
				d.By = f.by
			}
			d.Offer = &decisions.Offer{Sets: []decisions.OfferSet{{Width: decisions.Width{ID: "w1"}, Items: []decisions.OfferItem{{Query: &decisions.MemoryQuery{
				Effect: &effects.Effect{Text: r.Call.Tool.Name},
			}}}}}}
			d.Widths = []decisions.Width{{ID: "w1"}}
		}
		list = append(list, d)
	}
	if f.short {
		return list[1:]
	}
	return list
}

// Keep makes the fake a memory: what it stores is allowed afterwards.
func (f *fakeDecider) Keep(_ context.Context, a decisions.Answer) ([]decisions.StoredChoice, error) {
	if a.Width != "w1" {
		return nil, fmt.Errorf("keeping: %w", decisions.ErrNotKept)
	}
	f.verdicts[a.Offer.Sets[0].Items[0].Query.Effect.Text] = decisions.Allow
	return []decisions.StoredChoice{{ID: "c1", Verdict: a.Verdict, Label: "use it", Scope: "project"}}, nil
}

func (*fakeDecider) Drop(context.Context, ...string) error { return nil }
func (*fakeDecider) EndSession(decisions.Owner, string)    {}
func (*fakeDecider) EndConnection(decisions.Owner)         {}

// daemon is the methods with a fake decider, on one connection at a time.
type daemon struct {
	*fakeDecider
	sockettest.Client
	answered []string
}

// newDaemon declares session s on the first connection.
func newDaemon(t testing.TB) *daemon {
	t.Helper()
	d := &daemon{fakeDecider: &fakeDecider{verdicts: map[string]decisions.Verdict{}}, Client: sockettest.Client{Methods: socket.Methods{}}}
	n := 0
	deps := native.Deps{
		Sessions: new(decisions.Sessions), Decider: d, Keeper: d,
		Users: func(uid uint32) effects.User { return effects.User{UID: uid, Home: "/home/ana"} },
		RecordAnswer: func(_ context.Context, id string, v decisions.Verdict, by author.Identity, kept []decisions.StoredChoice) error {
			if by != (author.Identity{Via: author.Client, UID: 1000, PID: 7}) {
				t.Errorf("the answer to %s is of %+v", id, by)
			}
			d.answered = append(d.answered, fmt.Sprint(id, " ", v, " ", len(kept)))
			return nil
		},
		NewID: func() string { n++; return fmt.Sprintf("b%d", n) },
	}
	native.Register(d.Methods, deps)
	Register(d.Methods, deps)
	d.connect(t, 1)
	return d
}

func (d *daemon) connect(t testing.TB, id uint64) {
	t.Helper()
	d.Connect(id)
	d.Must(t, native.MethodSession, `{"sessionId":"s","cwd":"/home/ana/shop","client":{"name":"playground"}}`)
}

func (d *daemon) must(t testing.TB, method, params string) *Result {
	t.Helper()
	var r Result
	if err := strictjson.Unmarshal(strictjson.Value(d.Must(t, method, params)), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// outcomes returns the outcomes of a result, with the reasons.
func outcomes(r *Result) (list []string) {
	for _, c := range r.Calls {
		s := fmt.Sprintf("%s %s %s", c.ToolCallID, c.Side, c.Outcome)
		if c.Reason != "" {
			s += ": " + c.Reason
		}
		list = append(list, s)
	}
	return list
}

// posts are the messages of a result, one a line.
func posts(t testing.TB, r *Result) (list []string) {
	t.Helper()
	for _, m := range r.Messages {
		b, err := json.Marshal(m, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(b))
	}
	return list
}

func quote(t testing.TB, s string) string {
	t.Helper()
	v, err := encodeText(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(v)
}

// sampleParams are the params of aap/permissions that the samples make.
func sampleParams(t testing.TB, turn string) string {
	t.Helper()
	var session struct {
		Agent strictjson.Value `json:"agent"`
		Tools strictjson.Value `json:"tools"`
	}
	if err := strictjson.Unmarshal([]byte(sockettest.Sample(t, "02-post-sessions.request.json")), &session); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"sessionId":"s","agent":%s,"tools":%s,"meta":%s,%s}`, session.Agent, session.Tools, sockettest.Sample(t, "01-get-meta.response.json"), turn)
}

// sampleTurns are the three forms of the samples' turn, and its history.
func sampleTurns(t testing.TB) map[string]string {
	t.Helper()
	none := sockettest.Sample(t, "06-turn.stream-none.response.json")
	return map[string]string{
		"sse":     `"turn":{"sse":` + quote(t, sockettest.Sample(t, "05-turn.tool_use.sse")) + `}`,
		"events":  `"turn":{"events":` + sampleEvents(t) + `}`,
		"none":    `"turn":` + none,
		"history": `"history":` + sockettest.Sample(t, "07-get-history.full.response.json"),
	}
}

// sampleEvents is the samples' stream as a list of events.
func sampleEvents(t testing.TB) string {
	t.Helper()
	list, err := parseSSE(sockettest.Sample(t, "05-turn.tool_use.sse"))
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, ev := range list {
		members := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(ev.data), "{"), "}"))
		if members != "" {
			members = "," + members
		}
		events = append(events, `{"event":"`+ev.name+`"`+members+`}`)
	}
	return "[" + strings.Join(events, ",") + "]"
}
