// Package proxy connects an ACP client and an agent by their pipes, and answers
// the agent's permission requests with permd's decisions. It passes on exactly
// the bytes that it reads, except for permission requests that a person must
// answer, and the option in the answer.
//
// core decides what to do with each line and performs no I/O. Run moves the
// bytes and asks permd. The package decides nothing: if permd does not answer,
// the client's person does, as if there were no permd.
package proxy

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/permd/permd/internal/quickio"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// Peers are the four ends of the two pipes. Closing one must end a read or write on it.
// For a conductor only the client's are set.
type Peers struct {
	ClientIn  io.ReadCloser  // messages from the client
	ClientOut io.WriteCloser // messages to the client
	AgentIn   io.WriteCloser // messages to the agent
	AgentOut  io.ReadCloser  // messages from the agent
}

// Config configures Run.
type Config struct {
	Rules
	// Conducted means that the client is a conductor, which also sends the
	// agent's messages.
	Conducted bool
	// Dial connects to permd.
	Dial func(ctx context.Context) (*client.Client, error)
	// Say prints a message for the person; it must not block.
	Say func(text string)
	// Timeout is how long to wait for permd; 0 is 5 seconds.
	Timeout time.Duration
	// Retry is the interval of attempts to reach permd; 0 is a second.
	Retry time.Duration
	// Grace is how long a required permd may be unreachable before the conversation ends;
	// 0 is DefaultGrace.
	Grace time.Duration
}

// defaultTimeout is far longer than any decision takes, and short compared with
// asking a person.
const defaultTimeout = 5 * time.Second

// DefaultGrace is long enough to restart or upgrade permd, and short for an agent that
// continues without it.
const DefaultGrace = 30 * time.Second

func (c *Config) timeout() time.Duration { return cmp.Or(c.Timeout, defaultTimeout) }
func (c *Config) retry() time.Duration   { return cmp.Or(c.Retry, time.Second) }
func (c *Config) grace() time.Duration   { return cmp.Or(c.Grace, DefaultGrace) }

// conversation is the goroutines of one conversation: a reader and a writer for each
// peer, and one that talks to permd.
type conversation struct {
	cfg   Config
	peers Peers
	out   [2]*queue
	link  *link
	stop  context.CancelCauseFunc

	mu          sync.Mutex
	core        *core
	over        bool
	timers      map[*time.Timer]struct{}
	allRecorded chan struct{} // closed when permd has recorded everything that ran; nil while nobody waits for that
}

