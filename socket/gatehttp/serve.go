package gatehttp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"
)

// Bounds of a gateway's server.
const (
	maxHeader     = 16 << 10         // bytes; the server of net/http adds 4 KiB of its own
	headerTimeout = 5 * time.Second  // for the header
	readTimeout   = 20 * time.Second // for header and body
	writeTimeout  = 10 * time.Second // for an answer
	idleTimeout   = 2 * time.Minute  // between two requests on one connection
	stopGrace     = 2 * time.Second  // for requests in flight at the end
	maxConns      = 128              // connections at a time of peers that may ask
	maxStrangers  = 64               // further ones, on which no token has come yet
	// strangerTime is how long one of those keeps its place at least.
	strangerTime = 250 * time.Millisecond
)

// Server serves a gateway.
type Server struct {
	// Token is required in every request on a loopback address; "" on a Unix socket,
	// where only this user and root are served.
	Token string
	// KeyHeader is a header, in its canonical form, that may hold the token in place of
	// Authorization; "" for none.
	KeyHeader string
	// Open reports whether a path needs no token. It may be nil.
	Open func(path string) bool
	// Refuse writes a refusal in the words of the protocol.
	Refuse func(w http.ResponseWriter, r *http.Request, f *Refusal)
	// Handler serves what is not refused. It reads bodies with ReadBody and writes answers
	// with Reply, which bound how long a peer may take. Its context ends when the peer has
	// gone, and at the end of Serve.
	Handler http.Handler

	readTimeout time.Duration // set by tests
	checks      *Guard
}

// errStopped is the cause of cancelled contexts at the end.
var errStopped = errors.New("shutting down")

// Serve serves on ln until ctx is cancelled or ln fails, and closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	var err error
	if s.checks, err = NewGuard(ln, s.Token); err != nil {
		return errors.Join(err, ln.Close())
	}
	s.checks.keyHeader = s.KeyHeader
	reading := readTimeout
	if s.readTimeout > 0 {
		reading = s.readTimeout
	}
	requests, abandon := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abandon(nil)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	hs := &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		Protocols:         protocols,
		MaxHeaderBytes:    maxHeader,
		ReadHeaderTimeout: min(headerTimeout, reading),
		// ReadBody ends it, so that a person may take longer. Writing has a deadline of its
		// own.
		ReadTimeout: reading,
		IdleTimeout: idleTimeout,
		// Discarded: it may contain text of a request.
		ErrorLog:                     slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		BaseContext:                  func(net.Listener) context.Context { return requests },
		ConnContext:                  ConnContext,
		DisableGeneralOptionsHandler: true,
	}
	ended := make(chan error, 1)
	go func() { ended <- hs.Serve(LimitConns(ln)) }()
	select {
	case err = <-ended:
		abandon(errStopped)
		return errors.Join(err, hs.Close())
	case <-ctx.Done():
	}
	late := time.AfterFunc(stopGrace, func() { abandon(errStopped) })
	defer late.Stop()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*stopGrace)
	defer cancel()
	if err = hs.Shutdown(last); errors.Is(err, context.DeadlineExceeded) {
		err = hs.Close() // a peer does not read, or has not sent its whole request
	}
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	if why := <-ended; !errors.Is(why, http.ErrServerClosed) {
		err = errors.Join(err, why)
	}
	return err
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	check := s.checks.Check
	open := s.Open != nil && s.Open(r.RequestURI)
	if open {
		check = s.checks.checkOpen
	}
	f := check(r)
	if f == nil && !open && !Admit(r) {
		f = &Refusal{http.StatusServiceUnavailable, "busy", "too many connections are open"}
	}
	if f != nil {
		// Any process on the machine can connect to a loopback address. Connections
		// without the token are closed, so that they take no place of those with it.
		w.Header().Set("Connection", "close")
		s.Refuse(w, r, f)
		return
	}
	if r.Body == nil || r.Body == http.NoBody {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	s.Handler.ServeHTTP(w, r)
}

// ReadBody reads the body of a request, of at most so many bytes of JSON. The refusal is
// nil if it was read.
func ReadBody(w http.ResponseWriter, r *http.Request, maxBytes int) ([]byte, *Refusal) {
	if f := CheckPost(r); f != nil {
		return nil, f
	}
	tooLong := &Refusal{http.StatusRequestEntityTooLarge, "too_large", "the body is too long"}
	if r.ContentLength > int64(maxBytes) {
		w.Header().Set("Connection", "close")
		return nil, tooLong
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(maxBytes)))
	_, long := errors.AsType[*http.MaxBytesError](err)
	switch {
	case long:
		w.Header().Set("Connection", "close")
		return nil, tooLong
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		return nil, &Refusal{http.StatusRequestTimeout, "timeout", "the body did not come in time"}
	case err != nil:
		return nil, &Refusal{http.StatusBadRequest, "body", "the body cannot be read"}
	}
	// From here on the peer is only watched for its end.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, nil
}

// Reply writes an answer of JSON, whose text is that of the parts. A peer that does not read it
// is dropped.
func Reply(w http.ResponseWriter, status int, parts ...[]byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	w.WriteHeader(status)
	for _, p := range parts {
		if _, err := w.Write(p); err != nil {
			return
		}
	}
	_, _ = w.Write([]byte{'\n'})
}
