package acp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// The methods with which a proxy between client and agent reports what it sees besides
// permission requests.
const (
	MethodGate       = "permd/gate"
	MethodRan        = "permd/ran"
	MethodIncomplete = "permd/unheard"
)

// gateAgent is the agent whose profile has the gates as tools. Gates are expressed in
// the protocol's own terms.
const gateAgent = "acp-client"

// The gates: operations of a client for its agent, and of a person with it.
const (
	gateTerminal  = "terminal/create"
	gateWrite     = "fs/write_text_file"
	gateRead      = "fs/read_text_file"
	gateSetMode   = "session/set_mode"
	gateSetOption = "session/set_config_option"
)

// gateResult is the answer of permd/gate.
type gateResult struct {
	// Passes is false if the gate's operation must not be carried out.
	Passes   bool                `json:"passes"`
	Decision *decisions.Decision `json:"decision"`
}

// gate is one permd/gate.
type gate struct {
	session       string
	request       decisions.Request
	otherProjects []*decisions.Request // the same operation for other projects
	state         *native.State
	gatedCalls    *approvals
	// approved are the approved calls of the agent's own requests.
	approved *approvals
	now      time.Time
	turns    turns
	// refresh updates the request to the current session.
	refresh func(*decisions.Request)
	// requestID is the request's id on the connection (native.RequestKey).
	requestID string
}

// gate reads an operation that is about to pass a gate, and decides it.
func (h *handler) gate(c *socket.Conn, params strictjson.Value) (run, error) {
	o, err := object(params, "params", "sessionId", "method", "params", "ask", "_meta")
	if err != nil {
		return nil, err
	}
	g := gate{state: native.StateOf(c), requestID: native.RequestKey(c.RequestID())}
	if g.session, err = identifier(o, "sessionId", ""); err != nil {
		return nil, err
	}
	method, err := identifier(o, "method", "")
	if err != nil {
		return nil, err
	}
	inner, _ := o.Get("params")
	safe := func(string, string) bool { return false }
	if h.HarmlessEnv != nil {
		safe = h.HarmlessEnv
	}
	call, err := gateCall(method, inner, safe)
	if err != nil {
		return nil, err
	}
	ask, err := flag(o, "ask")
	if err != nil {
		return nil, err
	}
	state := stateOf(c)
	declared := h.Sessions.Get(c.Owner(), g.session)
	if declared == nil {
		call.Defects = addDefect(call.Defects, effects.Defect{
			Code: effects.DefectDropped, At: "sessionId", Text: "the session is not declared, so its project and its mode are not known",
		})
	}
	g.gatedCalls, g.approved, g.now = &state.gatedCalls, &state.approved, h.Time()
	s := state.session(g.session)
	state.declare(s, declared)
	g.request = decisions.Request{Call: *call, Peer: c.Peer, Gate: &decisions.Gate{
		Asks: ask || h.AskGates != nil && h.AskGates(),
		Path: method == gateWrite || method == gateRead,
		Own:  method == gateSetMode || method == gateSetOption,
		Approved: func(d *decisions.Decision) bool {
			return state.approved.take(g.session, d, h.Time())
		},
	}}
	g.request.Session = describe(&g.request.Call, declared)
	g.request.Gate.Agent = g.request.Call.Agent
	g.request.Call.Agent = effects.Party{Name: gateAgent}
	g.turns = state.turnsOf(nil, g.session, declared)
	g.refresh = func(r *decisions.Request) {
		r.Session = describe(&r.Call, h.Sessions.Get(c.Owner(), g.session))
		r.Call.Agent = effects.Party{Name: gateAgent}
	}
	if !g.request.Gate.Own {
		g.otherProjects = inOtherProjects(&g.request, declared, h.Sessions.All(c.Owner()))
	}
	return func(ctx context.Context) (any, error) {
		g.request.Call.User = h.Users(c.Peer.UID)
		for _, other := range g.otherProjects {
			other.Call.User = g.request.Call.User
		}
		return g.decide(ctx, &h.Deps)
	}, nil
}

