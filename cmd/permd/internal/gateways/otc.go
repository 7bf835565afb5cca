package gateways

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/socket/mcp"
	"github.com/permd/permd/socket/otc/gateway"
)

type otcFlags struct {
	config string
	listen listenFlags
}

// OTC returns the command permd otc.
func (g *Gateways) OTC() *cobra.Command {
	var o otcFlags
	cmd := &cobra.Command{
		Use:   "otc --config FILE --listen ADDRESS",
		Short: "Serve tool servers of Open Tool Calling behind permd",
		Long: `Serve the tools of servers of Open Tool Calling (Open eXecution Protocol), and
decide every call: GET /tools lists them, POST /tools/call calls one. A call
reaches its server only if rules, a remembered answer or you allow it.

The configuration names the servers, their toolkits, and where the credentials
are that their tools require: files, or credentials of the service manager
(LoadCredential=). permd adds them to calls that may run. Callers, the daemon
and the log never see them.

A call that waits for you is answered with the address where its caller can look
for your answer; permd allow lists it. Once you have allowed it, the same call
with the same call_id runs. A caller that sends "Prefer: wait=SECONDS" waits.

The address is unix:PATH, where only you are served, or a loopback address with
its port, where callers need the token in ~/.local/state/permd/otc/token.

Without a daemon no call is made.

` + cli.ExitCodes,
		Example: `  permd otc --config tools.yaml --listen 127.0.0.1:7411
  permd otc --config tools.yaml --listen unix:/run/user/1000/permd-otc/otc.sock`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return errors.New("the command has no arguments")
			case o.config == "":
				return errors.New("--config names the file with the tool servers")
			case o.listen.address == "":
				return errors.New("--listen is unix:PATH, or a loopback address with its port")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return g.otc(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.config, "config", "", "`file` with the tool servers")
	o.listen.add(cmd.Flags(), "")
	return cmd
}

func (g *Gateways) otc(ctx context.Context, o otcFlags) error {
	config, err := gateway.ReadConfig(o.config)
	if err != nil {
		return cli.Failf(cli.ExitError, "see examples/otc/tools.yaml", "%v", err)
	}
	cwd, data, err := g.gatewayFolders("otc")
	if err != nil {
		return err
	}
	say, silence := g.Printer()
	defer silence()
	opts := gateway.Options{Dial: g.Dial, Cwd: cwd, Pins: mcp.OpenPins(data, "otc"), Say: say}
	ln, token, err := g.listen(&o.listen, "otc")
	if err != nil {
		return err
	}
	opts.Token = token
	if opts.Sent, err = g.sentCalls(ln, "otc"); err != nil {
		return errors.Join(err, ln.Close())
	}
	defer func() { _ = opts.Sent.Close() }()
	say(listening(ln))
	return gateway.New(config, opts).Serve(ctx, ln)
}
