package decisions

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/testload"
)

// wordPolicy speaks of effects by their kind and whether they are claims.
type wordPolicy struct {
	*fakePolicy
	rules []wordRule
	fails bool // for what is claimed
}

type wordRule struct {
	layer Layer
	set   Set
	// what has words of which an effect has one in the beginning: "read", "?read" for a
	// claim alone, "run git".
	what string
}

func (p *wordPolicy) Snapshot(uint32, string) (Snapshot, error) { return p, nil }

func (p *wordPolicy) Evaluate(_ context.Context, in *Input) (Findings, error) {
	text := in.Effect.Text
	if in.Effect.Claimed {
		if p.fails {
			return Findings{}, errors.New("conflict")
		}
		text = "?" + text
	}
	var f Findings
	for _, r := range p.rules {
		if strings.HasPrefix(text, r.what) || strings.HasPrefix(strings.TrimPrefix(text, "?"), r.what) {
			f.Fired = append(f.Fired, finding(r.layer, r.set))
		}
	}
	// As the shipped rules: no claim is allowed, and every use asks.
	switch {
	case in.Effect.Kind == effects.KindUse:
		f.Fired = append(f.Fired, finding(Base, SetAsk))
	case !in.Effect.Claimed:
		f.Fired = append(f.Fired, finding(Base, SetAllow))
	}
	return f, nil
}

// claimMemory remembers an allow of the effects that begin with its words.
type claimMemory struct{ what string }

func (m claimMemory) Match(q *MemoryQuery) (reject, allow *Choice, err error) {
	if m.what != "" && strings.HasPrefix(q.Effect.Text, m.what) {
		return nil, &Choice{ID: "a", Label: m.what}, nil
	}
	return nil, nil, nil
}

// TestClaimsStandForUse: the use of a tool of an agent without a profile is allowed if org,
// the person or memory allow all that it does by the usual meaning of its name, and never by
// the shipped rules; it is denied and asked about by all rules about that.
func TestClaimsStandForUse(t *testing.T) {
	user := func(set Set, what ...string) (list []wordRule) {
		for _, w := range what {
			list = append(list, wordRule{User, set, w})
		}
		return list
	}
	const (
		read = `read_file {"path":"a"}`
		cat  = `bash {"command":"cat a && ls"}`
		push = `bash {"command":"git push"}`
		grep = `grep {"pattern":"x"}`
		edit = `edit {"path":"a","old_string":"x","new_string":"y"}`
	)
	tests := []struct {
		name, call string
		rules      []wordRule
		memory     string
		fails      bool
		want       Verdict
	}{
		{name: "the shipped rules", call: read, want: Ask},
		{name: "the shipped rules, a command", call: cat, want: Ask},
		{name: "a rule about the file", call: read, rules: user(SetAllow, "read"), want: Allow},
		{name: "a rule about another kind", call: read, rules: user(SetAllow, "write"), want: Ask},
		{name: "a rule of org", call: read, rules: []wordRule{{Org, SetAllow, "read"}}, want: Allow},
		{name: "a rule of a project that is not trusted", call: read, rules: []wordRule{{Project, SetAllow, "read"}}, want: Ask},
		{name: "a choice about the file", call: read, memory: "read", want: Allow},
		{name: "a rule about the use", call: read, rules: user(SetAllow, "use"), want: Allow},
		{name: "a choice about the use", call: read, memory: "use", want: Allow},
		{name: "a rule about the use of a command", call: cat, rules: user(SetAllow, "use"), want: Allow},
		{name: "a rule about one of two programs", call: cat, rules: user(SetAllow, "run cat", "read"), want: Ask},
		{name: "a rule about both programs", call: cat, rules: user(SetAllow, "run cat", "run ls", "read"), want: Allow},
		{name: "a rule about both, and a choice about the file", call: cat, rules: user(SetAllow, "run"), memory: "read", want: Allow},
		{name: "what a run always does", call: push, rules: user(SetAllow, "run git push"), want: Allow},
		{name: "a search", call: grep, rules: user(SetAllow, "read"), want: Allow},
		{name: "an ask", call: read, rules: append(user(SetAllow, "read"), user(SetAsk, "read")...), want: Ask},
		{name: "an ask about the use", call: read, rules: append(user(SetAllow, "read"), user(SetAsk, "use")...), want: Ask},
		{name: "a deny of the use", call: read, rules: append(user(SetAllow, "read"), user(SetDeny, "use")...), want: Deny},
		{name: "a deny of the file", call: read, rules: append(user(SetAllow, "use"), user(SetDeny, "read")...), want: Deny},
		{name: "a deny of the claim alone", call: read, rules: append(user(SetAllow, "use"), user(SetDeny, "?read")...), want: Deny},
		{name: "a deny of what only the claim says", call: grep, rules: append(user(SetAllow, "use"), user(SetDeny, "read")...), want: Deny},
		{name: "an ask about what only the claim says", call: grep, rules: append(user(SetAllow, "use"), user(SetAsk, "read")...), want: Ask},
		{name: "a deny of what the unknown tool may do besides", call: edit, rules: append(user(SetAllow, "use", "write"), user(SetDeny, "read")...), want: Deny},
		{name: "a write, where a read is not allowed", call: edit, rules: user(SetAllow, "write"), want: Allow},
		{name: "a rule about the claim alone", call: read, rules: user(SetAllow, "?read"), want: Allow},
		{name: "a tool with a member more", call: `read_file {"path":"a","then":"x"}`, rules: user(SetAllow, "read"), want: Ask},
		{name: "a tool with a member more, whose use is allowed", call: `read_file {"path":"a","then":"x"}`, rules: user(SetAllow, "use"), want: Allow},
		{name: "a command that does nothing", call: `bash {"command":"true"}`, rules: user(SetAllow, "read", "run"), want: Allow},
		{name: "a command that does nothing, by the shipped rules", call: `bash {"command":"true"}`, want: Ask},
		{name: "rules that fail", call: read, rules: user(SetAllow, "read"), fails: true, want: Ask},
		{name: "rules that fail, where the use is allowed", call: read, rules: user(SetAllow, "use", "read"), fails: true, want: Ask},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fake, _, _, _ := newFakes(t)
			e, err := NewEngine(Config{
				Policy: &wordPolicy{fake, tt.rules, tt.fails}, Memory: claimMemory{tt.memory}, Journal: &fakeJournal{}, FS: paths.OSFS{},
				Log: slog.New(slog.DiscardHandler), Now: time.Now, NewID: func() string { return "d" },
			})
			if err != nil {
				t.Fatal(err)
			}
			tool, input, _ := strings.Cut(tt.call, " ")
			req := bash(t, "")
			req.Call.Protocol, req.Call.Agent.Name, req.Call.Tool.Name, req.Call.Input = "permd", "nobody", tool, []byte(input)
			for range 2 { // the second answer is of the cache
				d := e.Decide(t.Context(), req)[0]
				if d.Verdict != tt.want {
					t.Fatalf("%s: %s, want %s: %+v", tt.call, d.Verdict, tt.want, d.Effects)
				}
				if !slices.ContainsFunc(d.Effects, func(e EffectDecision) bool { return e.Kind == effects.KindUse }) {
					t.Errorf("the use is not shown: %+v", d.Effects)
				}
			}
		})
	}
}

