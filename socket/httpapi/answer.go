package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/socket"
)

// fault is an answer that is no decision. Its form is that of OPA's errors; its
// text never holds text of the request.
type fault struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (f *fault) Error() string { return f.Message }

func bad(text string) *fault { return &fault{http.StatusBadRequest, "invalid_parameter", text} }

// faultOf is the fault of an error of a method.
func (s *server) faultOf(ctx context.Context, err error) *fault {
	if f, ok := errors.AsType[*fault](err); ok {
		return f
	}
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if e, ok := errors.AsType[*socket.Error](err); ok && e != nil {
		switch e.Code {
		case socket.CodeParams, socket.CodeRequest, socket.CodeParse:
			return bad(e.Message)
		case socket.CodeBusy, socket.CodeCancelled:
			return &fault{http.StatusServiceUnavailable, "busy", e.Message}
		}
	}
	s.log.Error("a method failed", "error", err)
	return &fault{http.StatusInternalServerError, "internal_error", "internal error; ask the person"}
}

// ended is why nothing is decided any more.
func ended(ctx context.Context) *fault {
	text := "the client is gone"
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errShutdown):
		text = "shutting down; ask the person"
	case errors.Is(cause, context.DeadlineExceeded):
		text = "it took too long; ask the person"
	}
	return &fault{http.StatusServiceUnavailable, "busy", text}
}

// reply writes an answer, and drops the connection of a client that does not read.
func (s *server) reply(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	timeout := cmp.Or(s.Socket.WriteTimeout, socket.DefaultWriteTimeout)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeout))
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

// refuse answers with a fault.
func (s *server) refuse(w http.ResponseWriter, f *fault) {
	body, err := json.Marshal(f)
	if err != nil {
		s.log.Error("writing an error", "error", err)
		body = []byte(`{"code":"internal_error","message":"internal error; ask the person"}`)
	}
	switch f.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusRequestEntityTooLarge, http.StatusRequestTimeout:
		// The rest of the body is not waited for.
		w.Header().Set("Connection", "close")
	}
	s.reply(w, f.Status, body)
}
