package agentproc

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// Relay starts a program between which and the standard streams run passes messages. It
// forwards signals to the program and exits after it. If the program runs on for the time kill
// after SIGTERM or SIGHUP, it is sent SIGKILL; 0 is never. code is the program's exit code, broken
// the error of run; err means that the program could not be started.
func Relay(ctx context.Context, streams cli.Streams, path string, args []string, kill time.Duration, run func(context.Context, *Pipes, *Agent) error) (code int, broken, err error) {
	pipes, err := OpenPipes(streams)
	if err != nil {
		return 0, nil, err
	}
	signals := make(chan os.Signal, 8)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) { // as under nohup: the program ignores it as well
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)
	// Writing to a closed pipe must return an error, not end permd.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	agent, err := start(path, args, streams.Err)
	if err != nil {
		pipes.Restore()
		return 0, nil, err
	}
	ctx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	go agent.supervise(signals, kill, stop)
	broken = run(ctx, pipes, agent)
	pipes.Restore()
	return agent.End(broken != nil), broken, nil
}
