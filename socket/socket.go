// Package socket serves methods on Unix sockets: peer credentials, JSON-RPC 2.0 with one
// message per line, strict JSON, limits. It knows messages and methods but not their
// meaning: each protocol is a sub-package that registers its methods.
package socket

import (
	"context"
	"errors"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/internal/strictjson"
)

// Method handles one request or notification. It is called on the connection's reading
// goroutine, in the order of the messages, so it sees the state that earlier messages
// set; it must not block. Work that takes time belongs in run, which is called on a
// goroutine of its own and whose result is marshalled as the response; if run is nil,
// the response is null. For a notification, run's result is ignored. An *Error is sent
// as it is; any other error is sent as an internal error without its text, which may
// repeat input.
type Method func(c *Conn, params strictjson.Value) (run func(ctx context.Context) (result any, err error), err error)

// Methods are the methods of a socket by name.
type Methods map[string]Method

// Conn is a connection as seen by methods.
type Conn struct {
	// ID is unique for the lifetime of the daemon.
	ID   uint64
	Peer decisions.Peer
	// admin is set for an admin of Members; see Everybody.
	admin bool
	// OneRequest is set if the connection ends with its request (see NewConn).
	OneRequest bool
	// member is the connection's share of slots and memory; nil without a server.
	member *fairshare.Member
	// onClose are called once, when the connection has ended.
	onClose []func()
	// onEOF are called once, when nothing more is read.
	onEOF []func()
	// onUnread are called when a message could not be passed to its method.
	onUnread []func()
	missed   bool // a message could not be passed to its method
	// onWithdraw are called with the id of each withdrawn request.
	onWithdraw []func(id strictjson.Value)
	// request is the id of the request that is being passed to its method, and onRefused
	// are called if its second phase is not.
	request   strictjson.Value
	onRefused []func()
	// values is the state that sub-packages keep for the connection, each under a key
	// type of its own. It is accessed on the reading goroutine only.
	values map[any]any
	notify func(method string, params []byte) // nil if nothing but answers is sent
}

// Notify sends a notification to the client; params is JSON on one line. It waits while the
// client does not read, until the connection is dropped for that, so it must not be called on
// a goroutine that others wait for. It sends nothing on a connection of one request.
func (c *Conn) Notify(method string, params []byte) {
	if c.notify != nil {
		c.notify(method, params)
	}
}

// Owner returns the connection as an owner of sessions.
func (c *Conn) Owner() decisions.Owner { return decisions.Owner{UID: c.Peer.UID, Conn: c.ID} }

// Resize changes how many bytes of memory are reserved for what the connection keeps
// from old to size, and reports whether it may have that; otherwise nothing changes, and
// it has to keep less. What is reserved at the end of the connection is released then.
// Resize may be called from any goroutine.
func (c *Conn) Resize(old, size int) bool { return c.member.Resize(old, size) }

// OnClose registers f to be called once when the connection ends. It must be called from
// a Method.
func (c *Conn) OnClose(f func()) { c.onClose = append(c.onClose, f) }

// OnEOF registers f to be called once when nothing more is read of the client, which has
// closed the connection or its side of it, or because the server stops. Requests may still
// be answered then. f is called on the reading goroutine. OnEOF must be called from a Method.
func (c *Conn) OnEOF(f func()) { c.onEOF = append(c.onEOF, f) }

// OnUnread registers f to be called on the reading goroutine whenever a message of the
// client was refused before it reached its method: it was too long, not strict JSON, or
// there was no room. It may have been a notification that changes state, so state that
// depends on notifications is no longer reliable. It must be called from a Method.
func (c *Conn) OnUnread(f func()) { c.onUnread = append(c.onUnread, f) }

// RequestID returns the id of the request that is being passed to its method, nil for a
// notification. It must be called from a Method.
func (c *Conn) RequestID() strictjson.Value { return c.request }

// OnWithdraw registers f to be called on the reading goroutine with the id of a request
// that the client withdraws with $/cancel_request. The request may have been answered
// already: its answer may have left a question open. It must be called from a Method.
func (c *Conn) OnWithdraw(f func(id strictjson.Value)) { c.onWithdraw = append(c.onWithdraw, f) }

// OnRefused registers f to be called if the request that is being passed to its method is
// refused before its second phase, because it would have to wait for too long, was
// withdrawn, or permd stops. What the first phase has begun for the second one can be undone
// then. f may be called on any goroutine. OnRefused must be called from a Method.
func (c *Conn) OnRefused(f func()) { c.onRefused = append(c.onRefused, f) }

// Missed reports whether a message of the client was refused before it reached its
// method (see OnUnread), including messages before the first call of a method. It must
// be called from a Method.
func (c *Conn) Missed() bool { return c.missed }

// Value returns the state kept under key. If there is none, it is created with new. It
// must be called from a Method.
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

// ErrWithdrawn is the cause of the cancelled context of a request that its client has
// withdrawn. If a method returns the context's error, the response is CodeCancelled.
var ErrWithdrawn = errors.New("the client withdrew the request")

// Error codes: those of JSON-RPC 2.0 and ACP, and permd's own.
const (
	CodeParse     = -32700
	CodeRequest   = -32600
	CodeMethod    = -32601
	CodeParams    = -32602
	CodeInternal  = -32603
	CodeCancelled = -32800 // ACP: the request was withdrawn
	CodeAsk       = -32050 // permd: a person must be asked; data is the decision
	CodeBusy      = -32051 // permd: a limit was exceeded; ask the person
)
