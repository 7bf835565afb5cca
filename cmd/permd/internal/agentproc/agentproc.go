// Package agentproc runs the agent process of permd acp: its process group, the
// signals that are forwarded to it, and the pipes to agent and client.
package agentproc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// gracePeriod is the wait for an agent that was told to end, and for a client that does
// not read.
const gracePeriod = 5 * time.Second

// Agent is the agent's process, which leads a process group of its own.
type Agent struct {
	cmd        *exec.Cmd
	In, Out    *os.File
	exited     chan struct{}
	groupEnded chan struct{} // closed when no process of the group is left
}

// start starts a program in a process group of its own, with pipes to it.
func start(path string, args []string, stderr io.Writer) (*Agent, error) {
	//nolint:forbidigo // the agent that the person named on the command line
	cmd := exec.Command(path)
	cmd.Args = args
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Not the pipes of os/exec: Wait closes them and unread output is lost.
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
	return &Agent{cmd, inWrite, outRead, make(chan struct{}), make(chan struct{})}, nil
}

// supervise forwards signals to the agent's process group and waits for the agent to
// end. It then ends what is left of the group.
func (g *Agent) supervise(signals <-chan os.Signal, kill time.Duration, stop context.CancelCauseFunc) {
	go func() {
		_ = g.cmd.Wait() // ProcessState has the result
		close(g.exited)
		g.sweep()
		close(g.groupEnded)
	}()
	signalled := false
	var late <-chan time.Time
	for {
		select {
		case s := <-signals:
			signalled = true
			g.signal(s.(syscall.Signal))
			if kill > 0 && late == nil && (s == syscall.SIGTERM || s == syscall.SIGHUP) {
				late = time.After(kill)
			}
			continue
		case <-late:
			g.signal(syscall.SIGKILL)
			continue
		case <-g.exited:
		}
		break
	}
	_ = g.Out.SetReadDeadline(time.Now().Add(6 * gracePeriod))
	if !signalled {
		return
	}
	// The client may not have read the agent's last output yet.
	time.Sleep(gracePeriod)
	stop(errors.New("ended by a signal"))
}

// Exits waits for the program to exit, and reports whether it has within that time.
func (g *Agent) Exits(within time.Duration) bool {
	select {
	case <-g.exited:
		return true
	case <-time.After(within):
		return false
	}
}

// sweep terminates processes of the agent's group that still run after the agent
// has exited. They would keep its output open and outlive permd.
func (g *Agent) sweep() {
	g.signal(syscall.SIGTERM)
	// Looking takes time of its own: it reads a file of each process of the machine.
	const longest = 100 * time.Millisecond
	end := time.Now().Add(gracePeriod)
	for pause := 5 * time.Millisecond; time.Now().Before(end); pause = min(2*pause, longest) {
		if !groupAlive(g.cmd.Process.Pid) {
			return
		}
		time.Sleep(pause)
	}
	g.signal(syscall.SIGKILL)
}

func (g *Agent) signal(s syscall.Signal) {
	_ = syscall.Kill(-g.cmd.Process.Pid, s)
}

// End waits for the agent, which has closed its output, and returns its exit code, or
// 128 plus the signal's number if a signal ended it. If broken is set, the conversation
// ended with an error, and the agent is sent SIGTERM and then SIGKILL.
func (g *Agent) End(broken bool) int {
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
		case <-time.After(gracePeriod):
		}
	}
	<-g.groupEnded
	status, ok := g.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return g.cmd.ProcessState.ExitCode()
}
