// Package admin serves permd's management methods. They have a socket of their
// own, in a folder of its own, so that clients that ask for decisions need no
// access to what changes decisions.
package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/tally"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// The methods.
const (
	MethodStatus = "permd/status"
	MethodReload = "permd/reload"
	MethodList   = "permd/decisions.list"
	MethodShow   = "permd/decisions.show"
	MethodFollow = "permd/decisions.follow"
	MethodFind   = "permd/decisions.find"
	MethodTally  = "permd/decisions.tally"
)

// CodeNoDecision is the error code for a decision id that is not in the
// journal.
const CodeNoDecision = -32052

// Log is a journal that can be read.
type Log interface {
	// Page returns a part of a list.
	Page(ctx context.Context, f decisions.RecordFilter) (Records, error)
	// Tally counts decisions by group; starts are those of days.
	Tally(ctx context.Context, f decisions.RecordFilter, by []tally.By, starts []time.Time) (Tallies, error)
	Get(ctx context.Context, decisionID string) (*decisions.Record, error)
	// IDs returns the ids that begin with prefix, at most limit of them; uid is whose the
	// decisions must be, nil for anybody's.
	IDs(ctx context.Context, uid *uint32, prefix string, limit int) ([]string, error)
	// Wait returns when there is a record with a greater sequence number than seq, or
	// when ctx is done.
	Wait(ctx context.Context, seq int64) error
}

// Bounds of the number of records in one answer, and of the time that a follow waits.
const (
	MaxList    = 1000
	followWait = 25 * time.Second
)

// ReloadParams are the parameters of permd/reload.
type ReloadParams struct {
	// Digest is the digest that the rules outside of projects must have, or nothing is
	// reloaded; "" for any.
	Digest string `json:"digest,omitzero"`
}

// Reloaded is the result of permd/reload.
type Reloaded struct {
	Changed bool   `json:"changed"` // the rules
	Digest  string `json:"digest"`
	// Settings are the keys of permd.toml whose values have changed.
	Settings []string `json:"settings,omitzero"`
}

// Records is the result of list and follow.
type Records struct {
	Records []*decisions.Record `json:"records"`
	// Next is where the list goes on: the filter's before, or its after if the oldest come
	// first. It is 0 if nothing is left, else at most Left decisions.
	Next int64 `json:"next,omitzero"`
	Left int64 `json:"left,omitzero"`
}

// Found is the result of find: the ids of decisions that begin with the given text, at most
// MaxFound of them.
type Found struct {
	IDs []string `json:"decisionIds"`
}

// MaxFound is the maximum number of ids in one answer of find.
const MaxFound = 10

// Deps are the dependencies of the management methods.
type Deps struct {
	Log Log
	// System is set if the daemon serves several people: then each peer sees the records of
	// its own calls alone, unless it is an admin.
	System bool
	// Status returns the result of permd/status for that user, to be marshalled; nil is for
	// who may see everything.
	Status func(uid *uint32) any
	// Reload puts the rules in the files in force, if they have a digest; "" for any.
	Reload func(ctx context.Context, digest string) (Reloaded, error)
	// Memory may be nil; then the methods about choices do not exist.
	Memory Memory
	// Asked may be nil; then the methods about questions do not exist.
	Asked Asked
	// Pauses may be nil; then the methods about pauses and locks do not exist.
	Pauses Pauses
	// Trusts may be nil; then the methods about trust in projects do not exist.
	Trusts Trusts
}

// Register adds the management methods.
func Register(m socket.Methods, d Deps) {
	if d.Memory != nil {
		registerChoices(m, d.Memory, d.Log)
	}
	if d.Asked != nil {
		registerQuestions(m, d.Asked)
	}
	if d.Pauses != nil {
		registerPauses(m, d.Pauses)
	}
	if d.Trusts != nil {
		registerTrusts(m, d.Trusts)
	}
	m[MethodStatus] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		if err := decode(params, &struct{}{}); err != nil {
			return nil, err
		}
		return func(context.Context) (any, error) { return d.Status(d.readable(c)), nil }, nil
	}
	m[MethodReload] = func(_ *socket.Conn, params strictjson.Value) (run, error) {
		var p ReloadParams
		if err := decode(params, &p); err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) {
			r, err := d.Reload(ctx, p.Digest)
			if err != nil {
				// The administrator needs to see what is wrong with the rules.
				return nil, &socket.Error{Code: socket.CodeInternal, Message: err.Error()}
			}
			return r, nil
		}, nil
	}
	m[MethodList] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		f, err := filter(params)
		if err != nil {
			return nil, err
		}
		f.UID = d.readable(c)
		return func(ctx context.Context) (any, error) { return list(ctx, d.Log, f) }, nil
	}
	m[MethodShow] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var p struct {
			DecisionID string `json:"decisionId"`
		}
		if err := decode(params, &p); err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) {
			r, err := d.Log.Get(ctx, p.DecisionID)
			if err != nil {
				return nil, fmt.Errorf("reading the journal: %w", err)
			}
			if r == nil || !d.MayRead(c, r) {
				return nil, &socket.Error{Code: CodeNoDecision, Message: "no decision of that id"}
			}
			return r, nil
		}, nil
	}
	m[MethodFind] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var p struct {
			Prefix string `json:"prefix"`
		}
		if err := decode(params, &p); err != nil {
			return nil, err
		}
		if p.Prefix == "" {
			return nil, invalidParams("prefix is missing")
		}
		return func(ctx context.Context) (any, error) {
			ids, err := d.Log.IDs(ctx, d.readable(c), p.Prefix, MaxFound)
			if err != nil {
				return nil, fmt.Errorf("reading the journal: %w", err)
			}
			return Found{IDs: append([]string{}, ids...)}, nil
		}, nil
	}
	registerTally(m, &d)
	m[MethodFollow] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		f, err := filter(params)
		if err != nil {
			return nil, err
		}
		f.UID = d.readable(c)
		return func(ctx context.Context) (any, error) { return follow(ctx, d.Log, f) }, nil
	}
}

// readable returns whose records a peer may read: the peer's own uid, or nil for everybody's.
// The peers of a daemon that serves one person are that person and root, who may read all.
func (d *Deps) readable(c *socket.Conn) *uint32 {
	if !d.System {
		return nil
	}
	return visible(c)
}

// MayRead reports whether a peer may read a record.
func (d *Deps) MayRead(c *socket.Conn, r *decisions.Record) bool {
	uid := d.readable(c)
	return uid == nil || r.Peer.UID == *uid && r.Unreadable == ""
}

type run = func(context.Context) (any, error)

func decode(params strictjson.Value, v any) error {
	if params == nil {
		return nil
	}
	if err := strictjson.Unmarshal(params, v); err != nil {
		return invalidParams(err.Error())
	}
	return nil
}

func invalidParams(text string) error {
	return &socket.Error{Code: socket.CodeParams, Message: "invalid params: " + text}
}
