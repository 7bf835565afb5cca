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
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/underway"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/gatehttp"
)

// endpoint serves one path.
type endpoint struct {
	method string
	answer func(ctx context.Context, peer decisions.Peer, body strictjson.Value) ([]byte, error)
	holds  bool // a client may wait for a person
}

func (s *server) endpoint(path string) (endpoint, bool) {
	switch path {
	case PathDecision:
		return endpoint{method: http.MethodPost, answer: s.decision}, true
	case pathCalls:
		return endpoint{method: http.MethodPost, answer: s.calls}, true
	case pathOTC:
		return endpoint{http.MethodPost, s.method("otc/call"), true}, true
	case pathRAP:
		return endpoint{http.MethodPost, s.method("rap/invoke"), true}, true
	case pathAAP:
		return endpoint{http.MethodPost, s.method("aap/permissions"), true}, true
	case pathOpenAPI:
		return endpoint{method: http.MethodGet, answer: openAPI}, true
	case PathHealth:
		return endpoint{method: http.MethodGet, answer: s.health}, true
	case pathMetrics:
		return endpoint{method: http.MethodGet}, s.Metrics != nil
	}
	return endpoint{}, false
}

// ServeHTTP serves one request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	seen := &statusRecorder{ResponseWriter: w}
	path := "other"
	defer func() {
		if v := recover(); v != nil {
			s.logPanic(v)
			if seen.status == 0 {
				s.replyError(seen, s.apiErrorOf(context.Background(), errors.New("a panic")))
			}
		}
		if s.Served != nil {
			s.Served(path, seen.status)
		}
	}()
	if f := s.checks.Check(r); f != nil {
		// Any process on the machine can connect to a loopback address. Connections
		// without the token are closed, so that they take no place of those with it.
		seen.Header().Set("Connection", "close")
		s.replyError(seen, refused(f))
		return
	}
	if f := s.enter(r); f != nil {
		seen.Header().Set("Connection", "close")
		s.replyError(seen, f)
		return
	}
	// The path is compared verbatim: paths that would have to be cleaned do not exist,
	// and no path takes a query.
	e, ok := s.endpoint(r.RequestURI)
	if !ok {
		s.replyError(seen, &apiError{Status: http.StatusNotFound, Code: "not_found", Message: "no such path"})
		return
	}
	path = r.RequestURI
	if r.Method != e.method {
		seen.Header().Set("Allow", e.method)
		s.replyError(seen, &apiError{Status: http.StatusMethodNotAllowed, Code: "method", Message: "the method must be " + e.method})
		return
	}
	if e.answer == nil && !s.mayMeasure(r) {
		s.replyError(seen, &apiError{Status: http.StatusForbidden, Code: "forbidden", Message: "the metrics are of everybody's calls: they are for root and the admins"})
		return
	}
	if e.answer == nil {
		s.Metrics.ServeHTTP(seen, r)
		return
	}
	s.serve(seen, r, e)
}

// mayMeasure reports whether the client of a request may read the metrics. Those of a daemon
// that serves several people tell of all of them.
func (s *server) mayMeasure(r *http.Request) bool {
	if s.Socket.Members == nil {
		return true
	}
	a := connOf(r.Context())
	return a != nil && (a.admin || a.peer.UID == 0)
}

func (s *server) serve(w http.ResponseWriter, r *http.Request, e endpoint) {
	conn := connOf(r.Context())
	if conn == nil {
		s.replyError(w, s.apiErrorOf(r.Context(), errors.New("serving HTTP: nobody is at the other end")))
		return
	}
	var body []byte
	if e.method == http.MethodPost {
		f := refused(gatehttp.CheckPost(r))
		if f == nil {
			var release func()
			if body, release, f = s.readBody(w, r); release != nil {
				defer release()
			}
		}
		if f != nil {
			s.replyError(w, f)
			return
		}
	}
	ctx, stop, f := s.newContext(w, r, e)
	if f != nil {
		s.replyError(w, f)
		return
	}
	defer stop()
	answer, err := s.runLimited(ctx, func(ctx context.Context) ([]byte, error) { return e.answer(ctx, conn.peer, body) })
	if err == nil && ctx.Err() != nil {
		err = endedError(ctx)
	}
	if err != nil {
		s.replyError(w, s.apiErrorOf(ctx, err))
		return
	}
	s.reply(w, http.StatusOK, answer)
}