// Run moves the messages of one conversation until the agent's output or ctx ends. When
// the client ends, the agent's input is closed, and what it still sends is passed on.
// All of peers are closed when it returns. The error is why the conversation was broken
// off, nil if it ended normally.
func Run(ctx context.Context, peers Peers, cfg Config) error {
	if cfg.Say == nil {
		cfg.Say = func(string) {}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	p := &conversation{cfg: cfg, peers: peers, stop: stop, core: newCore(cfg.Rules), timers: map[*time.Timer]struct{}{}}
	p.out = [2]*queue{newQueue(), newQueue()}
	p.link = newLink(p)

	var talking sync.WaitGroup
	linked, unlink := context.WithCancel(ctx)
	defer unlink()
	talking.Go(func() { p.link.run(linked) })
	// When the conversation is broken off, every read and write ends.
	broken := context.AfterFunc(ctx, p.breakOff)
	defer broken()

	if cfg.Conducted {
		p.relayConducted()
	} else {
		p.relay(&talking)
	}
	p.waitRecorded(ctx)
	p.finish()
	unlink()
	p.breakOff()
	talking.Wait()
	return context.Cause(ctx)
}

// relay moves the messages of a client and an agent until the agent's output ends.
func (p *conversation) relay(talking *sync.WaitGroup) {
	talking.Go(func() {
		p.readSide(clientSide, p.peers.ClientIn)
		p.out[agentSide].end()
	})
	talking.Go(func() {
		p.write(agentSide, quickio.Writer(p.peers.AgentIn))
		p.peers.AgentIn.Close()
	})
	var writing sync.WaitGroup
	writing.Go(func() {
		p.write(clientSide, p.peers.ClientOut)
		// A client that does not read ends the agent's output, as its pipe would.
		p.peers.AgentOut.Close()
	})
	p.readSide(agentSide, quickio.Reader(p.peers.AgentOut))
	p.do(func() []action { return p.core.onEnded(agentSide) })
	p.out[clientSide].end()
	writing.Wait()
}

// relayConducted moves the messages of a conductor, for both sides, until it ends.
func (p *conversation) relayConducted() {
	out := &lineWriter{w: p.peers.ClientOut}
	var writing sync.WaitGroup
	for _, to := range []peerSide{clientSide, agentSide} {
		writing.Go(func() {
			p.write(to, out)
			p.peers.ClientIn.Close() // a conductor that does not read has ended
		})
	}
	p.read(p.peers.ClientIn, p.core.conductedLine, p.core.onUnreadableConducted, func() {
		for _, q := range p.out {
			q.waitRoom()
			q.waitDrained()
		}
		p.link.waitForRoom()
	})
	for _, side := range []peerSide{clientSide, agentSide} {
		p.do(func() []action { return p.core.onEnded(side) })
		p.out[side].end()
	}
	writing.Wait()
}

// lineWriter serialises lines from several goroutines.
type lineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (w *lineWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Write(line)
}

// breakOff ends every read and write.
func (p *conversation) breakOff() {
	p.out[clientSide].kill()
	p.out[agentSide].kill()
	p.peers.ClientIn.Close()
	p.peers.ClientOut.Close()
	if !p.cfg.Conducted {
		p.peers.AgentIn.Close()
		p.peers.AgentOut.Close()
	}
}

// readSide reads the messages of a peer.
func (p *conversation) readSide(from peerSide, r io.Reader) {
	take := func(m *message, err error) []action { return p.core.line(from, m, err) }
	refuse := func(why error) []action { return p.core.onUnreadable(from, why) }
	p.read(r, take, refuse, func() {
		p.out[from.other()].waitRoom()
		p.out[from].waitDrained()
		if from == agentSide {
			p.link.waitForRoom()
		}
	})
}

// read reads lines, and calls wait after each.
func (p *conversation) read(r io.Reader, take func(m *message, err error) []action, refuse func(error) []action, wait func()) {
	in := newLines(r)
	for {
		line, end := in.next()
		switch {
		case errors.Is(end, errLong):
			p.do(func() []action { return refuse(end) })
			end = nil
		case len(line) > 0:
			m, err := read(line) // a long line takes time; others need not wait for it
			p.do(func() []action { return take(&m, err) })
		}
		if end != nil {
			return
		}
		wait()
	}
}

// write writes the messages for a peer.
func (p *conversation) write(to peerSide, w io.Writer) {
	for {
		line, ok := p.out[to].next()
		if !ok {
			return
		}
		if _, err := w.Write(line); err != nil {
			p.out[to].kill()
			return
		}
	}
}

// do passes something to the core, and performs the resulting actions. It never
// blocks.
func (p *conversation) do(f func() []action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.apply(f())
}

func (p *conversation) apply(acts []action) {
	var refused []uint64
	for _, a := range acts {
		switch a.Kind {
		case actWrite:
			p.out[a.To].push(a.Line, a.Own)
		case actReserve:
			p.out[a.To].reserve(a.Place)
		case actFill:
			p.out[a.To].fill(a.Place, a.Line)
		case actAsk, actNotify, actWithdraw:
			if (p.over || !p.link.push(a)) && a.Kind == actAsk {
				refused = append(refused, a.N)
			}
		case actWake:
			p.wakeAfter(a)
		case actPrint:
			p.cfg.Say(a.Text)
		}
	}
	clear(acts) // the core reuses the slice, which must not keep the lines alive
	for _, n := range refused {
		p.apply(p.core.onAnswer(n, nil, errFull))
	}
}

// wakeAfter calls the core after a while.
func (p *conversation) wakeAfter(a action) {
	if p.over {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(a.After, func() {
		p.do(func() []action {
			delete(p.timers, t)
			return p.core.onLate(a.N)
		})
	})
	p.timers[t] = struct{}{}
}

// waitRecorded waits until permd has recorded what ran, at most as long as for any other
// answer: calls of an agent that ends at once must be recorded too.
func (p *conversation) waitRecorded(ctx context.Context) {
	p.mu.Lock()
	quiet := make(chan struct{})
	if p.allRecorded = quiet; len(p.core.runReports) == 0 {
		close(quiet)
		p.allRecorded = nil
	}
	p.mu.Unlock()
	late := time.NewTimer(p.cfg.timeout())
	defer late.Stop()
	select {
	case <-quiet:
	case <-late.C:
	case <-ctx.Done():
	}
	p.do(p.core.onUnrecorded)
}

// finish stops all timers.
func (p *conversation) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	for t := range p.timers {
		t.Stop()
	}
}

func (p *conversation) answer(n uint64, result strictjson.Value, err error) {
	p.do(func() []action {
		acts := p.core.onAnswer(n, result, err)
		if p.allRecorded != nil && len(p.core.runReports) == 0 {
			close(p.allRecorded)
			p.allRecorded = nil
		}
		return acts
	})
}

// connected returns what a new permd must be told first.
func (p *conversation) connected(again bool) (acts []action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append(acts, p.core.onConnected(again)...)
}

// missedUpdates returns what permd must be told when it has missed something.
func (p *conversation) missedUpdates() (acts []action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append(acts, p.core.onLost()...)
}

func (p *conversation) say(text string) { p.cfg.Say(text) }
