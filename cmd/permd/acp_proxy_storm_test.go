package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/proxy"
)

// stormRounds is the environment variable that says how many conversations a storm has.
const stormRounds = "PERMD_TEST_STORM_ROUNDS"

func stormSettings(t *testing.T, few, many int) (int, uint64) {
	t.Helper()
	return testload.Rounds(t, stormRounds, few, many), testload.Seed(t)
}

// TestProxyStorm: an agent and a client send valid and broken messages at once, answer,
// stop reading and die at any byte, while the daemon dies, stops and restarts. Messages
// arrive unchanged, once, in order and without gaps. If neither peer died, everything
// arrives and each request has one answer. No process or goroutine of the proxy is
// left.
func TestProxyStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it loads the proxy and kills daemons")
	}
	before := goleak.IgnoreCurrent() // so it runs alone
	rounds, seed := stormSettings(t, 5, 15)
	d := newTestDaemon(t)
	d.start(t)
	for round := range rounds {
		s := newStorm(rand.New(rand.NewPCG(seed, uint64(round))))
		ctx, stop := context.WithCancel(context.Background())
		var peers proxy.Peers
		var ends [4]*os.File
		peers.ClientIn, ends[0] = pipe(t)
		ends[1], peers.ClientOut = pipe2(t)
		ends[2], peers.AgentIn = pipe2(t)
		peers.AgentOut, ends[3] = pipe(t)
		done := make(chan error, 1)
		go func() {
			done <- proxy.Run(ctx, peers, proxy.Config{
				Dial: func(ctx context.Context) (*client.Client, error) {
					return client.Dial(ctx, d.socket(), client.Options{})
				},
				Say: func(string) {}, Timeout: 100 * time.Millisecond, Retry: 5 * time.Millisecond,
			})
		}()
		hears, agentHears := bufio.NewReader(ends[1]), bufio.NewReader(ends[2])
		greet(t, talkers{ends[0], hears, ends[3], agentHears}, "claude-agent-acp", "0.100.0", "1", "s1", d.home)
		s.client = newStormPeer(false, s.rng, ends[0], readCloser{hears, ends[1]})
		s.agent = newStormPeer(true, s.rng, ends[3], readCloser{agentHears, ends[2]})
		s.run(t, d, nil)
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("round %d: the conversation was broken off: %v", round, err)
			}
		case <-time.After(eventually.Limit):
			t.Fatalf("round %d: the proxy does not end", round)
		}
		stop()
		s.check(t, round)
		if t.Failed() {
			return
		}
	}
	d.kill()
	goleak.VerifyNone(t, before)
}

// TestProxyStormProcess is the same with the real program, and an agent that is
// killed too. No process is left.
func TestProxyStormProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it loads the proxy and kills agents")
	}
	t.Parallel()
	rounds, seed := stormSettings(t, 3, 8)
	d := newTestDaemon(t)
	d.start(t)
	for round := range rounds {
		s := newStorm(rand.New(rand.NewPCG(seed, uint64(round))))
		r := d.relay(t, "linger")
		r.begin(t, "claude-agent-acp", "0.100.0", "1", "s1", d.home)
		s.client = newStormPeer(false, s.rng, r.toAgent, readCloser{r.fromAgent, r.clientEar})
		s.agent = newStormPeer(true, s.rng, halfWrite{r.agent}, halfRead{r.agentIn, r.agent})
		s.run(t, d, func() { _ = syscall.Kill(r.pid, syscall.SIGKILL) })
		done := make(chan struct{})
		go func() { r.cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(eventually.Limit):
			t.Errorf("round %d: permd acp does not end: %s", round, r.stderr.String())
			r.cmd.Process.Kill()
		}
		s.check(t, round)
		r.gone(t)
		if t.Failed() {
			t.Logf("permd acp said: %s", r.stderr.String())
			return
		}
	}
}

// storm is one conversation.
type storm struct {
	rng           *rand.Rand
	client, agent *stormPeer
	settled       bool
	killed        bool
}

func newStorm(rng *rand.Rand) *storm {
	return &storm{rng: rng, settled: rng.IntN(3) == 0}
}

// run runs both peers until they have ended.
func (s *storm) run(t *testing.T, d *testDaemon, kill func()) {
	t.Helper()
	for _, p := range []*stormPeer{s.client, s.agent} {
		p.lines, p.settled = s.rng.IntN(150), s.settled
		if s.settled {
			continue
		}
		switch s.rng.IntN(4) {
		case 0:
			p.dieAt = s.rng.IntN(60_000)
		case 1:
			p.deafAt = s.rng.IntN(100)
		}
	}
	killAt := -1
	if !s.settled && kill != nil && s.rng.IntN(3) == 0 {
		killAt = s.rng.IntN(3)
	}
	var all sync.WaitGroup
	for _, p := range []*stormPeer{s.client, s.agent} {
		all.Go(p.speak)
		all.Go(p.listen)
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	late := time.After(eventually.Limit)
	for step := 0; ; step++ {
		select {
		case <-ended:
			return
		case <-late:
			t.Errorf("somebody waits for something: the client %s, the agent %s", s.client.state(), s.agent.state())
			s.client.out.Close()
			s.agent.out.Close()
			late = nil
		case <-time.After(time.Duration(s.rng.IntN(20)) * time.Millisecond):
		}
		if step == killAt {
			s.killed = true
			kill()
		}
		switch {
		case step > 6:
			step = 6 // the storm is over
		case s.rng.IntN(3) == 0:
			d.kill()
			d.start(t)
		case s.rng.IntN(3) == 0:
			pid := d.cmd.Process.Pid
			_ = syscall.Kill(pid, syscall.SIGSTOP)
			time.Sleep(time.Duration(s.rng.IntN(150)) * time.Millisecond)
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

// check compares what was sent with what was received.
func (s *storm) check(t *testing.T, round int) {
	t.Helper()
	whole := s.client.deafAt < 0 && !s.killed
	for what, err := range map[string]error{
		"the client":                   s.client.err,
		"the agent":                    s.agent.err,
		"from the agent to the client": compareStorm(s.agent.sent, s.client.received, whole, s.killed),
		"from the client to the agent": compareStorm(s.client.answers(), s.agent.received, s.settled, false),
	} {
		if err != nil {
			t.Errorf("round %d, %s: %v", round, what, err)
		}
	}
}

func (p *stormPeer) state() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	open := []string{}
	for id, n := range p.open {
		if n == 0 {
			open = append(open, id)
		}
	}
	return fmt.Sprintf("with %d lines to say, %d replies, no answer to %v, finished %v, done %v, at the end %v", p.lines, len(p.replies), open, p.finished, p.done, p.eof)
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func pipe2(t *testing.T) (*os.File, io.WriteCloser) {
	t.Helper()
	r, w := pipe(t)
	return r, w
}

// The ends of a relay, each closed by itself.
type (
	halfWrite struct{ *net.UnixConn }
	halfRead  struct {
		io.Reader
		conn *net.UnixConn
	}
	readCloser struct {
		io.Reader
		io.Closer
	}
)

func (h halfWrite) Close() error { return h.CloseWrite() }
func (h halfRead) Close() error  { return h.conn.CloseRead() }
