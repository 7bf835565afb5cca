package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/rego"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/proxy"
)

// acpGrace is how long an agent that was told to end, and a client that does not
// read, are waited for.
const acpGrace = 5 * time.Second

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

` + exitCodes,
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
		return failf(exitError, "is the agent installed, and in PATH?", "finding the agent: %v", err)
	}
	if in, ok := a.in.(*os.File); ok && isTerminal(in) {
		return fmt.Errorf("starting the agent: %w", syscall.Exec(path, args, os.Environ()))
	}
	if err := o.required(ctx); err != nil {
		return err
	}
	pipes, err := a.acpPipes()
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
	agent, err := startAgent(path, args, a.err)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	go agent.attend(signals, stop)

	say, silence := a.acpSay()
	peers := proxy.Peers{ClientIn: pipes.in, ClientOut: pipes.out, AgentIn: agent.in, AgentOut: agent.out}
	broken := proxy.Run(ctx, peers, o.config(say))
	pipes.restore()
	code := agent.end(broken != nil)
	silence()
	if errors.Is(broken, client.ErrUnreachable) {
		return broken
	}
	if code != 0 {
		return &failure{code: code}
	}
	return nil
}

// plainOption names the option for once of agents that offer several, by the
// shipped profiles.
func plainOption() func(effects.Party) string {
	profiles, err := tools.ParseProfiles(rego.Profiles())
	if err != nil {
		return nil
	}
	return profiles.OnceOption
}

// acpPipes are the client's ends. Reads and writes on them can be interrupted,
// so that the end of the agent ends them.
type acpPipes struct {
	in, out *os.File
	kept    []int // the same, to set back what others may share with permd
}

func (a *app) acpPipes() (*acpPipes, error) {
	in, ok := a.in.(*os.File)
	out, ok2 := a.out.(*os.File)
	if !ok || !ok2 {
		return nil, errors.New("standard input and output are no files")
	}
	p := new(acpPipes)
	for _, end := range []struct {
		from *os.File
		to   **os.File
	}{{in, &p.in}, {out, &p.out}} {
		fd, err := unix.FcntlInt(end.from.Fd(), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return nil, fmt.Errorf("opening the client's pipes: %w", err)
		}
		// The agent writes to the standard error, and must not find it changed.
		if !a.sameAsStderr(fd) {
			if kept, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3); err == nil {
				p.kept = append(p.kept, kept)
				_ = unix.SetNonblock(fd, true) // a file that cannot be is never waited for
			}
		}
		*end.to = os.NewFile(uintptr(fd), end.from.Name())
	}
	// The client sees the end of a pipe when its last descriptor is closed.
	in.Close()
	out.Close()
	return p, nil
}

func (a *app) sameAsStderr(fd int) bool {
	stderr, ok := a.err.(*os.File)
	if !ok {
		return false
	}
	var x, y unix.Stat_t
	return unix.Fstat(fd, &x) != nil || unix.Fstat(int(stderr.Fd()), &y) != nil || x.Dev == y.Dev && x.Ino == y.Ino
}

func (p *acpPipes) restore() {
	for _, fd := range p.kept {
		_ = unix.SetNonblock(fd, false)
		_ = unix.Close(fd)
	}
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}

// acpSay tells the person something on the standard error, which nobody may
// read.
func (a *app) acpSay() (say func(string), end func()) {
	texts, done := make(chan string, 64), make(chan struct{})
	go func() {
		defer close(done)
		for t := range texts {
			fmt.Fprintf(a.err, "permd: %s\n", t)
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

// acpAgent is the agent's process, the leader of a group of its own.
type acpAgent struct {
	cmd     *exec.Cmd
	in, out *os.File
	exited  chan struct{}
	swept   chan struct{} // closed when nothing that it started is left
}

func startAgent(path string, args []string, stderr io.Writer) (*acpAgent, error) {
	//nolint:forbidigo // the agent that the person named on the command line
	cmd := exec.Command(path)
	cmd.Args = args
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Pipes of our own: those of the package are closed by Wait, with what was
	// not read yet.
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting the agent: %w", err)
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		inRead.Close()
		inWrite.Close()
		return nil, fmt.Errorf("starting the agent: %w", err)
	}
	cmd.Stdin, cmd.Stdout = inRead, outWrite
	err = cmd.Start()
	inRead.Close()
	outWrite.Close()
	if err != nil {
		inWrite.Close()
		outRead.Close()
		return nil, fmt.Errorf("starting the agent: %w", err)
	}
	return &acpAgent{cmd, inWrite, outRead, make(chan struct{}), make(chan struct{})}, nil
}

// attend passes signals on to the agent and all that it started, and sees to it
// that nothing is left when it has ended.
func (g *acpAgent) attend(signals <-chan os.Signal, stop context.CancelCauseFunc) {
	go func() {
		_ = g.cmd.Wait() // the state says all
		close(g.exited)
		g.sweep()
		close(g.swept)
	}()
	signalled := false
	for {
		select {
		case s := <-signals:
			signalled = true
			g.signal(s.(syscall.Signal))
			continue
		case <-g.exited:
		}
		break
	}
	_ = g.out.SetReadDeadline(time.Now().Add(6 * acpGrace))
	if !signalled {
		return
	}
	// Who has ended the agent may not read any more what it said last.
	time.Sleep(acpGrace)
	stop(errors.New("ended by a signal"))
}

// sweep ends what the agent has left behind in its group. It would keep the
// agent's output open, and outlive permd.
func (g *acpAgent) sweep() {
	g.signal(syscall.SIGTERM)
	const step = 10 * time.Millisecond
	for waited := time.Duration(0); waited < acpGrace; waited += step {
		if !groupAlive(g.cmd.Process.Pid) {
			return
		}
		time.Sleep(step)
	}
	g.signal(syscall.SIGKILL)
}

func (g *acpAgent) signal(s syscall.Signal) {
	_ = syscall.Kill(-g.cmd.Process.Pid, s)
}

// end waits for the agent, which has closed its output, and returns its exit
// code; 128 and the signal's number if one ended it. When the conversation was
// broken off, the agent is told to end.
func (g *acpAgent) end(broken bool) int {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if !broken {
			break
		}
		select {
		case <-g.exited:
			broken = false
			continue
		default:
		}
		g.signal(s)
		select {
		case <-g.exited:
		case <-time.After(acpGrace):
		}
	}
	<-g.swept
	status, ok := g.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return g.cmd.ProcessState.ExitCode()
}
