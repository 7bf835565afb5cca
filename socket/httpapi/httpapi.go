// Package httpapi serves permd over HTTP/1.1: the data API of Open Policy Agent
// for programs that use it already, permd/decide, the calls of tool-server protocols, the
// daemon's health and its metrics. It listens on a Unix socket, or on a loopback address for clients
// with the token.
//
// It decides nothing: a request becomes messages of permd's own protocol, on a
// connection that lasts as long as the request. Every failure is a status other
// than 200, which no client takes for an answer.
package httpapi

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/gatehttp"
)

// The paths that are served.
const (
	PathDecision = "/v1/data/permd/decision"
	pathCalls    = "/v1/calls"
	pathOTC      = "/v1/otc/call"
	pathRAP      = "/v1/rap/invoke"
	pathAAP      = "/v1/aap/permissions"
	PathHealth   = "/health"
	pathMetrics  = "/metrics"
	pathOpenAPI  = "/openapi.json"
)

// Bounds of a request and its answer.
const (
	maxHeader     = 16 << 10         // bytes; the server of net/http adds 4 KiB of its own
	headerTimeout = 10 * time.Second // for the header
	readTimeout   = 20 * time.Second // for header and body
	// decideTimeout bounds deciding, including reading the project's rules.
	decideTimeout = 20 * time.Second
	idleTimeout   = 2 * time.Minute // between two requests on one connection
	// shutdownExtra is the time that requests get after their contexts were cancelled at
	// shutdown.
	shutdownExtra = time.Second
)

// Deps are the dependencies of the server.
type Deps struct {
	// Methods are those of the decision socket. Only permd/session, permd/decide, permd/wait,
	// aap/answer and those that have a path of their own are called.
	Methods socket.Methods
	// Health returns the parts of the daemon that are degraded. An error means that it
	// cannot decide; its text is logged and not sent.
	Health func(ctx context.Context) (degraded []string, err error)
	// Metrics serves the metrics; nil means none.
	Metrics http.Handler
	// Served is called after each response with the path, "other" for an unknown one, and
	// the status. It may be nil.
	Served func(path string, status int)
}

// Options are the limits of clients and how they are identified.
type Options struct {
	// Socket holds the limits. MaxMessage bounds a request's body, and Share shares slots
	// for requests among the connections, and those of other servers. The number of requests that wait on one
	// connection is not bounded, because they are read one after another.
	Socket socket.Options
	// Token is required in every request on a loopback address; "" on a Unix socket.
	Token string
	// Owner is the peer of all requests on a loopback address: whoever has the token.
	Owner decisions.Peer

	readTimeout, decideTimeout time.Duration // set by tests
}

type server struct {
	Deps
	Options
	limits *socket.Limits
	checks *gatehttp.Guard
	log    *slog.Logger

	prepared prepareCache

	mu      sync.Mutex
	stopped bool           // shutting down: no method may start
	pending sync.WaitGroup // running methods
}

// errShutdown is the cause of cancelled contexts at shutdown.
var errShutdown = errors.New("shutting down")

// Serve serves on ln until ctx is cancelled or ln fails, and closes ln, which is a Unix
// socket or, with a token, a loopback address. At the end it accepts no more
// connections, finishes the requests in flight within the grace period, and answers the
// rest with status 503. The error is socket.ErrStuck if one of them goes on all the same.
func Serve(ctx context.Context, ln net.Listener, deps Deps, o Options) error {
	s, err := newServer(ln, deps, o)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	requests, abandon := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abandon(nil)
	reading := cmp.Or(o.readTimeout, readTimeout)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	hs := &http.Server{
		Handler:           s,
		Protocols:         protocols,
		MaxHeaderBytes:    maxHeader,
		ReadHeaderTimeout: min(headerTimeout, reading),
		ReadTimeout:       reading,
		// Responses set a deadline of their own. This one ends connections that do not get
		// that far.
		WriteTimeout: reading + s.decideTimeout + cmp.Or(s.Socket.WriteTimeout, socket.DefaultWriteTimeout),
		IdleTimeout:  idleTimeout,
		// Discarded: it reports nothing that is not logged elsewhere, and may contain text
		// of a request.
		ErrorLog:    slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return requests },
		ConnContext: connContext,
		// "OPTIONS *" is handled like any other request.
		DisableGeneralOptionsHandler: true,
	}
	if _, ok := ln.Addr().(*net.TCPAddr); ok {
		ln = gatehttp.LimitConns(ln)
	}
	ended := make(chan error, 1)
	go func() { ended <- hs.Serve(&admittingListener{Listener: ln, server: s}) }()
	select {
	case err = <-ended:
		// The listener has failed. Requests on open connections are still answered.
		return errors.Join(err, s.shutdown(hs, abandon))
	case <-ctx.Done():
	}
	err = s.shutdown(hs, abandon)
	if why := <-ended; !errors.Is(why, http.ErrServerClosed) {
		err = errors.Join(err, why)
	}
	return err
}

func newServer(ln net.Listener, deps Deps, o Options) (*server, error) {
	s := &server{Deps: deps, Options: o, limits: socket.NewLimits(o.Socket), log: o.Socket.Logger, prepared: prepareCache{now: time.Now}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.Socket.Admit == nil {
		s.Socket.Admit = socket.AdmitSelf
	}
	s.decideTimeout = cmp.Or(o.decideTimeout, decideTimeout)
	s.Socket.MaxMessage = cmp.Or(s.Socket.MaxMessage, socket.DefaultMaxMessage)
	if s.Socket.Share == nil {
		s.Socket.Share, s.Socket.WithoutSlots = fairshare.New(fairshare.Options{Bytes: socket.MaxBytes(s.Socket.MaxMessage)}), true
	}
	var err error
	s.checks, err = gatehttp.NewGuard(ln, o.Token)
	return s, err
}

// shutdown waits for requests in flight and closes all connections.
func (s *server) shutdown(hs *http.Server, abandon context.CancelCauseFunc) error {
	grace := cmp.Or(s.Socket.StopGrace, s.Socket.Grace, socket.DefaultGrace)
	late := time.AfterFunc(grace, func() { abandon(errShutdown) })
	defer late.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), grace+shutdownExtra)
	defer cancel()
	err := hs.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		// A client is not reading, or has not sent its whole request.
		err = hs.Close()
	}
	abandon(errShutdown)
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.pending.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(2 * shutdownExtra):
		err = errors.Join(err, socket.ErrStuck)
	}
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
