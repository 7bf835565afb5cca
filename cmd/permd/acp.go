package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/agentproc"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/rego"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/proxy"
)

func (a *app) acpCommand() *cobra.Command {
	var o acpFlags
	cmd := &cobra.Command{
		Use:   "acp [flags] -- AGENT [ARGS...]",
		Short: "Run an ACP agent with permd answering its permission requests",
		Long: `Run an ACP agent with permd answering its permission requests. Put it in
front of the agent's command in the settings of any ACP client (permd acp install
does it for some): it starts the agent, passes on what the two say to each other,
byte for byte, and asks the daemon about permission requests. What rules or
remembered answers decide, the client never sees. What they leave to you it shows,
with what permd would remember in the place of the agent's "always".

The client's terminals and files are looked at too, when the agent uses them:
what permd denies is an error to the agent, and what a rule asks about you are
asked. With --ask-gates, or the setting ask_gates, you are asked of all that is not
allowed and that the agent did not ask for itself.

Calls that ran although the agent asked nobody are in the decision log: permd log
list --unasked, and permd status counts them.

Without a daemon all requests are yours to answer. The exit code is that of
the agent. Started at a terminal, permd makes way for the agent: that is how
clients have their users log in.

With --proxy permd is one of the proxies that a conductor chains in front of an
agent. It starts nothing then: the conductor does, and carries what the agent
says.

` + cli.ExitCodes,
		Example: `  permd acp -- claude-agent-acp
  permd acp --require -- gemini --experimental-acp
  agent-client-protocol-conductor agent "permd acp --proxy" "claude-agent-acp"`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.proxy && len(args) > 0:
				return errors.New("with --proxy the conductor starts the agent: there is no command")
			case !o.proxy && (cmd.ArgsLenAtDash() != 0 || len(args) == 0):
				return errors.New("the agent's command is missing; it stands behind --")
			case !o.require && cmd.Flags().Changed("grace"):
				return errors.New("--grace says something only with --require")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.proxy {
				return a.acpConducted(cmd.Context(), o)
			}
			return a.acp(cmd.Context(), args, o)
		},
	}
	cmd.Flags().BoolVar(&o.proxy, "proxy", false, "be a proxy in the chain of a conductor, which starts the agent")
	cmd.Flags().BoolVar(&o.require, "require", false, "do not run the agent without the daemon, and have what needs it fail while it is gone")
	cmd.Flags().DurationVar(&o.grace, "grace", proxy.DefaultGrace, "with --require, how long the daemon may be gone before the agent is ended")
	cmd.Flags().BoolVar(&o.askGates, "ask-gates", false, "ask you about terminals and files of the client that nobody has allowed")
	cmd.Flags().BoolVar(&o.noReasons, "no-reasons", false, "do not add permd's reason to what the client shows")
	cmd.AddCommand(a.acpInstallCommand(), a.acpUninstallCommand())
	return cmd
}

type acpFlags struct {
	proxy, require, noReasons bool
	askGates                  bool
	grace                     time.Duration
}

// config is what the proxy goes by.
func (o acpFlags) config(say func(string)) proxy.Config {
	return proxy.Config{
		Rules:     proxy.Rules{Plain: plainOption(), NoReasons: o.noReasons, Require: o.require, AskGates: o.askGates},
		Conducted: o.proxy,
		Grace:     max(o.grace, 1),
		Dial:      dialForACP,
		Say:       say,
	}
}

func dialForACP(ctx context.Context) (*client.Client, error) {
	return client.Connect(ctx, client.Options{})
}

// required returns why the daemon that is required is not there.
func (o acpFlags) required(ctx context.Context) error {
	if !o.require {
		return nil
	}
	c, err := dialForACP(ctx)
	if err != nil {
		return err
	}
	c.Close()
	return nil
}

func (a *app) acp(ctx context.Context, args []string, o acpFlags) error {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return cli.Failf(cli.ExitError, "is the agent installed, and in PATH?", "finding the agent: %v", err)
	}
	if in, ok := a.In.(*os.File); ok && agentproc.IsTerminal(in) {
		return fmt.Errorf("starting the agent: %w", syscall.Exec(path, args, os.Environ()))
	}
	if err := o.required(ctx); err != nil {
		return err
	}
	pipes, err := agentproc.OpenPipes(a.Streams)
	if err != nil {
		return err
	}
	// Signals are the agent's business: it ends as it wants to, and permd after
	// it.
	signals := make(chan os.Signal, 8)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) { // nohup, for one, has the agent ignore it as well
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)
	// A peer that is gone is an error of a write, and not permd's end.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	agent, err := agentproc.Start(path, args, a.Err)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	go agent.Attend(signals, stop)

	say, silence := a.acpSay()
	peers := proxy.Peers{ClientIn: pipes.In, ClientOut: pipes.Out, AgentIn: agent.In, AgentOut: agent.Out}
	broken := proxy.Run(ctx, peers, o.config(say))
	pipes.Restore()
	code := agent.End(broken != nil)
	silence()
	if errors.Is(broken, client.ErrUnreachable) {
		return broken
	}
	if code != 0 {
		return &cli.Failure{Code: code}
	}
	return nil
}

// plainOption names the option for once of agents that offer several, by the
// shipped profiles.
func plainOption() func(effects.Party) string {
	profiles, err := effects.ParseProfiles(rego.Profiles())
	if err != nil {
		return nil
	}
	return profiles.OnceOption
}

// acpSay tells the person something on the standard error, which nobody may
// read.
func (a *app) acpSay() (say func(string), end func()) {
	texts, done := make(chan string, 64), make(chan struct{})
	go func() {
		defer close(done)
		for t := range texts {
			fmt.Fprintf(a.Err, "permd: %s\n", t)
		}
	}()
	say = func(t string) {
		select {
		case texts <- t:
		default: // nobody reads it
		}
	}
	return say, func() {
		close(texts)
		select {
		case <-done:
		case <-time.After(time.Second):
		}
	}
}

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
