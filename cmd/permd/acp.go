package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/agentproc"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/rego"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/proxy"
)

func (a *app) acpCommand() *cobra.Command {
	var o acpFlags
	cmd := &cobra.Command{
		Use:   "acp [flags] -- AGENT [ARGS...]",
		Short: "Run an ACP agent behind permd",
		Long: `Run an ACP agent and answer its permission requests. Put "permd acp --" in front
of the agent's command in the settings of any ACP client (permd acp install does
it for some). permd starts the agent, relays all messages unchanged, and asks
the daemon about permission requests. The client never sees requests that rules
or remembered answers decide. It shows you the others, with what permd would
remember in place of the agent's "always".

permd also decides when the agent uses the client's terminals and files: a
denied use is an error for the agent, and if a rule asks, you are asked. With
--ask-gates, or the setting ask_gates, you are asked about every use that
nothing allows and that the agent did not ask about itself.

Calls that ran without a request are in the decision log (permd log list
--unasked) and counted by permd status.

Without a daemon, you answer all requests. If standard input is a terminal,
permd replaces itself with the agent, since that is how clients let users log
in. The exit code is that of the agent.

With --proxy, permd is one of the proxies that a conductor chains in front of an
agent. The conductor starts the agent and relays its messages.

` + cli.ExitCodes,
		Example: `  permd acp -- claude-agent-acp
  permd acp --require -- gemini --experimental-acp
  agent-client-protocol-conductor agent "permd acp --proxy" "claude-agent-acp"`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.proxy && len(args) > 0:
				return errors.New("with --proxy the conductor starts the agent: there is no command")
			case !o.proxy && (cmd.ArgsLenAtDash() != 0 || len(args) == 0):
				return errors.New("the agent's command is missing; give it after --")
			case !o.require && cmd.Flags().Changed("grace"):
				return errors.New("--grace needs --require")
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
	cmd.Flags().BoolVar(&o.proxy, "proxy", false, "run as a proxy in a conductor's chain; the conductor starts the agent")
	cmd.Flags().BoolVar(&o.require, "require", false, "require the daemon: do not start without it, and fail requests while it is down")
	o.grace = proxy.DefaultGrace
	cmd.Flags().Var(cli.Duration{To: &o.grace}, "grace", "with --require, stop the agent once the daemon has been down for this `duration`")
	cmd.Flags().BoolVar(&o.askGates, "ask-gates", false, "ask about every use of the client's terminals and files that nothing allows")
	cmd.Flags().BoolVar(&o.noReasons, "no-reasons", false, "do not add permd's reason to questions that the client shows")
	cmd.AddCommand(a.acpInstallCommand(), a.acpUninstallCommand())
	return cmd
}

type acpFlags struct {
	proxy, require, noReasons bool
	askGates                  bool
	grace                     time.Duration
}

// config returns the configuration of the proxy.
func (o acpFlags) config(say func(string)) proxy.Config {
	return proxy.Config{
		Rules:     proxy.Rules{Plain: allowOnceOption(), NoReasons: o.noReasons, Require: o.require, AskGates: o.askGates},
		Conducted: o.proxy,
		Grace:     max(o.grace, 1),
		Dial:      dialDaemon,
		Say:       say,
	}
}

func dialDaemon(ctx context.Context) (*client.Client, error) {
	return client.Connect(ctx, client.Options{})
}

// required returns an error if --require is set and the daemon is not reachable.
func (o acpFlags) required(ctx context.Context) error {
	if !o.require {
		return nil
	}
	c, err := dialDaemon(ctx)
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
	if a.AtTerminal() {
		return fmt.Errorf("starting the agent: %w", syscall.Exec(path, args, os.Environ()))
	}
	if err := o.required(ctx); err != nil {
		return err
	}
	say, silence := a.printer()
	code, broken, err := agentproc.Relay(ctx, a.Streams, path, args, 0, func(ctx context.Context, pipes *agentproc.Pipes, agent *agentproc.Agent) error {
		useOneProcessor(pipes)
		return proxy.Run(ctx, proxy.Peers{ClientIn: pipes.In, ClientOut: pipes.Out, AgentIn: agent.In, AgentOut: agent.Out}, o.config(say))
	})
	silence()
	if err != nil {
		return err
	}
	if errors.Is(broken, client.ErrUnreachable) {
		return broken
	}
	if code != 0 {
		return &cli.Failure{Code: code}
	}
	return nil
}

// allowOnceOption returns a function that names an agent's allow-once option, by the
// shipped profiles.
func allowOnceOption() func(effects.Party) string {
	profiles, err := tools.ParseProfiles(rego.Profiles())
	if err != nil {
		return nil
	}
	return profiles.OnceOption
}

// printer returns a function that prints to standard error without ever blocking:
// nobody may be reading it.
func (a *app) printer() (say func(string), end func()) {
	// The channel of texts stays open: what still runs at the end may say something.
	texts, stop, done := make(chan string, 64), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case t := <-texts:
				fmt.Fprintf(a.Err, "permd: %s\n", t)
			case <-stop:
				for len(texts) > 0 {
					fmt.Fprintf(a.Err, "permd: %s\n", <-texts)
				}
				return
			}
		}
	}()
	say = func(t string) {
		select {
		case texts <- t:
		default: // nobody reads standard error
		}
	}
	return say, func() {
		close(stop)
		select {
		case <-done:
		case <-time.After(time.Second):
		}
	}
}

// useOneProcessor lets the goroutines of a proxy take turns on one processor. A message goes
// through several of them, each of which does very little, and to wake another processor
// for each would take longer than all that they do.
func useOneProcessor(pipes *agentproc.Pipes) {
	if pipes.Polled() && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
}

// acpConducted runs as a proxy in a conductor's chain.
func (a *app) acpConducted(ctx context.Context, o acpFlags) error {
	if a.AtTerminal() {
		return cli.Failf(cli.ExitUsage, "configure it in a conductor: permd acp --proxy", "permd acp --proxy talks to a conductor, not to a terminal")
	}
	if err := o.required(ctx); err != nil {
		return err
	}
	pipes, err := agentproc.OpenPipes(a.Streams)
	if err != nil {
		return err
	}
	// Writing to a closed pipe must return an error, not end permd.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	useOneProcessor(pipes)
	say, silence := a.printer()
	broken := proxy.Run(ctx, proxy.Peers{ClientIn: pipes.In, ClientOut: pipes.Out}, o.config(say))
	pipes.Restore()
	silence()
	if errors.Is(broken, context.Canceled) { // by a signal
		return nil
	}
	return broken
}
