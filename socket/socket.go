// Package socket is permd's listening side: Unix sockets with peer
// credentials, JSON-RPC 2.0 with one message per line, strict JSON, limits.
// It knows messages and methods, not what they mean: each protocol is a
// sub-package that registers its methods.
package socket

import (
	"context"
	"errors"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// Method handles one request or notification. It is called on the connection's
// reading goroutine, in the order of the messages, so that state which an
// earlier message set is seen; it must not block. What takes time it returns
// as run, which is called on a goroutine of its own; its result is marshalled
// as the response; a nil run answers null at once. For a notification run's result is dropped. An *Error
// becomes the response's error as it is, every other error an internal one
// that does not repeat the input.
type Method func(c *Conn, params strictjson.Value) (run func(ctx context.Context) (result any, err error), err error)

// Methods are the methods that a socket serves, by name.
type Methods map[string]Method

// Conn is a connection as methods see it.
type Conn struct {
	// ID is unique while the daemon lives.
	ID   uint64
	Peer decisions.Peer
	// onClose are called once, when the connection has ended.
	onClose []func()
	// onUnread are called when a message of the client's could not be handed to
	// its method.
	onUnread []func()
	missed   bool // there was such a message
	// onWithdraw are called with the id of each request that is withdrawn.
	onWithdraw []func(id strictjson.Value)
	// request is the id of the request that is being handed to its method.
	request strictjson.Value
	// values: state that sub-packages keep for the connection, by their own key
	// type; only touched on the reading goroutine.
	values map[any]any
}

// Owner is the connection as the owner of sessions.
func (c *Conn) Owner() decisions.Owner { return decisions.Owner{UID: c.Peer.UID, Conn: c.ID} }

// OnClose registers f to be called once when the connection ends. Only to be
// called from a Method.
func (c *Conn) OnClose(f func()) { c.onClose = append(c.onClose, f) }

// OnUnread registers f to be called on the reading goroutine whenever a message
// of the client was refused before its method saw it: too long, not readable in
// one way, no room. It may have been a notification that changes state, so
// state that is built from notifications cannot be relied on after it. Only to
// be called from a Method.
func (c *Conn) OnUnread(f func()) { c.onUnread = append(c.onUnread, f) }

// RequestID returns the id of the request that is being handed to its method,
// nil for a notification. Only to be called from a Method.
func (c *Conn) RequestID() strictjson.Value { return c.request }

// OnWithdraw registers f to be called on the reading goroutine with the id of a
// request that the client withdraws ($/cancel_request), whether it is being
// answered or was answered before: the answer may have left something open. Only
// to be called from a Method.
func (c *Conn) OnWithdraw(f func(id strictjson.Value)) { c.onWithdraw = append(c.onWithdraw, f) }

// Missed reports whether a message of the client was refused before its method
// saw it (see OnUnread), also one before the first call of a method. Only to be
// called from a Method.
func (c *Conn) Missed() bool { return c.missed }

// Value returns state kept under key, making it with new the first time. Only
// to be called from a Method.
func (c *Conn) Value(key any, new func() any) any {
	if c.values == nil {
		c.values = map[any]any{}
	}
	v, ok := c.values[key]
	if !ok {
		v = new()
		c.values[key] = v
	}
	return v
}

// Error is a JSON-RPC error.
type Error struct {
	Code    int              `json:"code"`
	Message string           `json:"message"`
	Data    strictjson.Value `json:"data,omitzero"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// ErrWithdrawn is why the context of a request is cancelled that its client has
// withdrawn. A method that returns the context's error answers CodeCancelled.
var ErrWithdrawn = errors.New("the client withdrew the request")

// Codes of errors: those of JSON-RPC 2.0, of ACP, and permd's own.
const (
	CodeParse     = -32700
	CodeRequest   = -32600
	CodeMethod    = -32601
	CodeParams    = -32602
	CodeInternal  = -32603
	CodeCancelled = -32800 // ACP: the request was cancelled
	CodeAsk       = -32050 // permd: ask the person; data is the decision
	CodeBusy      = -32051 // permd: over a limit; ask the person
)
