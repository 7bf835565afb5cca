package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/decide"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/aap"
	"github.com/permd/permd/socket/client"
)

type aapOptions struct {
	local  bool
	cwd    string
	client string
}

func (a *app) aapCommand() *cobra.Command {
	var o aapOptions
	cmd := &cobra.Command{
		Use:         "aap TURN.json|-",
		Annotations: readsOnly,
		Short:       "Decide the calls of a stopped AAP turn",
		Long: `Decide all calls of a turn of the Agent Application Protocol that has stopped
for tool use. TURN.json, or standard input, holds the params of aap/permissions:
the agent with its tools, the client's tools, and the turn or the history. A
sessionId is not needed. Prints what happens to each call and, if no call is
left to the person, the messages to post.

By default the daemon decides. With --local this process decides with the same
policies, without memory, and logs nothing: use it to try out policies, not to
enforce them. The command does not take the person's answers; a client sends
them with aap/answer.

The exit code is that of the strictest outcome: 5 if a call is denied, otherwise
6 if a call is left to the person, otherwise 0.

` + cli.ExitCodes,
		Example: `  permd aap turn.json
  echo '{"agent":{"name":"a"},"turn":{"stopReason":"end_turn","messages":[]}}' |
    permd aap --local -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.aap(cmd.Context(), args[0], &o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.local, "local", false, "decide in this process, without the daemon")
	f.StringVar(&o.cwd, "cwd", "", "working `directory` of the session (default: the current one)")
	f.StringVar(&o.client, "client", "", "`client` that runs the client's tools, NAME or NAME@VERSION")
	return cmd
}

func (a *app) aap(ctx context.Context, file string, o *aapOptions) error {
	data, err := decide.ReadInput(a.In, file)
	if err != nil {
		return err
	}
	session, params, err := aapParams(data)
	if err != nil {
		return cli.Failf(cli.ExitUsage, "docs/protocol.md says what aap/permissions takes; see permd aap --help", "reading %s: %v", decide.InputName(file), err)
	}
	if o.cwd == "" {
		if o.cwd, err = os.Getwd(); err != nil {
			return fmt.Errorf("finding the working directory: %w", err)
		}
	}
	if o.cwd, err = filepath.Abs(o.cwd); err != nil {
		return fmt.Errorf("finding the working directory: %w", err)
	}
	to, done, err := a.caller(ctx, &decideOptions{local: o.local})
	if err != nil {
		return err
	}
	defer done()
	if _, err := client.DeclareSession(ctx, to, o.session(session)); err != nil {
		return fmt.Errorf("declaring the session: %w", err)
	}
	var r aap.Result
	if err := to.Call(ctx, aap.MethodPermissions, params, &r); err != nil {
		if e, ok := errors.AsType[*client.Error](err); ok && e.Code == socket.CodeParams {
			return cli.Failf(cli.ExitUsage, "nothing was decided; docs/protocol.md says what aap/permissions takes", "deciding the turn: %v", e)
		}
		return fmt.Errorf("deciding the turn: %w", err)
	}
	code, err := outcomeCode(&r)
	if err != nil {
		return err
	}
	if a.JSON {
		err = cli.PrintJSON(a.Out, &r)
	} else {
		err = renderTurn(a.Out, &r)
	}
	if err == nil && code != cli.ExitOK {
		err = &cli.Failure{Code: code}
	}
	return err
}

// aapParams returns the params of aap/permissions from a file, which contains them or a
// message with them.
func aapParams(data []byte) (session string, params strictjson.Value, err error) {
	values, err := strictjson.Values(data)
	if err != nil {
		return "", nil, err
	}
	if len(values) != 1 {
		return "", nil, errors.New("it must hold one JSON object")
	}
	o, err := strictjson.ParseObject(values[0])
	if err != nil {
		return "", nil, err
	}
	if raw, ok := o.Get("method"); ok {
		if method, _ := strictjson.ParseString(raw); method != aap.MethodPermissions {
			return "", nil, errors.New("the message is not of " + aap.MethodPermissions)
		}
		inner, _ := o.Get("params")
		if o, err = strictjson.ParseObject(inner); err != nil {
			return "", nil, fmt.Errorf("params: %w", err)
		}
	}
	const own = "permd-aap"
	members := map[string]strictjson.Value{"sessionId": strictjson.Value(`"` + own + `"`)}
	for _, m := range o {
		members[m.Name] = m.Value
	}
	session, ok := strictjson.ParseString(members["sessionId"])
	if !ok || session == "" {
		return "", nil, errors.New("sessionId must be text")
	}
	if _, ok := o.Get("batchId"); ok {
		return "", nil, errors.New("a batch can only be repeated by the client that asked for it: leave batchId out")
	}
	params, err = json.Marshal(members, json.Deterministic(true))
	return session, params, err
}

// session returns the declaration of the turn's session.
func (o *aapOptions) session(id string) *client.Session {
	name, v, _ := strings.Cut(o.client, "@")
	if name == "" {
		name, v = "permd aap", buildinfo.Version()
	}
	return &client.Session{ID: id, Cwd: o.cwd, Client: &effects.Party{Name: name, Version: v}}
}

// outcomeCode returns the exit code for the strictest outcome. An unknown outcome is an
// error, because it would otherwise count as an allow.
func outcomeCode(r *aap.Result) (int, error) {
	strictest := decisions.Allow
	for _, c := range r.Calls {
		switch c.Outcome {
		case aap.Granted, aap.Execute, aap.Skip:
		case aap.Ask:
			strictest = decisions.Stricter(strictest, decisions.Ask)
		case aap.Denied:
			strictest = decisions.Deny
		default:
			return cli.ExitError, errors.New("reading permd's answer: a call without a known outcome")
		}
	}
	return cli.VerdictCode(strictest), nil
}

// outcomeMarks are printed before the outcomes of calls.
var outcomeMarks = map[aap.Outcome]string{
	aap.Granted: "✓", aap.Execute: "✓", aap.Ask: "?", aap.Denied: "✗", aap.Skip: "-",
}

// renderTurn prints the result of a turn in readable form.
func renderTurn(w io.Writer, r *aap.Result) error {
	if len(r.Calls) == 0 {
		fmt.Fprintln(w, "no call waits")
	}
	for _, c := range r.Calls {
		fmt.Fprintf(w, "%s %s: %s, %s's tool %s", outcomeMarks[c.Outcome], display.Display(c.ToolCallID), c.Outcome, c.Side, display.Display(c.Name))
		if c.Reason != "" {
			fmt.Fprintf(w, ": %s", display.Display(c.Reason))
		}
		fmt.Fprintln(w)
		if c.Decision != nil {
			var text strings.Builder
			renderDecision(&text, c.Decision)
			for line := range strings.Lines(text.String()) {
				fmt.Fprint(w, "    "+line)
			}
		}
	}
	switch {
	case r.Messages == nil:
		fmt.Fprintln(w, "nothing is to be posted before the person has answered")
		return nil
	case len(r.Needs.Results) > 0:
		fmt.Fprintln(w, "to post, with the results of what the client runs:")
	default:
		fmt.Fprintln(w, "to post:")
	}
	return cli.PrintIndented(w, r.Messages)
}
