package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/gatehttp"
)

// apiError is an error response, in the form of OPA's errors. Its message never repeats
// text of the request.
type apiError struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
	// Result is the protocol's own result for a call that could not be read, if it has one.
	Result strictjson.Value `json:"result,omitzero"`
}

func (f *apiError) Error() string { return f.Message }

func badRequest(text string) *apiError {
	return &apiError{Status: http.StatusBadRequest, Code: "invalid_parameter", Message: text}
}

// refused returns the error response for a request that is not served, nil if it is.
func refused(r *gatehttp.Refusal) *apiError {
	if r == nil {
		return nil
	}
	return &apiError{Status: r.Status, Code: r.Code, Message: r.Message}
}

// apiErrorOf returns the error response for the error of a method.
func (s *server) apiErrorOf(ctx context.Context, err error) *apiError {
	if f, ok := errors.AsType[*apiError](err); ok {
		return f
	}
	if ctx.Err() != nil {
		return endedError(ctx)
	}
	if e, ok := errors.AsType[*socket.Error](err); ok && e != nil {
		switch e.Code {
		case socket.CodeParams, socket.CodeRequest, socket.CodeParse:
			f := badRequest(e.Message)
			f.Result = strictjson.Find(e.Data, "result")
			return f
		case socket.CodeBusy, socket.CodeCancelled:
			return &apiError{Status: http.StatusServiceUnavailable, Code: "busy", Message: e.Message}
		}
	}
	s.log.Error("a method failed", "error", err)
	return &apiError{Status: http.StatusInternalServerError, Code: "internal_error", Message: "internal error; ask the person"}
}

// errDisconnected is the error for a client that is gone, as far as HTTP/1.1 shows it: one that has sent
// more, or has closed its side of the connection, may still read.
var errDisconnected = &apiError{
	Status: http.StatusServiceUnavailable, Code: "busy",
	Message: "the client is gone, or has sent more or closed its side of the connection before it had its answer; ask the person",
}

// endedError returns the error for a context that has ended.
func endedError(ctx context.Context) *apiError {
	var text string
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errShutdown):
		text = "shutting down; ask the person"
	case errors.Is(cause, context.DeadlineExceeded):
		text = "it took too long; ask the person"
	default:
		return errDisconnected
	}
	return &apiError{Status: http.StatusServiceUnavailable, Code: "busy", Message: text}
}

// The values of headers that all responses have. They are never changed.
var (
	headerJSON    = []string{"application/json"}
	headerNoStore = []string{"no-store"}
	headerNoSniff = []string{"nosniff"}
)

// reply writes a response. The write deadline drops clients that do not read.
func (s *server) reply(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = headerJSON, headerNoStore, headerNoSniff
	timeout := cmp.Or(s.Socket.WriteTimeout, socket.DefaultWriteTimeout)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeout))
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

// replyError writes an error response.
func (s *server) replyError(w http.ResponseWriter, f *apiError) {
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
