// Package decide puts calls that a person has in a file before who decides, and
// refuses answers that do not decide each of them. Who decides is the daemon or an
// engine in this process.
package decide

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
)

// Caller sends one message and waits for its answer.
type Caller interface {
	Call(ctx context.Context, method string, params, result any) error
	Notify(ctx context.Context, method string, params any) error
}

// Session is the session of calls that name none.
type Session struct {
	Cwd   string // its working directory
	Agent string // NAME or NAME@VERSION, "" if it is not known
}

// Each sends the messages in their order and hands each one's decisions on.
func (c *Session) Each(ctx context.Context, to Caller, messages []Message, each func([]*decisions.Decision) error) error {
	declared := map[string]bool{}
	decided := 0
	for i, m := range messages {
		if m.method == "permd/session" {
			declared[sessionOf(m.params)] = true
		} else if id := sessionOf(m.params); !declared[id] {
			if err := c.Declare(ctx, to, id); err != nil {
				return err
			}
			declared[id] = true
		}
		ds, err := send(ctx, to, m)
		if err != nil {
			return fmt.Errorf("value %d: %w", i+1, err)
		}
		if decided += len(ds); len(ds) == 0 {
			continue
		}
		if err := each(ds); err != nil {
			return err
		}
	}
	if decided == 0 {
		// The exit code of an allow would be believed.
		return cli.Failf(cli.ExitUsage, "see permd decide --help", "the input asks for no decision")
	}
	return nil
}

// cliSession is the session of calls that name none.
const cliSession = "permd-decide"

func sessionOf(params strictjson.Value) string {
	o, err := strictjson.ParseObject(params)
	if err != nil {
		return cliSession
	}
	raw, _ := o.Get("sessionId")
	if id, ok := strictjson.ParseString(raw); ok && id != "" {
		return id
	}
	return cliSession
}

// Declare tells who decides of the session.
func (c *Session) Declare(ctx context.Context, to Caller, id string) error {
	type party struct {
		Name    string `json:"name"`
		Version string `json:"version,omitzero"`
	}
	p := struct {
		SessionID string `json:"sessionId"`
		Cwd       string `json:"cwd"`
		Agent     *party `json:"agent,omitzero"`
		Client    party  `json:"client"`
	}{id, c.Cwd, nil, party{"permd decide", buildinfo.Version()}}
	if c.Agent != "" {
		name, v, _ := strings.Cut(c.Agent, "@")
		p.Agent = &party{name, v}
	}
	if err := to.Call(ctx, "permd/session", p, nil); err != nil {
		return fmt.Errorf("declaring the session: %w", err)
	}
	return nil
}

// send sends one message and returns what was decided.
func send(ctx context.Context, to Caller, m Message) ([]*decisions.Decision, error) {
	switch {
	case m.notify:
		return nil, to.Notify(ctx, m.method, m.params)
	case m.method == "permd/session":
		return nil, to.Call(ctx, m.method, m.params, nil)
	case m.method == "session/request_permission":
		return sendACP(ctx, to, m.params)
	}
	params := m.params
	if m.method == "" {
		var err error
		if params, err = bareCall(m.params); err != nil {
			return nil, err
		}
	}
	var out struct {
		Decisions []*decisions.Decision `json:"decisions"`
	}
	if err := to.Call(ctx, "permd/decide", params, &out); err != nil {
		return nil, err
	}
	return out.Decisions, CheckAnswer(out.Decisions, callsIn(params))
}

// callsIn is how many calls the params of a permd/decide hold.
func callsIn(params strictjson.Value) int {
	var p struct {
		Calls []strictjson.Value `json:"calls"`
	}
	if err := strictjson.Unmarshal(params, &p); err != nil {
		return 0 // permd has refused them
	}
	return len(p.Calls)
}

// CheckAnswer refuses an answer that does not decide each call: what is not
// there would count as allowed.
func CheckAnswer(ds []*decisions.Decision, calls int) error {
	if len(ds) != calls {
		return fmt.Errorf("reading permd's answer: %s for %s", cli.Plural(len(ds), "decision"), cli.Plural(calls, "call"))
	}
	for _, d := range ds {
		switch {
		case d == nil:
			return errors.New("reading permd's answer: a decision is missing")
		case d.Verdict != decisions.Allow && d.Verdict != decisions.Ask && d.Verdict != decisions.Deny:
			return errors.New("reading permd's answer: a decision without a known verdict")
		}
	}
	return nil
}

// bareCall wraps a call that stands by itself; a person who writes one by hand
// need not think of an id.
func bareCall(call strictjson.Value) (strictjson.Value, error) {
	o, err := strictjson.ParseObject(call)
	if err != nil {
		return nil, err
	}
	members := map[string]strictjson.Value{"callId": strictjson.Value(`"1"`)}
	for _, m := range o {
		members[m.Name] = m.Value
	}
	p, err := json.Marshal(struct {
		SessionID string                        `json:"sessionId"`
		Calls     []map[string]strictjson.Value `json:"calls"`
	}{sessionOf(call), []map[string]strictjson.Value{members}})
	if err != nil {
		return nil, fmt.Errorf("encoding the call: %w", err)
	}
	return p, nil
}

func sendACP(ctx context.Context, to Caller, params strictjson.Value) ([]*decisions.Decision, error) {
	var out struct {
		Meta struct {
			Permd *decisions.Decision `json:"permd"`
		} `json:"_meta"`
	}
	err := to.Call(ctx, "session/request_permission", params, &out)
	if e, ok := errors.AsType[*client.Error](err); ok && e.Code == socket.CodeAsk {
		var d decisions.Decision
		if err := strictjson.Unmarshal(e.Data, &d); err != nil {
			return nil, fmt.Errorf("reading the decision: %w", err)
		}
		ds := []*decisions.Decision{&d}
		return ds, CheckAnswer(ds, 1)
	}
	if err != nil {
		return nil, err
	}
	if out.Meta.Permd == nil {
		return nil, errors.New("the answer carries no decision")
	}
	ds := []*decisions.Decision{out.Meta.Permd}
	return ds, CheckAnswer(ds, 1)
}
