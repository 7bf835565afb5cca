package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
)

// maxDecideInput is the most that `permd decide` reads, in bytes.
const maxDecideInput = 64 << 20

type decideOptions struct {
	local bool
	cwd   string
	agent string
	// observe is shown what this process decided from.
	observe func(*decisions.Deliberation)
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

` + cli.ExitCodes,
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
type caller interface {
	Call(ctx context.Context, method string, params, result any) error
	Notify(ctx context.Context, method string, params any) error
}

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
			if a.JSON {
				if err := cli.PrintJSON(a.Out, d); err != nil {
					return err
				}
				continue
			}
			if !first && n == 0 {
				fmt.Fprintln(a.Out)
			}
			first = false
			renderDecision(a.Out, d)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if code := cli.VerdictCode(strictest); code != cli.ExitOK {
		return &cli.Failure{Code: code}
	}
	return nil
}

// callerOf is who decides: the daemon, or this process.
func (a *app) callerOf(ctx context.Context, o *decideOptions) (to caller, done func(), err error) {
	if o.local {
		dirs, err := a.dirs()
		if err != nil {
			return nil, nil, err
		}
		local, err := engine.Local(ctx, dirs, a.root != "", a.Err, o.observe)
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

func (o *decideOptions) declare(ctx context.Context, to caller, id string) error {
	type party struct {
		Name    string `json:"name"`
		Version string `json:"version,omitzero"`
	}
	p := struct {
		SessionID string `json:"sessionId"`
		Cwd       string `json:"cwd"`
		Agent     *party `json:"agent,omitzero"`
		Client    party  `json:"client"`
	}{id, o.cwd, nil, party{"permd decide", buildinfo.Version()}}
	if o.agent != "" {
		name, v, _ := strings.Cut(o.agent, "@")
		p.Agent = &party{name, v}
	}
	if err := to.Call(ctx, "permd/session", p, nil); err != nil {
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
	return out.Decisions, checkAnswer(out.Decisions, callsIn(params))
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

// checkAnswer refuses an answer that does not decide each call: what is not
// there would count as allowed.
func checkAnswer(ds []*decisions.Decision, calls int) error {
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

func sendACP(ctx context.Context, to caller, params strictjson.Value) ([]*decisions.Decision, error) {
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
		return ds, checkAnswer(ds, 1)
	}
	if err != nil {
		return nil, err
	}
	if out.Meta.Permd == nil {
		return nil, errors.New("the answer carries no decision")
	}
	ds := []*decisions.Decision{out.Meta.Permd}
	return ds, checkAnswer(ds, 1)
}
