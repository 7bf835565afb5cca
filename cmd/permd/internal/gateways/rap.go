package gateways

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/socket/rap/gateway"
)

type rapFlags struct {
	config string
	listen listenFlags
}

// RAP returns the command permd rap.
func (g *Gateways) RAP() *cobra.Command {
	var o rapFlags
	cmd := &cobra.Command{
		Use:   "rap --config FILE [flags]",
		Short: "Offer HTTP tools to RAP runtimes behind permd",
		Long: `Serve the tools of a YAML file to runtimes of the Reactive Agent Protocol, and
decide every invocation. A call that rules, a remembered answer or you allow is
sent to its tool's server, and the result is posted to the runtime. You are
asked by the runtime, with a user_choice, and permd allow lists the question.
What is denied never reaches a tool.

The file names the runtimes that results may be sent to, and the address of
each tool; docs/tool-servers.md shows one. Redirects are not followed, and each
call is sent once at most.

Runtimes need the token, in ~/.local/state/permd/rap/token if --token-file names
no other, or are of this user on a Unix socket.
Without a daemon no call is made.

` + cli.ExitCodes,
		Example: `  permd rap --config tools.yaml
  permd rap --config tools.yaml --listen unix:/run/user/1000/rap/rap.sock`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.config == "" {
				return errors.New("--config names the file with the tools")
			}
			return g.rap(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.config, "config", "", "`file` with the tools and the runtimes' addresses")
	o.listen.add(cmd.Flags(), "127.0.0.1:7410")
	return cmd
}

func (g *Gateways) rap(ctx context.Context, o rapFlags) error {
	config, err := gateway.ReadConfig(o.config)
	if err != nil {
		return err
	}
	cwd, _, err := g.gatewayFolders("rap")
	if err != nil {
		return err
	}
	options := gateway.Options{Cwd: cwd, Dial: g.Dial}
	if options.Listener, options.Token, err = g.listen(&o.listen, "rap"); err != nil {
		return err
	}
	if options.Sent, err = g.sentCalls(options.Listener, "rap"); err != nil {
		return errors.Join(err, options.Listener.Close())
	}
	defer func() { _ = options.Sent.Close() }()
	say, silence := g.Printer()
	defer silence()
	options.Say = say
	say(listening(options.Listener))
	return gateway.New(config, options).Serve(ctx)
}
