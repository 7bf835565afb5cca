package socket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/decisions"
)

// The defaults of Options.
const (
	DefaultMaxMessage     = 4 << 20
	defaultMaxConns       = 256
	defaultMaxConnsPerUID = 128
	defaultMaxInFlight    = 64
	DefaultWriteTimeout   = 10 * time.Second
	DefaultGrace          = 5 * time.Second
)

// handlerGrace is how long a method may run after its context was cancelled,
// before the connection continues without it.
const handlerGrace = time.Second

// Options bound what clients can use. A zero means the default.
type Options struct {
	// MaxMessage is how long a message may be, in bytes without its newline.
	MaxMessage int
	// MaxConns are the connections at one time, MaxConnsPerUID those of one
	// user. Those above are told so and closed.
	MaxConns, MaxConnsPerUID int
	// maxInFlight are the requests of one connection that are not answered yet.
	// At the limit no more is read from it.
	maxInFlight int
	// MaxRunning is the maximum number of second phases of methods that run at
	// one time; the others wait, and are refused when the server stops. Zero is
	// no limit, for methods that wait for an event.
	MaxRunning int
	// WriteTimeout is how long writing an answer may take, before a client that
	// does not read is dropped.
	WriteTimeout time.Duration
	// Grace is how long requests in flight may take after the server stops, or
	// the client has closed its writing side.
	Grace time.Duration
	// Admit says whether a peer may use the socket. The default admits root and
	// the daemon's own user.
	Admit func(decisions.Peer) error
	// Logger gets no contents of messages. The default drops all.
	Logger *slog.Logger
	// Open counts the connections that are served; nil where nobody looks.
	Open *atomic.Int64

	peer func(net.Conn) (decisions.Peer, error) // for tests without sockets
}

func (o Options) withDefaults() Options {
	o.MaxMessage = cmp.Or(o.MaxMessage, DefaultMaxMessage)
	o.MaxConns = cmp.Or(o.MaxConns, defaultMaxConns)
	o.MaxConnsPerUID = cmp.Or(o.MaxConnsPerUID, defaultMaxConnsPerUID)
	o.maxInFlight = cmp.Or(o.maxInFlight, defaultMaxInFlight)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, DefaultWriteTimeout)
	o.Grace = cmp.Or(o.Grace, DefaultGrace)
	if o.Admit == nil {
		o.Admit = AdmitSelf
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.peer == nil {
		o.peer = func(c net.Conn) (decisions.Peer, error) {
			uc, ok := c.(*net.UnixConn)
			if !ok {
				return decisions.Peer{}, errors.New("not a Unix socket")
			}
			return peerOf(uc)
		}
	}
	return o
}

// limits are those of the options.
func (o *Options) limits() connLimits {
	return connLimits{
		maxConns: o.MaxConns, maxConnsPerUID: o.MaxConnsPerUID,
		// 64 MiB let four users send a longest message at once, with what
		// is kept of it while it is decided.
		maxBytes: max(64<<20, 16*o.MaxMessage),
	}
}

// AdmitSelf admits root and the daemon's own user.
func AdmitSelf(p decisions.Peer) error {
	if p.UID != 0 && p.UID != uint32(os.Geteuid()) {
		return errors.New("neither root nor the daemon's user")
	}
	return nil
}

// connIDs numbers connections. It is the process's, not a server's: Conn.ID
// must be unique over all sockets.
var connIDs atomic.Uint64

type server struct {
	Options
	methods Methods
	limits  connLimits
	ctx     context.Context // of requests: it outlives the one of Serve

	mu       sync.Mutex
	conns    map[*connection]struct{}
	stopping bool
	wg       sync.WaitGroup

	running chan struct{} // one for each second phase that runs; nil for no limit
	stop    chan struct{} // closed when the server stops

	methodStuck atomic.Bool // a method did not return in time

	leaderSeen atomic.Bool // a connection has led a call since the overseer last looked
	watching   atomic.Bool // the overseer will look again
}

