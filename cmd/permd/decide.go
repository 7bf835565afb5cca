package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// maxDecideInput is the most that `permd decide` reads, in bytes.
const maxDecideInput = 64 << 20

type decideOptions struct {
	local bool
	cwd   string
	agent string
}

func (a *app) decideCommand() *cobra.Command {
	var o decideOptions
	cmd := &cobra.Command{
		Use:         "decide FILE|-",
		Annotations: onlyReads,
		Short:       "Decide ACP requests or permd/decide calls from a file",
		Long: `Decide what is in FILE, or on standard input: ACP messages
(session/request_permission, with the session/update messages before them),
permd/decide messages or their params, or bare calls, as one JSON document or
as JSON lines. Prints the verdict and its reason, each effect with the member
it was read from, and the rules that spoke with file and line.

The daemon decides when one runs. With --local the decision is made in this
process with the same policies, without memory, and nothing is logged: for
trying out policies, not for enforcing them.

The exit code is that of the strictest verdict.

` + exitCodes,
		Example: `  echo '{"tool":{"name":"Bash"},"input":{"command":"git status"}}' | permd decide --agent claude-agent-acp -
  permd decide --local request.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.decide(cmd.Context(), args[0], &o)
		},
	}
	o.flags(cmd)
	return cmd
}

func (o *decideOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.local, "local", false, "decide in this process, without the daemon")
	f.StringVar(&o.cwd, "cwd", "", "working directory of sessions that the input does not declare (default: this folder)")
	f.StringVar(&o.agent, "agent", "", "agent of such sessions, NAME or NAME@VERSION")
}

// caller sends one message and waits for its answer.
type caller = client.Caller

func (a *app) decide(ctx context.Context, file string, o *decideOptions) error {
	messages, err := a.messages(file, o)
	if err != nil {
		return err
	}
	to, done, err := a.callerOf(ctx, o)
	if err != nil {
		return err
	}
	defer done()
	return a.decideAll(ctx, to, messages, o)
}

// decideAll sends the messages in their order and prints the decisions.
func (a *app) decideAll(ctx context.Context, to caller, messages []message, o *decideOptions) error {
	strictest, first := decisions.Allow, true
	err := o.each(ctx, to, messages, func(ds []*decisions.Decision) error {
		for n, d := range ds {
			strictest = decisions.Stricter(strictest, d.Verdict)
			if a.json {
				if err := printJSON(a.out, d); err != nil {
					return err
				}
				continue
			}
			if !first && n == 0 {
				fmt.Fprintln(a.out)
			}
			first = false
			renderDecision(a.out, d)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if code := verdictCode(strictest); code != exitOK {
		return &failure{code: code}
	}
	return nil
}

// callerOf is who decides: the daemon, or this process.
func (a *app) callerOf(ctx context.Context, o *decideOptions) (to caller, done func(), err error) {
	if o.local {
		local, err := a.localCaller(ctx)
		if err != nil {
			return nil, nil, err
		}
		return local, func() {}, nil
	}
	c, err := client.Connect(ctx, client.Options{})
	if err != nil {
		return nil, nil, err
	}
	return c, func() { c.Close() }, nil
}

// each sends the messages in their order and hands each one's decisions on.
func (o *decideOptions) each(ctx context.Context, to caller, messages []message, each func([]*decisions.Decision) error) error {
	declared := map[string]bool{}
	decided := 0
	for i, m := range messages {
		if m.method == "permd/session" {
			declared[sessionOf(m.params)] = true
		} else if id := sessionOf(m.params); !declared[id] {
			if err := o.declare(ctx, to, id); err != nil {
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
		return failf(exitUsage, "see permd decide --help", "the input asks for no decision")
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

func (o *decideOptions) declare(ctx context.Context, to caller, id string) error {
	p := client.Session{ID: id, Cwd: o.cwd, Client: &effects.Party{Name: "permd decide", Version: version()}}
	if o.agent != "" {
		name, v, _ := strings.Cut(o.agent, "@")
		p.Agent = &effects.Party{Name: name, Version: v}
	}
	if err := client.DeclareSession(ctx, to, &p); err != nil {
		return fmt.Errorf("declaring the session: %w", err)
	}
	return nil
}

// send sends one message and returns what was decided.
func send(ctx context.Context, to caller, m message) ([]*decisions.Decision, error) {
	switch {
	case m.notify:
		return nil, to.Notify(ctx, m.method, m.params)
	case m.method == "permd/session":
		return nil, to.Call(ctx, m.method, m.params, nil)
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
