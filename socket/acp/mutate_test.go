package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket/native"
)

// generous allows everything that rules can allow: what it does not allow needs a
// person under any rules.
type generous struct{ world *tools.World }

func (g generous) Snapshot(uint32, string) (decisions.Snapshot, error) { return g, nil }
func (generous) Digest() string                                        { return "digest" }
func (g generous) Table() *programs.Table                              { return g.world.Table }
func (g generous) Profiles() *tools.Profiles                           { return g.world.Profiles }
func (generous) OnFailure() decisions.Verdict                          { return decisions.Ask }
func (generous) Trusted() bool                                         { return true }
func (generous) Evaluate(context.Context, *decisions.Input) (decisions.Findings, error) {
	rule := decisions.Finding{
		Rule: decisions.RuleRef{ID: "all", Layer: decisions.Org}, Set: decisions.SetAllow, Reason: "all", Covers: ^effects.Tags(0),
	}
	return decisions.Findings{Fired: []decisions.Finding{rule}}, nil
}

// nothing remembers nothing and logs nothing.
type nothing struct{}

func (nothing) Match(*decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	return nil, nil, nil
}
func (nothing) Append(context.Context, ...*decisions.Record) error { return nil }

// guard is the whole of permd that decides a request.
type guard struct {
	*daemon
	world  *tools.World
	engine *decisions.Engine
	call   *effects.Call
}

