package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/permd/permd/cmd/permd/internal/agentproc"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/socket/proxy"
)

// acpConducted is one proxy of a conductor's chain.
func (a *app) acpConducted(ctx context.Context, o acpFlags) error {
	if in, ok := a.In.(*os.File); ok && agentproc.IsTerminal(in) {
		return cli.Failf(cli.ExitUsage, "give a conductor the command: permd acp --proxy", "a conductor speaks to permd acp --proxy, and not a terminal")
	}
	if err := o.required(ctx); err != nil {
		return err
	}
	pipes, err := agentproc.OpenPipes(a.Streams)
	if err != nil {
		return err
	}
	// A conductor that is gone is an error of a write, and not permd's end.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	say, silence := a.acpSay()
	broken := proxy.Run(ctx, proxy.Peers{ClientIn: pipes.In, ClientOut: pipes.Out}, o.config(say))
	pipes.Restore()
	silence()
	if errors.Is(broken, context.Canceled) { // by a signal
		return nil
	}
	return broken
}
