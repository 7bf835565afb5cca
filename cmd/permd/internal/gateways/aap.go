package gateways

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/permd/permd/socket/aap/gateway"

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
	local   bool
	cwd     string
	client  string
	gateway gatewayFlags
}

// AAP returns the command permd aap.
func (g *Gateways) AAP() *cobra.Command {
	var o aapOptions
	cmd := &cobra.Command{
		Use:         "aap TURN.json|- | --upstream URL --listen ADDRESS",
		Annotations: map[string]string{"effect": "reads"},
		Short:       "Decide the calls of an AAP turn, or be an AAP gateway",
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

With --upstream the command is a gateway: a server of the protocol in front of
the one at URL, for clients and servers that need not know permd. It passes
turns and histories on and has the daemon decide every call. Calls of the
client's tools are held until they are decided; permissions for the server's are
given or refused by rules and remembered answers. What is left to you is asked
by the client, as its own permissions are, or waits for permd allow. Clients use
the gateway's address as the server's, and as their API key the token, in
~/.local/state/permd/aap/token if --token-file names no other; over a Unix
socket their own key is passed on. Without a daemon no call runs. Tools that the
client trusts wait for permd as well, unless you say --keep-trust.

` + cli.ExitCodes,
		Example: `  permd aap turn.json
  echo '{"agent":{"name":"a"},"turn":{"stopReason":"end_turn","messages":[]}}' |
    permd aap --local -
  permd aap --upstream https://agents.example.com/v1 --listen 127.0.0.1:7400`,
		Args: func(_ *cobra.Command, args []string) error { return o.gateway.check(o.local, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.gateway.upstream != "" {
				cwd, err := o.folder()
				if err != nil {
					return err
				}
				return g.runGateway(cmd.Context(), &o.gateway, cwd, o.client)
			}
			return g.aap(cmd.Context(), args[0], &o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.local, "local", false, "decide in this process, without the daemon")
	f.StringVar(&o.cwd, "cwd", "", "working `directory` of the session (default: the current one)")
	o.gateway.add(f)
	f.StringVar(&o.client, "client", "", "`client` that runs the client's tools, NAME or NAME@VERSION")
	return cmd
}

func (g *Gateways) aap(ctx context.Context, file string, o *aapOptions) error {
	data, err := decide.ReadInput(g.In, file)
	if err != nil {
		return err
	}
	session, params, err := aapParams(data)
	if err != nil {
		return cli.Failf(cli.ExitUsage, "docs/protocol.md says what aap/permissions takes; see permd aap --help", "reading %s: %v", decide.InputName(file), err)
	}
	if o.cwd, err = o.folder(); err != nil {
		return err
	}
	to, done, err := g.Caller(ctx, o.local)
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
	if g.JSON {
		err = cli.PrintJSON(g.Out, &r)
	} else {
		err = g.renderTurn(g.Out, &r)
	}
	if err == nil && code != cli.ExitOK {
		err = &cli.Failure{Code: code}
	}
	return err
}

// folder returns the session's folder.
func (o *aapOptions) folder() (string, error) {
	dir := o.cwd
	var err error
	if dir == "" {
		dir, err = os.Getwd()
	}
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	return dir, nil
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
func (g *Gateways) renderTurn(w io.Writer, r *aap.Result) error {
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
			g.Render(&text, c.Decision)
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

// gatewayFlags are the options of permd aap as a gateway.
type gatewayFlags struct {
	upstream, keyFile    string
	listen               listenFlags
	keepTrust, noAnswers bool
	wait                 time.Duration
}

func (o *gatewayFlags) add(f *pflag.FlagSet) {
	f.StringVar(&o.upstream, "upstream", "", "be a gateway to the server with this base `URL`")
	o.listen.add(f, "")
	f.StringVar(&o.keyFile, "key-file", "", "`file` with the API key of the server")
	f.BoolVar(&o.keepTrust, "keep-trust", false, "let the server run the tools that a client trusts")
	f.BoolVar(&o.noAnswers, "no-client-answers", false, "leave all questions to permd allow")
	o.wait = 10 * time.Minute
	f.Var(cli.Duration{To: &o.wait}, "wait", "how long a call waits for permd allow, a `duration` such as 90s or 10m (default 10m)")
	for _, name := range []string{"upstream", "listen", "token-file", "key-file", "keep-trust", "no-client-answers", "wait"} {
		// What only reads is the command without them.
		f.Lookup(name).Annotations = map[string][]string{"effect": {"changes"}}
	}
}

// check checks the arguments of permd aap.
func (o *gatewayFlags) check(local bool, args []string) error {
	switch {
	case o.upstream == "" && (o.listen != (listenFlags{}) || o.keyFile != "" || o.keepTrust || o.noAnswers):
		return errors.New("the options of a gateway need --upstream URL")
	case o.upstream == "" && len(args) != 1:
		return errors.New("TURN.json is missing, or - for standard input; or --upstream URL for a gateway")
	case o.upstream == "":
		return nil
	case len(args) > 0:
		return errors.New("with --upstream there is no TURN.json")
	case o.listen.address == "":
		return errors.New("--listen ADDRESS is missing")
	case local:
		return errors.New("a gateway asks the daemon: there is no --local")
	case o.wait > time.Hour:
		return errors.New("--wait is at most 1h")
	}
	return nil
}

// runGateway serves until ctx ends.
func (g *Gateways) runGateway(ctx context.Context, o *gatewayFlags, cwd, name string) error {
	upstream, err := url.Parse(o.upstream)
	if err != nil {
		return cli.Failf(cli.ExitUsage, "see permd aap --help", "--upstream is no address")
	}
	party := effects.Party{Name: "permd aap", Version: buildinfo.Version()}
	if name != "" {
		party.Name, party.Version, _ = strings.Cut(name, "@")
	}
	say, silence := g.Printer()
	defer silence()
	cfg := gateway.Config{
		Upstream: upstream, Cwd: cwd, Client: party, KeepTrust: o.keepTrust, NoClientAnswers: o.noAnswers, Wait: o.wait, Dial: g.Dial, Say: say,
	}
	if o.keyFile != "" {
		if cfg.Key, err = readSecret(o.keyFile); err != nil {
			return err
		}
	}
	ln, token, err := g.listen(&o.listen, "aap")
	if err != nil {
		return err
	}
	cfg.Token = token
	if cfg.Sent, err = g.sentCalls(ln, "aap"); err != nil {
		return errors.Join(err, ln.Close())
	}
	defer func() { _ = cfg.Sent.Close() }()
	served, err := gateway.New(cfg)
	if err != nil {
		return errors.Join(cli.Failf(cli.ExitUsage, "see permd aap --help", "--upstream: %v", err), ln.Close())
	}
	say(listening(ln))
	return served.Serve(ctx, ln)
}
