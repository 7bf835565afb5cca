// Package decide requests decisions about the calls in a file, from the daemon or from
// an engine in this process.
package decide

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// Session describes the session of calls that do not name one.
type Session struct {
	Cwd   string // its working directory
	Agent string // NAME or NAME@VERSION, "" if it is not known
}

// Each sends the messages in order and passes on the decisions of each.
func (c *Session) Each(ctx context.Context, to client.Caller, messages []Message, each func([]*decisions.Decision) error) error {
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

// cliSession is the id of the session of calls that do not name one.
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

// Declare declares the session.
func (c *Session) Declare(ctx context.Context, to client.Caller, id string) error {
	p := client.Session{ID: id, Cwd: c.Cwd, Client: &effects.Party{Name: "permd decide", Version: buildinfo.Version()}}
	if c.Agent != "" {
		name, v, _ := strings.Cut(c.Agent, "@")
		p.Agent = &effects.Party{Name: name, Version: v}
	}
	if _, err := client.DeclareSession(ctx, to, &p); err != nil {
		return fmt.Errorf("declaring the session: %w", err)
	}
	return nil
}

// send sends one message and returns the decisions.
func send(ctx context.Context, to client.Caller, m Message) ([]*decisions.Decision, error) {
	switch {
	case m.notify:
		return nil, to.Notify(ctx, m.method, m.params)
	case m.method == "permd/session":
		_, err := client.DeclareJSON(ctx, to, m.params)
		return nil, err
	case m.method == "session/request_permission":
		d, err := client.RequestPermission(ctx, to, m.params)
		if err != nil {
			return nil, err
		}
		return []*decisions.Decision{d}, nil
	}
	params := m.params
	if m.method == "" {
		var err error
		if params, err = bareCall(m.params); err != nil {
			return nil, err
		}
	}
	return client.DecideJSON(ctx, to, params)
}

// bareCall wraps a single call in the params of permd/decide. It adds an id if there is
// none, so that calls are easy to write by hand.
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