// Serve serves methods on ln until ctx is cancelled or ln fails, and closes ln.
// Then it accepts and reads no more, answers what is in flight within the grace
// period and the rest with CodeBusy, and returns: nil if it was cancelled and
// all of its goroutines have ended.
func Serve(ctx context.Context, ln net.Listener, methods Methods, o Options) error {
	o = o.withDefaults()
	s := &server{
		Options: o,
		methods: methods,
		limits:  o.limits(),
		ctx:     context.WithoutCancel(ctx),
		conns:   map[*connection]struct{}{},
		stop:    make(chan struct{}),
	}
	if o.MaxRunning > 0 {
		s.running = make(chan struct{}, o.MaxRunning)
	}
	unhook := context.AfterFunc(ctx, func() { _ = stop(ln) })
	defer unhook()
	err := s.accept(ctx, ln)
	_ = stop(ln)
	err = errors.Join(err, s.shutdown())
	// The lock is freed last: until here this is the running daemon.
	if cerr := ln.Close(); cerr != nil && !errors.Is(cerr, net.ErrClosed) {
		err = errors.Join(err, cerr)
	}
	return err
}

// stop makes ln's Accept return.
func stop(ln net.Listener) error {
	if l, ok := ln.(*Listener); ok {
		return l.stop()
	}
	return ln.Close()
}

// accept takes connections until ctx ends. Running out of file descriptors or
// memory passes: it waits a little, longer each time, because Accept fails at
// once and would be called without end.
func (s *server) accept(ctx context.Context, ln net.Listener) error {
	const least, most = 5 * time.Millisecond, time.Second
	wait := least
	for {
		c, err := ln.Accept()
		switch {
		case err == nil:
			wait = least
			s.admit(c)
		case ctx.Err() != nil:
			return nil
		case passes(err):
			s.Logger.Warn("accepting a connection", "error", err, "wait", wait)
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(wait):
			}
			wait = min(2*wait, most)
		default:
			return fmt.Errorf("accepting a connection: %w", err)
		}
	}
}

func passes(err error) bool {
	for _, e := range []error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ECONNABORTED, unix.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// admit starts serving a connection, or tells it why not and closes it.
func (s *server) admit(c net.Conn) {
	peer, err := s.peer(c)
	if err != nil {
		s.Logger.Warn("finding out who connected", "error", err)
		_ = c.Close()
		return
	}
	if err := s.Admit(peer); err != nil {
		s.Logger.Info("refusing a connection", "uid", peer.UID, "pid", peer.PID, "error", err)
		turnAway(c, invalid("this user may not use this socket; ask the person"))
		return
	}
	if err := s.limits.enter(peer.UID); err != nil {
		s.Logger.Info("refusing a connection", "uid", peer.UID, "pid", peer.PID, "error", err)
		turnAway(c, busy(err))
		return
	}
	conn := newConnection(s, c, connIDs.Add(1), peer)
	if !s.add(conn) {
		s.limits.leave(peer.UID)
		turnAway(c, busy(errShutdown))
		return
	}
	conn.ended = func() {
		s.remove(conn)
		s.limits.leave(peer.UID)
		s.wg.Done()
	}
	go conn.read()
}

// turnAway tells a client why it is not served, as far as it takes it at once.
func turnAway(c net.Conn, e *Error) {
	defer c.Close()
	body, err := marshal(e)
	if err != nil {
		return
	}
	if err := c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err == nil {
		_, _ = c.Write(appendAnswer(nil, null, "error", body))
	}
}

func (s *server) add(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.conns[c] = struct{}{}
	s.wg.Add(1)
	if s.Open != nil {
		s.Open.Add(1)
	}
	return true
}

func (s *server) remove(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.Open != nil {
		s.Open.Add(-1)
	}
}

// shutdown ends all connections.
func (s *server) shutdown() error {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	close(s.stop)
	s.each((*connection).stopReading)
	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return s.left()
	case <-time.After(s.Grace + handlerGrace/2):
	}
	// Each connection has seen to its own by now, unless its client does not
	// read, or a method's first phase blocks.
	s.each(func(c *connection) {
		c.answers.shortenTimeout(handlerGrace / 2)
		c.abandon(errShutdown)
		c.answers.flush()
		c.drop()
	})
	select {
	case <-done:
	case <-time.After(2 * handlerGrace):
		s.methodStuck.Store(true)
	}
	return s.left()
}

func (s *server) left() error {
	if s.methodStuck.Load() {
		return errors.New("stopping: a request did not end in time")
	}
	return nil
}

func (s *server) each(f func(*connection)) {
	s.mu.Lock()
	conns := make([]*connection, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() { f(c) })
	}
	wg.Wait()
}