func (g *gate) decide(ctx context.Context, deps *native.Deps) (any, error) {
	if !g.request.Gate.Own { // otherwise it is the client's own operation, and part of no turn
		inTurn := g.turns.with(ctx)
		defer inTurn.end()
		ctx = inTurn
	}
	d, made, err := g.strictest(ctx, deps)
	if err != nil {
		return nil, err
	}
	if g.turns.cancelled() && !g.request.Gate.Own {
		return gateResult{Decision: cancelledDecision(d, errTurn)}, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err() // nobody waits for it
	}
	g.gatedCalls.noteNew(g.session, d, g.now)
	if d.Opaque && (d.Verdict == decisions.Allow || d.Outcome == decisions.Passed || d.Outcome == decisions.Approved) {
		// Calls that were approved and have not run yet may have other effects
		// now.
		g.approved.dropStateful(g.session)
	}
	if d.Verdict != decisions.Ask || d.Outcome != "" {
		return gateResult{Passes: d.Verdict != decisions.Deny, Decision: d}, nil
	}
	data, err := json.Marshal(d, json.Deterministic(true))
	if err != nil {
		return nil, errors.New("encoding the decision")
	}
	g.state.Questions.Add(&native.PendingQuestion{
		ID: d.ID, SessionID: g.session, RequestID: g.requestID, Offer: d.Offer, Resolve: g.pick(d.ID),
		Digest: d.Policy.Digest, Cwd: made.Call.Cwd, Decision: d, Request: made, Refresh: g.refreshFunc(made),
	})
	return nil, &socket.Error{Code: socket.CodeAsk, Message: "ask the person: " + d.Reason, Data: strictjson.Value(data)}
}

// refreshFunc returns a function that updates the request for the named session to its
// current state; those for others stay as they were decided.
func (g *gate) refreshFunc(made *decisions.Request) func(*decisions.Request) {
	if made != &g.request {
		return nil
	}
	return g.refresh
}

// pick applies the answer to a question about a gate: the caller lets the operation pass
// or not.
func (g *gate) pick(decision string) func(native.Selection) (native.Resolution, error) {
	gated := g.gatedCalls
	return func(p native.Selection) (native.Resolution, error) {
		if p.OptionID != "" {
			return native.Resolution{}, errors.New("a gate has no options; name a verdict")
		}
		if p.Verdict == decisions.Deny {
			gated.deny(decision)
		}
		return native.Resolution{Verdict: p.Verdict}, nil
	}
}

// gateCall returns the call for an operation.
func gateCall(method string, params strictjson.Value, safe func(name, value string) bool) (*effects.Call, error) {
	o, err := object(params, "params.params", "command", "args", "env", "cwd", "path", "modeId", "configId", "value", "sessionId", "_meta")
	if err != nil {
		return nil, err
	}
	call := &effects.Call{Protocol: protocol, Tool: effects.Tool{Name: method}}
	var input strictjson.Object
	member := func(name string, value strictjson.Value) {
		input = append(input, strictjson.Member{Name: name, Value: value})
	}
	switch method {
	case gateTerminal:
		call.Claims.Kind = "execute"
		command, err := commandOf(o, call, safe)
		if err != nil {
			return nil, err
		}
		member("command", command)
		if cwd, ok := o.Get("cwd"); ok && strictjson.Kind(cwd) != 'n' {
			if strictjson.Kind(cwd) != '"' {
				return nil, socket.Refuse("params.params.cwd must be a string")
			}
			if name, _ := strictjson.ParseString(cwd); !strings.HasPrefix(name, "/") {
				// As with the path of a file. Clients differ in what it is relative to.
				call.Defects = addDefect(call.Defects, effects.Defect{
					Code: effects.DefectDropped, At: "cwd", Text: "the folder is not absolute, so the client may mean another one",
				})
			}
			member("cwd", cwd)
		}
	case gateWrite, gateRead:
		call.Claims.Kind = "edit"
		if method == gateRead {
			call.Claims.Kind = "read"
		}
		path, ok := o.Get("path")
		if !ok || strictjson.Kind(path) != '"' {
			return nil, socket.Refuse("params.params.path must be a string")
		}
		if name, _ := strictjson.ParseString(path); !strings.HasPrefix(name, "/") {
			// The protocol has no such operation. The client determines what it does.
			call.Defects = addDefect(call.Defects, effects.Defect{
				Code: effects.DefectDropped, At: "path", Text: "the path is not absolute, so the client may mean another file",
			})
		}
		member("path", path)
	case gateSetMode, gateSetOption:
		call.Claims.Kind = "switch_mode"
		name := "modeId"
		if method == gateSetOption {
			name = "value"
		}
		if mode, ok := o.Get(name); ok {
			member("modeId", mode)
		}
	default:
		return nil, socket.Refuse("no gate has that method")
	}
	if call.Input, err = encodeObject(input); err != nil {
		return nil, err
	}
	return call, nil
}