// readBody reads the body of a request. It reserves the body's bytes of the budget that
// all requests share; release gives them back.
func (s *server) readBody(w http.ResponseWriter, r *http.Request) (body []byte, release func(), f *apiError) {
	maxBytes := s.Socket.MaxMessage
	if r.ContentLength > int64(maxBytes) {
		return nil, nil, tooLong(maxBytes)
	}
	size := maxBytes
	if r.ContentLength >= 0 {
		size = int(r.ContentLength)
	}
	member := memberOf(r.Context())
	if !member.Reserve(size) {
		return nil, nil, &apiError{Status: http.StatusServiceUnavailable, Code: "busy", Message: "no room for the body; ask the person"}
	}
	release = func() { member.Release(size) }
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(maxBytes)))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, release, tooLong(maxBytes)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, release, &apiError{Status: http.StatusRequestTimeout, Code: "timeout", Message: "the body did not come in time"}
	case err != nil:
		return nil, release, badRequest("the body cannot be read")
	}
	return body, release, nil
}

func tooLong(maxBytes int) *apiError {
	return &apiError{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Message: fmt.Sprintf("the body is longer than %d bytes", maxBytes)}
}

var errNoResult = errors.New("a method ended its goroutine")

// runLimited runs f when its connection has a slot, and returns when f or ctx ends. If f
// ignores its context, it is not waited for.
func (s *server) runLimited(ctx context.Context, f func(context.Context) ([]byte, error)) ([]byte, error) {
	type result struct {
		answer []byte
		err    error
	}
	done := make(chan result, 1)
	if !s.beginMethod() {
		return nil, &apiError{Status: http.StatusServiceUnavailable, Code: "busy", Message: errShutdown.Error() + "; ask the person"}
	}
	go func() {
		got := result{err: errNoResult}
		defer func() {
			if v := recover(); v != nil {
				s.logPanic(v)
			}
			done <- got
			s.pending.Done()
		}()
		with := ctx // a variable of its own: the caller waits for ctx
		turn, err := s.beginTurn(ctx)
		if err != nil {
			got.err = err
			return
		}
		if turn != nil {
			defer turn.End()
			with = &fairshare.Context{Context: ctx, Turn: turn}
		}
		if got.answer, got.err = f(with); got.err == nil && fairshare.TurnOf(with).Refused() {
			got.answer, got.err = nil, &apiError{Status: http.StatusServiceUnavailable, Code: "busy", Message: "the request needs too much memory; ask the person"}
		}
	}()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-ctx.Done():
		return nil, endedError(ctx)
	}
}

// beginTurn waits until the connection of a request has a slot. The turn is nil if it needs none.
func (s *server) beginTurn(ctx context.Context) (*fairshare.Turn, error) {
	m := memberOf(ctx)
	if m == nil || s.Socket.WithoutSlots {
		return nil, nil
	}
	turn := new(fairshare.Turn)
	waiting := s.Socket.Underway.Begin(underway.AtSlot, time.Now())
	err := turn.Begin(ctx, m, nil)
	waiting.End()
	if errors.Is(err, fairshare.ErrBusy) {
		return nil, &apiError{Status: http.StatusServiceUnavailable, Code: "busy", Message: err.Error() + "; ask the person"}
	} else if err != nil {
		return nil, endedError(ctx)
	}
	return turn, nil
}

// beginMethod counts a running method. It returns false if the server is shutting down.
func (s *server) beginMethod() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.pending.Add(1)
	}
	return !s.stopped
}

// logPanic logs a panic. Its value is logged only if it is a runtime error; others may
// contain the client's input.
func (s *server) logPanic(value any) {
	what := fmt.Sprintf("%T", value)
	if err, ok := value.(runtime.Error); ok {
		what = err.Error()
	}
	s.log.Error("a request panicked", "panic", what, "stack", string(debug.Stack()))
}

// health serves PathHealth.
func (s *server) health(ctx context.Context, _ decisions.Peer, _ strictjson.Value) ([]byte, error) {
	degraded, err := s.Health(ctx)
	if err != nil {
		s.log.Error("the self-check failed", "error", err)
		return nil, &apiError{Status: http.StatusServiceUnavailable, Code: "failing", Message: "permd cannot decide"}
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

// statusRecorder records the status of a response.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (w *statusRecorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusRecorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController find the underlying writer.
func (w *statusRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
