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
	"github.com/permd/permd/decisions/underway"
	"github.com/permd/permd/internal/fairshare"
)

// Defaults of Options.
const (
	DefaultMaxMessage     = 4 << 20
	defaultMaxConns       = 256
	defaultMaxConnsPerUID = 128
	defaultMaxInFlight    = 64
	DefaultWriteTimeout   = 10 * time.Second
	DefaultGrace          = 5 * time.Second
)

// handlerGrace is how long a method may run after its context was cancelled, before the
// connection is closed without it.
const handlerGrace = time.Second

// Options are the limits of clients. A zero value means the default.
type Options struct {
	// MaxMessage bounds a message, in bytes without its newline.
	MaxMessage int
	// MaxConns bounds the connections at a time, MaxConnsPerUID those of one user.
	// Further ones get an error and are closed.
	MaxConns, MaxConnsPerUID int
	// maxInFlight bounds the unanswered requests of one connection. At the limit, reading
	// stops.
	maxInFlight int
	// poison, if not nil, is called with each buffer that is to be used again, for tests.
	poison func([]byte)
	// Share shares slots and memory among the connections, maybe of several servers. A
	// second phase that has no slot waits, and is refused when the server stops. If Share
	// is nil, the connections of this server share memory, and no slots.
	Share *fairshare.Scheduler
	// WithoutSlots lets all second phases run at once, for methods that wait for events.
	WithoutSlots bool
	// WriteTimeout bounds writing one answer. A client that does not read for that long
	// is dropped.
	WriteTimeout time.Duration
	// Grace bounds the time for requests in flight after the client has closed its
	// writing side.
	Grace time.Duration
	// StopGrace is the same after the server is stopped; Grace if it is zero.
	StopGrace time.Duration
	// Admit returns an error for a peer that may not use the socket. The default admits
	// root and the daemon's own user.
	Admit func(decisions.Peer) error
	// Members, if set, are admitted in place of what Admit says: the daemon serves several
	// people.
	Members *Members
	// Logger never logs contents of messages. The default discards everything.
	Logger *slog.Logger
	// Open counts the open connections. It may be nil.
	Open *atomic.Int64
	// Underway knows the requests that wait for a slot. It may be nil.
	Underway *underway.Requests

	peer func(net.Conn) (decisions.Peer, error) // set by tests without sockets
}

func (o Options) withDefaults() Options {
	o.MaxMessage = cmp.Or(o.MaxMessage, DefaultMaxMessage)
	o.MaxConns = cmp.Or(o.MaxConns, defaultMaxConns)
	o.MaxConnsPerUID = cmp.Or(o.MaxConnsPerUID, defaultMaxConnsPerUID)
	o.maxInFlight = cmp.Or(o.maxInFlight, defaultMaxInFlight)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, DefaultWriteTimeout)
	o.Grace = cmp.Or(o.Grace, DefaultGrace)
	o.StopGrace = cmp.Or(o.StopGrace, o.Grace)
	if o.Share == nil {
		o.Share, o.WithoutSlots = fairshare.New(fairshare.Options{Bytes: MaxBytes(o.MaxMessage)}), true
	}
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

// MaxBytes returns how much memory the connections should share if messages may be that
// long: three users can send one at the same time, including what is kept of it while it
// is decided.
func MaxBytes(maxMessage int) int { return max(64<<20, 16*maxMessage) }

// limits returns the limits in o.
func (o *Options) limits() connLimits {
	return connLimits{maxConns: o.MaxConns, maxConnsPerUID: o.MaxConnsPerUID, leaveFree: o.Members != nil}
}

// Allows returns an error for the peer of a connection if it may not use the socket, and
// whether it is an admin of Members.
func (o *Options) Allows(c net.Conn, p decisions.Peer) (admin bool, err error) {
	if o.Members == nil {
		return false, o.Admit(p)
	}
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return false, errNoMember
	}
	groups, err := groupsOf(uc)
	if err != nil {
		return false, fmt.Errorf("finding the groups of a peer: %w", err)
	}
	return o.Members.admit(p, groups)
}

// AdmitSelf admits root and the daemon's own user.
func AdmitSelf(p decisions.Peer) error {
	if p.UID != 0 && p.UID != uint32(os.Geteuid()) {
		return errors.New("neither root nor the daemon's user")
	}
	return nil
}

// connIDs numbers the connections of all servers of the process: Conn.ID must be unique
// among all sockets.
var connIDs atomic.Uint64