// TestNamelessIsNoMilder: a command of an agent without a profile over ACP gets no milder
// answer without the name of a tool than with a usual one, nor with a layer's profile that says
// nothing of it; and what rules and memory say of its claims counts for both.
func TestNamelessIsNoMilder(t *testing.T) {
	shipped, err := shippedProfiles()
	if err != nil {
		t.Fatal(err)
	}
	mine, errs := shipped.ParseLayer(map[string][]byte{"p.yaml": []byte("version: 1\nagents:\n  - id: mine\n    names: [mine]\n    tools: {usual_read: [look]}\n")}, false)
	if errs != nil {
		t.Fatal(errs[0])
	}
	user := func(set Set, what ...string) (list []wordRule) {
		for _, w := range what {
			list = append(list, wordRule{User, set, w})
		}
		return list
	}
	inputs := []string{
		`{"command":"cat a"}`, `{"command":"gofmt -w a"}`, `{"command":"mkdir a && ls"}`, `{"command":"git push"}`, `{"cmd":"cat a","is_background":false}`,
		`{"command":["cat","a"]}`, `{"command":["cat","a;rm b"]}`, `{"commands":["cat a","ls"]}`, `{"command":"cat a","commands":["ls"]}`,
		`{"command":"cat a","cwd":"/"}`, `{"command":"cat a","env":{"A":"b"}}`, `{"command":"cat a","path":"b"}`, `{"command":""}`, `{"command":"true"}`,
	}
	allowed := 0
	for name, tt := range map[string]struct {
		rules  []wordRule
		memory string
	}{
		"the shipped rules":   {},
		"rules about cat":     {rules: user(SetAllow, "run cat", "read")},
		"rules about all":     {rules: user(SetAllow, "run", "read", "write", "delete", "connect")},
		"a choice":            {memory: "run", rules: user(SetAllow, "read")},
		"an ask":              {rules: append(user(SetAllow, "run", "read"), user(SetAsk, "read")...)},
		"a deny":              {rules: append(user(SetAllow, "run", "read"), user(SetDeny, "run cat")...)},
		"a rule of org":       {rules: []wordRule{{Org, SetAllow, "run"}, {Org, SetAllow, "read"}}},
		"a deny of the claim": {rules: append(user(SetAllow, "run", "read"), user(SetDeny, "?run cat")...)},
	} {
		t.Run(name, func(t *testing.T) {
			fake, _, _, _ := newFakes(t)
			fake.profiles = shipped.With(mine)
			e, err := NewEngine(Config{
				Policy: &wordPolicy{fake, tt.rules, false}, Memory: claimMemory{tt.memory}, Journal: &fakeJournal{}, FS: paths.OSFS{},
				Log: slog.New(slog.DiscardHandler), Now: time.Now, NewID: func() string { return "d" },
			})
			if err != nil {
				t.Fatal(err)
			}
			decide := func(agent, tool, kind, input string) Verdict {
				req := bash(t, "")
				req.Call.Protocol, req.Call.Agent, req.Call.Tool.Name, req.Call.Input = "acp", effects.Party{Name: agent}, tool, []byte(input)
				req.Call.Claims.Kind = kind
				return e.Decide(t.Context(), req)[0].Verdict
			}
			for _, kind := range append([]string{"execute"}, testload.WithShort(t, 1, []string{"read", "search", ""})...) {
				for _, input := range inputs {
					named := decide("nobody", "bash", kind, input)
					for _, agent := range []string{"nobody", "mine"} {
						got := decide(agent, "", kind, input)
						if got.strictness() < named.strictness() {
							t.Errorf("%s of %s, kind %q: %s without a name, %s with one", input, agent, kind, got, named)
						}
						if got == Allow {
							allowed++
						}
					}
				}
			}
		})
	}
	if allowed == 0 {
		t.Error("no claim is allowed by rules of the person")
	}
}