func encodeText(s string) (strictjson.Value, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, errors.New("encoding the call")
	}
	return b, nil
}

func encodeObject(o strictjson.Object) (strictjson.Value, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(m.Name)
		if err != nil {
			return nil, errors.New("encoding the call")
		}
		b = append(append(append(b, name...), ':'), m.Value...)
	}
	return append(b, '}'), nil
}

// commandOf returns what a terminal would run: shell text if it has no
// arguments, as clients treat it, else a list of words. If the environment is
// set as well, it is shell text with the same effect.
func commandOf(o strictjson.Object, call *effects.Call, safe func(name, value string) bool) (strictjson.Value, error) {
	v, _ := o.Get("command")
	command, ok := strictjson.ParseString(v)
	if !ok {
		return nil, socket.Refuse("params.params.command must be a string")
	}
	words := []string{command}
	if args, ok := o.Get("args"); ok && strictjson.Kind(args) != 'n' {
		items, err := strictjson.ParseArray(args)
		if err != nil || strictjson.Kind(args) != '[' {
			return nil, socket.Refuse("params.params.args must be a list of strings")
		}
		for _, item := range items {
			word, ok := strictjson.ParseString(item)
			if !ok {
				return nil, socket.Refuse("params.params.args must be a list of strings")
			}
			words = append(words, word)
		}
	}
	env, err := environment(o, call)
	if err != nil {
		return nil, err
	}
	shell := len(words) == 1
	if !shell || !strings.Contains(command, "$") {
		env = slices.DeleteFunc(env, func(e variable) bool { return safe(e.name, e.value) })
	}
	var value any = words
	switch {
	case shell && len(env) == 0:
		value = command
	case shell:
		value = assignments(env) + command
	case len(env) > 0:
		for i, w := range words {
			words[i] = quoteWord(w)
		}
		value = assignments(env) + strings.Join(words, " ")
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, errors.New("encoding the command")
	}
	return text, nil
}

type variable struct{ name, value string }

// environment reads the variables added to a terminal's environment. Items that
// a client would skip are a defect: their effect is not known.
func environment(o strictjson.Object, call *effects.Call) ([]variable, error) {
	v, ok := o.Get("env")
	if !ok || strictjson.Kind(v) == 'n' {
		return nil, nil
	}
	items, err := strictjson.ParseArray(v)
	if err != nil || strictjson.Kind(v) != '[' {
		return nil, socket.Refuse("params.params.env must be a list")
	}
	var env []variable
	for _, item := range items {
		one, err := object(item, "params.params.env", "name", "value", "_meta")
		if err != nil {
			return nil, err
		}
		name, _ := one.Get("name")
		value, _ := one.Get("value")
		n, ok := strictjson.ParseString(name)
		w, ok2 := strictjson.ParseString(value)
		if !ok || !ok2 || n == "" {
			call.Defects = addDefect(call.Defects, effects.Defect{
				Code: effects.DefectDropped, At: "env", Text: "an item of env has no name or no value, and was left out",
			})
			continue
		}
		env = append(env, variable{n, w})
	}
	return env, nil
}

// assignments returns the environment as shell text, so that rules see it as
// they do in commands.
func assignments(env []variable) string {
	var b strings.Builder
	for _, e := range env {
		if plainName(e.name) {
			b.WriteString(e.name + "=" + quoteWord(e.value) + "\n")
		} else {
			// No shell can assign it, but programs get it nevertheless.
			b.WriteString("export " + quoteWord(e.name+"="+e.value) + "\n")
		}
	}
	return b.String()
}

func plainName(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return true
}

func quoteWord(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