type server struct {
	Options
	methods Methods
	limits  connLimits
	ctx     context.Context // parent of all requests' contexts; outlives that of Serve

	buffers encodeBuffers

	mu       sync.Mutex
	conns    map[*connection]struct{}
	stopping bool
	wg       sync.WaitGroup

	stop chan struct{} // closed when the server stops

	methodStuck atomic.Bool // a method did not return in time

	leaderSeen atomic.Bool // a connection has led a request since the overseer last looked
	watching   atomic.Bool // the overseer will look again
}

// Serve serves methods on ln until ctx is cancelled or ln fails, and closes ln. Then it
// stops accepting and reading, answers the requests in flight within the grace period
// and the rest with CodeBusy, and returns nil if it was cancelled and all its goroutines
// have ended. Otherwise the error is ErrStuck, or why ln has failed.
func Serve(ctx context.Context, ln net.Listener, methods Methods, o Options) error {
	o = o.withDefaults()
	s := &server{
		Options: o,
		methods: methods,
		limits:  o.limits(),
		ctx:     context.WithoutCancel(ctx),
		conns:   map[*connection]struct{}{},
		stop:    make(chan struct{}),
		buffers: encodeBuffers{poison: o.poison},
	}
	unhook := context.AfterFunc(ctx, func() { stop(ln) })
	defer unhook()
	err := s.accept(ctx, ln)
	stop(ln)
	err = errors.Join(err, s.shutdown())
	// The lock is released last: until then, this is the running daemon.
	if cerr := ln.Close(); cerr != nil && !errors.Is(cerr, net.ErrClosed) {
		err = errors.Join(err, cerr)
	}
	return err
}

// stop makes ln.Accept return. What it cannot close, Close reports.
func stop(ln net.Listener) {
	if l, ok := ln.(*Listener); ok {
		_ = l.stop()
		return
	}
	_ = ln.Close()
}

// accept accepts connections until ctx is done. A lack of file descriptors or memory is
// temporary: Accept fails at once then, so accept waits a little before it tries again,
// and longer each time.
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
		case isTransient(err):
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

func isTransient(err error) bool {
	for _, e := range []error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ECONNABORTED, unix.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// admit starts serving a connection, or refuses and closes it.
func (s *server) admit(c net.Conn) {
	peer, err := s.peer(c)
	if err != nil {
		s.Logger.Warn("finding out who connected", "error", err)
		_ = c.Close()
		return
	}
	admin, err := s.Allows(c, peer)
	if err != nil {
		s.Logger.Info("refusing a connection", "uid", peer.UID, "pid", peer.PID, "error", err)
		turnAway(c, invalidRequest("this user may not use this socket; ask the person"))
		return
	}
	if err := s.limits.enter(peer.UID); err != nil {
		s.Logger.Info("refusing a connection", "uid", peer.UID, "pid", peer.PID, "error", err)
		turnAway(c, busyError(err))
		return
	}
	conn := newConnection(s, c, connIDs.Add(1), peer)
	conn.admin = admin
	if !s.add(conn) {
		conn.member.Leave()
		s.limits.leave(peer.UID)
		turnAway(c, busyError(errShutdown))
		return
	}
	conn.onEnd = func() {
		s.remove(conn)
		conn.member.Leave()
		s.limits.leave(peer.UID)
		s.wg.Done()
	}
	if s.Members == nil {
		go conn.read()
		return
	}
	go func() {
		s.Members.Arrive(conn.ctx, peer.UID)
		conn.read()
	}()
}

// turnAway sends the error and closes the connection, without waiting for a client that
// does not read.
func turnAway(c net.Conn, e *Error) {
	defer c.Close()
	body, err := marshal(e)
	if err != nil {
		return
	}
	if err := c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err == nil {
		_, _ = c.Write(appendAnswer(nil, nullID, "error", body))
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

// shutdown closes all connections.
func (s *server) shutdown() error {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	close(s.stop)
	s.forEachConn((*connection).stopReading)
	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return s.stuckError()
	case <-time.After(s.StopGrace + handlerGrace/2):
	}
	// By now, each connection has closed by itself, unless its client is not reading or a
	// method's first phase blocks.
	s.forEachConn(func(c *connection) {
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
	return s.stuckError()
}

// ErrStuck means that a server has stopped while a method goes on that ignores its
// context. Its request was answered with an error.
var ErrStuck = errors.New("stopping: a request did not end in time")

func (s *server) stuckError() error {
	if s.methodStuck.Load() {
		return ErrStuck
	}
	return nil
}

func (s *server) forEachConn(f func(*connection)) {
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
