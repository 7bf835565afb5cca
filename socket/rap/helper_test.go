package rap

import (
	gocmp "cmp"
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

// fakeDecider answers by the operation; what it does not know is ask. Like the
// engine, it allows nothing that needs a person, and then offers no width.
type fakeDecider struct {
	sockettest.Unchanged

	verdicts map[string]decisions.Verdict
	message  string // of denies
	by       decisions.DecidedBy
	digest   string
	got      []*decisions.Request
	short    bool // it breaks its promise
	during   func()
	kept     []decisions.Answer
	dropped  []string
	ended    []string
	whenKept func()
	label    string // of what is kept

	rejectable bool   // a no can be remembered
	project    string // of all calls
}

func (f *fakeDecider) Decide(ctx context.Context, reqs ...*decisions.Request) []*decisions.Decision {
	if f.during != nil {
		f.during()
	}
	var list []*decisions.Decision
	for _, r := range reqs {
		f.got = append(f.got, r)
		v := f.verdicts[r.Call.Tool.Name]
		person := r.HarnessAsks != "" || r.Call.Incomplete != "" || r.Call.Defects != nil
		if v == "" || v == decisions.Allow && (person || ctx.Err() != nil) {
			v = decisions.Ask
		}
		d := &decisions.Decision{
			ID: fmt.Sprintf("d%d", len(f.got)), CallID: r.Call.ID, Verdict: v, Reason: "internal: /etc/permd/rules.rego:7",
			By: f.by, Policy: decisions.PolicyRef{Digest: f.digest}, Defects: r.Call.Defects,
			Effects: []decisions.EffectDecision{{Kind: effects.KindUse, Text: "use it", Verdict: v}},
		}
		switch {
		case v == decisions.Deny:
			d.Message = f.message
		case v == decisions.Ask && !person:
			q := &decisions.MemoryQuery{Effect: &effects.Effect{Text: r.Call.Tool.Name}, Session: r.Session, Project: f.project}
			d.Offer = &decisions.Offer{Size: 100}
			for _, rule := range []string{"use it (with these arguments)", "use it"} {
				w := decisions.Width{ID: fmt.Sprint("w", len(d.Widths)+1), Rule: rule, Scope: "session"}
				d.Widths = append(d.Widths, w)
				d.Offer.Sets = append(d.Offer.Sets, decisions.OfferSet{Width: w, Items: []decisions.OfferItem{{Query: q, Level: len(d.Widths) - 1}}})
			}
		}
		if v == decisions.Ask && f.rejectable {
			if d.Offer == nil {
				d.Offer = &decisions.Offer{Size: 100}
			}
			d.Offer.Reject = &decisions.Rejection{Query: decisions.MemoryQuery{Project: f.project}}
		}
		list = append(list, d)
	}
	if f.short {
		return list[1:]
	}
	return list
}

// Keep notes what is to be remembered.
func (f *fakeDecider) Keep(_ context.Context, a decisions.Answer) ([]decisions.StoredChoice, error) {
	f.kept = append(f.kept, a)
	if f.whenKept != nil {
		f.whenKept()
	}
	return []decisions.StoredChoice{{ID: fmt.Sprint("c", len(f.kept)), Verdict: a.Verdict, Label: gocmp.Or(f.label, "use it"), Scope: a.Scope}}, nil
}

func (f *fakeDecider) Drop(_ context.Context, ids ...string) error {
	f.dropped = append(f.dropped, ids...)
	return nil
}

func (f *fakeDecider) EndSession(o decisions.Owner, id string) {
	f.ended = append(f.ended, fmt.Sprint(o.Conn, " ", id))
}
func (*fakeDecider) EndConnection(decisions.Owner) {}

// daemon is the methods with a fake decider, on one connection at a time.
type daemon struct {
	*fakeDecider
	sockettest.Client
	rules    string // the digest of now
	answered []string
	ends     []string
}

func newDaemon(t testing.TB) *daemon {
	t.Helper()
	d := &daemon{fakeDecider: &fakeDecider{verdicts: map[string]decisions.Verdict{}, by: decisions.ByPolicy}, Client: sockettest.Client{Methods: socket.Methods{}}}
	deps := native.Deps{
		Sessions: new(decisions.Sessions), Decider: d, Keeper: d,
		Users: func(uid uint32) effects.User { return effects.User{UID: uid, Home: "/home/ana"} },
		Rules: func(uint32, string) string { return d.rules },
		RecordAnswer: func(_ context.Context, id string, v decisions.Verdict, by author.Identity, kept []decisions.StoredChoice) error {
			if by != (author.Identity{Via: author.Client, UID: 1000, PID: 7}) {
				t.Errorf("the answer to %s is of %+v", id, by)
			}
			d.answered = append(d.answered, fmt.Sprint(id, " ", v, " ", len(kept)))
			return nil
		},
		RecordEnd: func(_ context.Context, id, as string) error {
			d.ends = append(d.ends, id+" "+as)
			return nil
		},
	}
	native.Register(d.Methods, deps)
	Register(d.Methods, deps)
	d.Connect(1)
	return d
}

// ordered is the answer as it is written, its members in their order.
func ordered(t testing.TB, d *daemon, method, params string) string {
	t.Helper()
	r, err := d.Methods[method](d.Conn, strictjson.Value(params))
	if err != nil {
		t.Fatal(err)
	}
	res, err := r(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// answerRead is a result as a client reads it.
type answerRead struct {
	Outcome   Outcome                  `json:"outcome"`
	Decision  *decisions.Decision      `json:"decision"`
	Result    *ToolResult              `json:"result"`
	Choice    *UserChoice              `json:"choice"`
	Stored    []decisions.StoredChoice `json:"stored"`
	Closed    *bool                    `json:"closed"`
	Cancelled *bool                    `json:"cancelled"`
}

func (d *daemon) must(t testing.TB, method, params string) *answerRead {
	t.Helper()
	var r answerRead
	if err := strictjson.Unmarshal(strictjson.Value(d.Must(t, method, params)), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// with puts members into an object, in front.
func with(members, object string) string {
	return "{" + members + "," + strings.TrimPrefix(strings.TrimSpace(object), "{")
}

// invoked are the params of a call in a thread: "root/pick/pick_2".
func invoked(id, path, operation, more string) string {
	threads := strings.Split(path, "/")
	own := threads[len(threads)-1]
	above, _ := json.Marshal(threads[:len(threads)-1])
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"operation":%q,"arguments":{"bin":"C-17"},"id":%q,"group_id":%q,"thread_ancestors":%s,"toolset":{"name":"warehouse"}%s}`,
		operation, id, own, above, more)
}