// TestOrgSeesPastProfile: what org's rules say of a call does not depend on how a person
// describes the tools of its agent.
func TestOrgSeesPastProfile(t *testing.T) {
	shipped, err := shippedProfiles()
	if err != nil {
		t.Fatal(err)
	}
	mine, errs := shipped.ParseLayer(map[string][]byte{"p.yaml": []byte(`version: 1
shapes:
  quiet: {ignore: [command], use: agent}
agents:
  - id: mine
    names: [mine]
    tools: {usual_read: [look], quiet: [TodoWrite]}
`)}, false)
	if errs != nil {
		t.Fatal(errs[0])
	}
	const look, todo = `look {"path":"a"}`, `TodoWrite {"command":"git push; rm -rf x"}`
	for _, tt := range []struct {
		name, call string
		rules      []wordRule
		fails      bool
		want       Verdict
	}{
		{name: "nothing speaks of it", call: look, want: Allow},
		{name: "org denies the use", call: look, rules: []wordRule{{Org, SetDeny, "use look"}}, want: Deny},
		{name: "org asks about the use", call: look, rules: []wordRule{{Org, SetAsk, "use look"}}, want: Ask},
		{name: "the person denies the use", call: look, rules: []wordRule{{User, SetDeny, "use look"}}, want: Allow},
		{name: "org denies what it may write", call: look, rules: []wordRule{{Org, SetDeny, "write"}}, want: Deny},
		{name: "base denies what it may write", call: look, rules: []wordRule{{Base, SetDeny, "write"}}, want: Allow},
		{name: "org denies a run that the profile hides", call: todo, rules: []wordRule{{User, SetAllow, "use"}, {Org, SetDeny, "run git push"}}, want: Deny},
		{name: "base denies a run that the profile hides", call: todo, rules: []wordRule{{User, SetAllow, "use"}, {Base, SetDeny, "run rm"}}, want: Deny},
		{name: "org allows the use", call: look, rules: []wordRule{{Org, SetAllow, "use"}}, want: Allow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fake, _, _, _ := newFakes(t)
			fake.profiles = shipped.With(mine)
			e, err := NewEngine(Config{
				Policy: &wordPolicy{fake, tt.rules, tt.fails}, Memory: claimMemory{}, Journal: &fakeJournal{}, FS: paths.OSFS{},
				Log: slog.New(slog.DiscardHandler), Now: time.Now, NewID: func() string { return "d" },
			})
			if err != nil {
				t.Fatal(err)
			}
			tool, input, _ := strings.Cut(tt.call, " ")
			req := bash(t, "")
			req.Call.Protocol, req.Call.Agent, req.Call.Tool.Name, req.Call.Input = "permd", effects.Party{Name: "mine"}, tool, []byte(input)
			for range 2 {
				if d := e.Decide(t.Context(), req)[0]; d.Verdict != tt.want {
					t.Fatalf("%s: %s, want %s: %+v", tt.call, d.Verdict, tt.want, d.Effects)
				}
			}
		})
	}
}