func newGuard(w *tools.World) *guard {
	g := &guard{daemon: newDaemon(decisions.Ask), world: w}
	var err error
	g.engine, err = decisions.NewEngine(decisions.Config{
		Policy: generous{w}, Memory: nothing{}, Journal: nothing{}, FS: w.FS,
		Now: func() time.Time { return time.Unix(1_700_000_000, 0) }, NewID: func() string { return "id" }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	Register(g.methods, native.Deps{
		Sessions: g.sessions, Decider: g, PlainOption: w.Profiles.OnceOption, LiveShell: w.Profiles.LiveShell,
		Users: func(uid uint32) effects.User { return effects.User{UID: uid, Home: "/home/ana"} },
	})
	return g
}

func (g *guard) Decide(ctx context.Context, reqs ...*decisions.Request) []*decisions.Decision {
	g.call = &reqs[0].Call
	return g.engine.Decide(ctx, reqs...)
}

// try decides a request on a new connection. It returns the call's effects, and
// whether it was allowed.
func (g *guard) try(t *testing.T, agent, version string, params []byte) (done map[string]bool, allowed bool) {
	t.Helper()
	if strictjson.Check(params) != nil {
		return nil, false // the transport refuses it
	}
	c := conn(1)
	session := text(params, "sessionId")
	if session == "" || len(session) > 1000 {
		session = "s"
	}
	name, err := json.Marshal(session)
	if err != nil {
		t.Fatal(err)
	}
	g.must(t, c, "permd/session", `{"sessionId":`+string(name)+`,"cwd":"/home/ana/src/shop","agent":{"name":"`+agent+`","version":"`+version+`"}}`)
	g.call = nil
	res, err := g.daemon.call(t, c, MethodRequestPermission, string(params))
	if err == nil {
		id := res.(permissionResult).Outcome.OptionID
		o, _ := strictjson.ParseArray(member(params, "options"))
		allowed = slices.ContainsFunc(o, func(v strictjson.Value) bool {
			return text(v, "optionId") == id && strings.HasPrefix(text(v, "kind"), "allow")
		})
	}
	if g.call == nil {
		return nil, allowed
	}
	done = map[string]bool{}
	for _, e := range g.world.Effects(g.call).Effects {
		done[string(e.Kind)+" "+e.Text] = true
	}
	return done, allowed
}

// mutation is one way to spoil a field.
type mutation struct {
	name string
	// to returns the new value; false removes the member.
	to func(v any) (any, bool)
	// twice writes the member a second time with this value, after the first one
	// or, if first is set, before it; under another name if as is set.
	twice bool
	first bool
	as    func(name string) string
	// other is set if the message then says something else, and not less.
	other bool
}

func mutations() []mutation {
	set := func(v any) func(any) (any, bool) { return func(any) (any, bool) { return v, true } }
	list := []mutation{
		{name: "missing", to: func(any) (any, bool) { return nil, false }},
		{name: "null", to: set(nil)},
		{name: "true", to: set(true)},
		{name: "number", to: set(json.Number("7"))},
		{name: "huge number", to: set(json.Number("1e400"))},
		{name: "empty text", to: set("")},
		{name: "empty list", to: set([]any{})},
		{name: "empty object", to: set(map[string]any{})},
		{name: "in a list", to: func(v any) (any, bool) { return []any{v}, true }},
		{name: "in an object", to: func(v any) (any, bool) { return map[string]any{"x": v}, true }},
		{name: "deep", to: func(v any) (any, bool) {
			for range 100 {
				v = []any{v}
			}
			return v, true
		}},
		{name: "doubled", to: func(v any) (any, bool) { return v, true }, twice: true},
		{name: "doubled with null", to: set(nil), twice: true},
		{name: "doubled with null before", to: set(nil), twice: true, first: true},
		{name: "in capitals beside", to: set("x"), twice: true, as: strings.ToUpper},
		{name: "with a hidden character beside", to: set("x"), twice: true, as: func(s string) string { return s + "\u200b" }},
	}
	texts := map[string]string{
		"oversized": strings.Repeat("x", 40_000), "bidi": "\u202e", "control": "\u0000\u001b[2K", "lines": "\n\nls\n", "quote": `"\`,
		"command": "; touch /home/ana/.bashrc #", "path": "/../../../etc/passwd", "lone": "\ufffd\u2028",
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		text := texts[name]
		list = append(list, mutation{name: name, other: true, to: func(v any) (any, bool) {
			s, ok := v.(string)
			return s + text, ok
		}})
	}
	return list
}

// paths returns the paths of all members and items below a value.
func paths(v any, at string) []string {
	var list []string
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			list = append(list, at+"/"+k)
			list = append(list, paths(v[k], at+"/"+k)...)
		}
	case []any:
		for i, item := range v {
			p := at + "/" + strconv.Itoa(i)
			list = append(list, p)
			list = append(list, paths(item, p)...)
		}
	}
	return list
}

// spoil returns v with the mutation at a path, and false if the mutation does not
// apply.
func spoil(b *bytes.Buffer, v any, at, path string, m *mutation) bool {
	hit := false
	write := func(name string, item any) {
		if name != "" {
			key, _ := json.Marshal(name)
			b.Write(key)
			b.WriteByte(':')
		}
		if s, err := json.Marshal(item); err == nil {
			b.Write(s)
		}
	}
	each := func(name, p string, item any) {
		sep := func() {
			if s := b.Bytes(); s[len(s)-1] != '{' && s[len(s)-1] != '[' {
				b.WriteByte(',')
			}
		}
		if p != path {
			sep()
			if name != "" {
				write(name, nil)
				b.Truncate(b.Len() - len("null"))
			}
			hit = spoil(b, item, p, path, m) || hit
			return
		}
		to, keep := m.to(item)
		switch {
		case m.twice && name != "":
			hit = true
			as := name
			if m.as != nil {
				as = m.as(name)
			}
			sep()
			if m.first {
				write(as, to)
				b.WriteByte(',')
				write(name, item)
			} else {
				write(name, item)
				b.WriteByte(',')
				write(as, to)
			}
		case m.twice, m.other && !keep:
			sep()
			write(name, item)
		case keep:
			hit = true
			sep()
			write(name, to)
		default:
			hit = true
		}
	}
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			each(k, at+"/"+k, v[k])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			each("", at+"/"+strconv.Itoa(i), item)
		}
		b.WriteByte(']')
	default:
		s, _ := json.Marshal(v)
		b.Write(s)
	}
	return hit
}

// asVersion2 returns a request of version 1 in the form of version 2.
func asVersion2(params map[string]any) map[string]any {
	call := maps.Clone(params["toolCall"].(map[string]any))
	if content, ok := call["content"].([]any); ok {
		var list []any
		for _, item := range content {
			if o, ok := item.(map[string]any); ok && o["type"] == "diff" {
				item = map[string]any{"type": "diff", "changes": []any{map[string]any{"operation": "modify", "path": o["path"]}}}
			}
			list = append(list, item)
		}
		call["content"] = list
	}
	out := maps.Clone(params)
	delete(out, "toolCall")
	out["title"], out["subject"] = "Go on?", map[string]any{"type": "tool_call", "toolCall": call}
	return out
}

// elsewhere reports whether the mutated message says something else that an honest
// agent could say, and not less of the same.
func elsewhere(agent, path, mutation string) bool {
	gone := mutation == "missing" || mutation == "null" || strings.HasPrefix(mutation, "empty ")
	_, item := strconv.Atoi(path[strings.LastIndexByte(path, '/')+1:])
	switch {
	case item == nil && gone:
		return true // a shorter list
	case agent == "codex-acp" && strings.HasSuffix(path, "/rawInput/url"):
		return mutation == "missing" || mutation == "null" // it names a host only where its sandbox asks about one
	case agent == "codex-acp" && strings.HasSuffix(path, "/rawInput/command"):
		return mutation == "in a list" || mutation == "missing" || mutation == "null" // a list of words; a host alone
	}
	return false
}

// TestSpoiledFields applies every mutation to every field of every sample, in both
// versions: an allowed request must still have all effects of the sample, and
// nothing may panic.
func TestSpoiledFields(t *testing.T) {
	if testload.Race {
		t.Skip("one request after the other: there is no race to find, and the detector makes it take minutes")
	}
	world := shippedWorld(t)
	seen := map[string]bool{}
	for _, s := range index(t) {
		var msg struct {
			Method string         `json:"method"`
			Params map[string]any `json:"params"`
		}
		data := readFile(t, filepath.Join("testdata", s.File))
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if err := dec.Decode(&msg); err != nil {
			t.Fatal(err)
		}
		if msg.Method != MethodRequestPermission {
			continue
		}
		more := seen[s.Agent]
		seen[s.Agent] = true
		forms := map[string]map[string]any{"": msg.Params}
		if _, ok := msg.Params["toolCall"]; ok {
			forms = map[string]map[string]any{" v1": msg.Params, " v2": asVersion2(msg.Params)}
		}
		for form, params := range forms {
			t.Run(s.File+form, func(t *testing.T) {
				if testing.Short() && more {
					t.Skip("long: it spoils further samples of an agent")
				}
				t.Parallel()
				spoilAll(t, newGuard(world), &s, params)
			})
		}
	}
}

func spoilAll(t *testing.T, g *guard, s *sample, params map[string]any) {
	agent := s.Agent
	if name, ok := agentNames[agent]; ok {
		agent = name
	}
	version := strings.Fields(s.Version + " 1")[0]
	whole, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	before, allowed := g.try(t, agent, version, whole)
	if want := s.SafeAllow != nil && !s.Facts.Widening; want != allowed {
		t.Errorf("the sample as it is: allowed %v, want %v; %v", allowed, want, slices.Sorted(maps.Keys(before)))
	}
	n, fewest, drawn := 0, 50, testload.OneIn(t, 5)
	for _, path := range paths(params, "") {
		for _, m := range mutations() {
			if !drawn() {
				fewest = 1
				continue
			}
			var b bytes.Buffer
			if !spoil(&b, params, "", path, &m) {
				continue
			}
			n++
			after, allowed := g.try(t, agent, version, b.Bytes())
			if !allowed {
				continue
			}
			var less []string
			for e := range before {
				if !after[e] {
					less = append(less, e)
				}
			}
			if less == nil {
				continue
			}
			slices.Sort(less)
			hides := m.name == "bidi" || m.name == "control"
			if m.other && !hides || elsewhere(agent, path, m.name) {
				continue
			}
			// An input that names no tool is named by the claimed kind, which a rule can allow.
			if m.name == "in an object" && slices.Equal(less, []string{"unknown neither the tool nor its input was sent"}) && after["use use kind/other"] {
				continue
			}
			t.Errorf("%s %s: allowed, without %v; it would do %v", path, m.name, less, slices.Sorted(maps.Keys(after)))
		}
	}
	if n < fewest {
		t.Errorf("only %d spoiled requests", n)
	}
}
