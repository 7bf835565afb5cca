package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// endpoint answers the requests of one path.
type endpoint struct {
	method string
	answer func(ctx context.Context, peer decisions.Peer, body strictjson.Value) ([]byte, error)
}

func (s *server) endpoint(path string) (endpoint, bool) {
	switch path {
	case PathDecision:
		return endpoint{http.MethodPost, s.decision}, true
	case pathCalls:
		return endpoint{http.MethodPost, s.calls}, true
	case PathHealth:
		return endpoint{http.MethodGet, s.health}, true
	case pathMetrics:
		return endpoint{method: http.MethodGet}, s.Metrics != nil
	}
	return endpoint{}, false
}

// ServeHTTP answers one request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	seen := &watchedBody{ResponseWriter: w}
	path := "other"
	defer func() {
		if v := recover(); v != nil {
			s.panicked(v)
			if seen.status == 0 {
				s.refuse(seen, s.faultOf(context.Background(), errors.New("a panic")))
			}
		}
		if s.Served != nil {
			s.Served(path, seen.status)
		}
	}()
	if f := s.guard(r); f != nil {
		// Everybody on the machine can connect to an address: who has no token
		// keeps no place of those who have.
		seen.Header().Set("Connection", "close")
		s.refuse(seen, f)
		return
	}
	// As it was sent: a path that has to be cleaned is another path, and there is
	// nothing to ask by a query.
	e, ok := s.endpoint(r.RequestURI)
	if !ok {
		s.refuse(seen, &fault{http.StatusNotFound, "not_found", "no such path"})
		return
	}
	path = r.RequestURI
	if r.Method != e.method {
		seen.Header().Set("Allow", e.method)
		s.refuse(seen, &fault{http.StatusMethodNotAllowed, "method", "the method must be " + e.method})
		return
	}
	if e.answer == nil {
		s.Metrics.ServeHTTP(seen, r)
		return
	}
	s.serve(seen, r, e)
}

func (s *server) serve(w http.ResponseWriter, r *http.Request, e endpoint) {
	peer, ok := r.Context().Value(peerKey{}).(decisions.Peer)
	if !ok {
		s.refuse(w, s.faultOf(r.Context(), errors.New("serving HTTP: nobody is at the other end")))
		return
	}
	var body []byte
	if e.method == http.MethodPost {
		f := postable(r)
		if f == nil {
			var release func()
			if body, release, f = s.body(w, r, peer); release != nil {
				defer release()
			}
		}
		if f != nil {
			s.refuse(w, f)
			return
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.decideTimeout)
	defer cancel()
	answer, err := s.await(ctx, func() ([]byte, error) { return e.answer(ctx, peer, body) })
	if err == nil && ctx.Err() != nil {
		err = ended(ctx)
	}
	if err != nil {
		s.refuse(w, s.faultOf(ctx, err))
		return
	}
	s.reply(w, http.StatusOK, answer)
}

// body reads a request's body, and takes its bytes of what all may use.
func (s *server) body(w http.ResponseWriter, r *http.Request, peer decisions.Peer) (body []byte, release func(), f *fault) {
	most := s.Socket.MaxMessage
	tooLong := &fault{http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body is longer than %d bytes", most)}
	if r.ContentLength > int64(most) {
		return nil, nil, tooLong
	}
	size := most
	if r.ContentLength >= 0 {
		size = int(r.ContentLength)
	}
	if !s.limits.Reserve(peer.UID, size) {
		return nil, nil, &fault{http.StatusServiceUnavailable, "busy", "no room for the body; ask the person"}
	}
	release = func() { s.limits.Release(peer.UID, size) }
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(most)))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, release, tooLong
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, release, &fault{http.StatusRequestTimeout, "timeout", "the body did not come in time"}
	case err != nil:
		return nil, release, bad("the body cannot be read")
	}
	return body, release, nil
}

// await runs f, while there are not too many, until ctx ends: whoever does not
// heed its context is not waited for.
func (s *server) await(ctx context.Context, f func() ([]byte, error)) ([]byte, error) {
	type result struct {
		answer []byte
		err    error
	}
	done := make(chan result, 1)
	if !s.begin() {
		return nil, &fault{http.StatusServiceUnavailable, "busy", errShutdown.Error() + "; ask the person"}
	}
	go func() {
		got := result{err: errors.New("a method ended its goroutine")}
		defer func() {
			if v := recover(); v != nil {
				s.panicked(v)
			}
			done <- got
			s.pending.Done()
		}()
		if s.running != nil {
			select {
			case s.running <- struct{}{}:
				defer func() { <-s.running }()
			case <-ctx.Done():
				got.err = ended(ctx)
				return
			}
		}
		got.answer, got.err = f()
	}()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-ctx.Done():
		return nil, ended(ctx)
	}
}

// begin counts a method that runs; false when nothing is decided any more.
func (s *server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.pending.Add(1)
	}
	return !s.stopped
}

// panicked notes a panic. Its value is logged only if it is the runtime's own;
// another may hold the client's input.
func (s *server) panicked(value any) {
	what := fmt.Sprintf("%T", value)
	if err, ok := value.(runtime.Error); ok {
		what = err.Error()
	}
	s.log.Error("a request panicked", "panic", what, "stack", string(debug.Stack()))
}

// health says how the daemon is.
func (s *server) health(ctx context.Context, _ decisions.Peer, _ strictjson.Value) ([]byte, error) {
	degraded, err := s.Health(ctx)
	if err != nil {
		s.log.Error("the self-check failed", "error", err)
		return nil, &fault{Status: http.StatusServiceUnavailable, Code: "failing", Message: "permd cannot decide"}
	}
	said := struct {
		Status   string   `json:"status"`
		Degraded []string `json:"degraded,omitzero"`
	}{"ok", degraded}
	if len(degraded) > 0 {
		said.Status = "degraded"
	}
	return json.Marshal(said)
}

// watchedBody notes the status.
type watchedBody struct {
	http.ResponseWriter
	status int
}

func (w *watchedBody) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *watchedBody) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *watchedBody) Unwrap() http.ResponseWriter { return w.ResponseWriter }
