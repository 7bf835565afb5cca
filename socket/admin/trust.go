package admin

import (
	"context"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// The methods about the projects whose rules a person trusts.
const (
	MethodTrustSet    = "permd/trust.set"
	MethodTrustList   = "permd/trust.list"
	MethodTrustTry    = "permd/trust.try"
	MethodTrustRevoke = "permd/trust.revoke"
)

// NewTrust is a list of rules that a person trusts. The text is what they have seen: no file is read.
type NewTrust struct {
	Root    string `json:"root"` // of the project, with links resolved
	Text    []byte `json:"text"` // of its list, in base64
	Seconds int64  `json:"seconds"`
}

// Trusted is a list of rules that a person trusts, or trusted until a time that is over.
type Trusted struct {
	Root   string    `json:"root"`
	Digest string    `json:"digest"`        // the SHA-256 of the text in hexadecimal digits
	Text   []byte    `json:"text,omitzero"` // if only this project was asked for
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
}

// TrustedList is the result of permd/trust.list.
type TrustedList struct {
	Trusted []Trusted `json:"trusted"`
	// Counts is whose trust counts: "user", "approved" or "forbid" (project_trust in permd.toml).
	Counts string `json:"counts"`
	// Approved are the digests of the lists that org trusts in projects in a folder, "" for any.
	Approved []ApprovedList `json:"approved,omitzero"`
	// Damage says which files could not be believed at the start.
	Damage []string `json:"damage,omitzero"`
}

// ApprovedList is a list of rules that org trusts.
type ApprovedList struct {
	Digest string `json:"digest"`
	Root   string `json:"root,omitzero"`
}

// TrustTrial is a list of rules of a project, of which it is to be said what it would allow.
type TrustTrial struct {
	Root string `json:"root"` // of the project, with links resolved
	Text []byte `json:"text"` // of its list as it is now, in base64
}

// Tried is the result of permd/trust.try.
type Tried struct {
	// Entries are those that a project may allow, in the order of the list.
	Entries []TriedEntry `json:"entries"`
}

// TriedEntry is an allow entry of a list with what would be decided, were the list trusted, about a call
// that it speaks of.
type TriedEntry struct {
	Kind effects.Kind `json:"kind"`
	Line string       `json:"line"`
	At   int          `json:"at"` // its number in the file, from 1
	// Call is nil for an entry that was not tried because there are too many.
	Call *TriedCall `json:"call,omitzero"`
	// Example is set if a * makes the entry speak of several calls. Then Call is one that would be
	// allowed, if one of those that were tried would be.
	Example bool              `json:"example,omitzero"`
	Verdict decisions.Verdict `json:"verdict,omitzero"`
	Reason  string            `json:"reason,omitzero"`
}

// TriedCall is a call in the root of the project.
type TriedCall struct {
	Agent string           `json:"agent"`
	Tool  string           `json:"tool"`
	Input strictjson.Value `json:"input"`
	Text  string           `json:"text"` // what people are shown of it
}

// trustedProject names a project by its root: "" is all, for the list.
type trustedProject struct {
	Root string `json:"root,omitzero"`
}

// Trusts keeps which projects people trust.
type Trusts interface {
	Trust(ctx context.Context, peer decisions.Peer, n NewTrust) (Trusted, error)
	TrustedBy(uid uint32, root string) TrustedList
	TryTrust(ctx context.Context, peer decisions.Peer, n TrustTrial) (Tried, error)
	Distrust(ctx context.Context, peer decisions.Peer, root string) (Ended, error)
}

// registerTrusts adds the methods about trust.
func registerTrusts(m socket.Methods, t Trusts) {
	m[MethodTrustSet] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var n NewTrust
		if err := decode(params, &n); err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) { return refused(t.Trust(ctx, c.Peer, n)) }, nil
	}
	m[MethodTrustList] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var of trustedProject
		if err := decode(params, &of); err != nil {
			return nil, err
		}
		return func(context.Context) (any, error) { return t.TrustedBy(c.Peer.UID, of.Root), nil }, nil
	}
	m[MethodTrustTry] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var n TrustTrial
		if err := decode(params, &n); err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) { return refused(t.TryTrust(ctx, c.Peer, n)) }, nil
	}
	m[MethodTrustRevoke] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var n trustedProject
		if err := decode(params, &n); err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) { return refused(t.Distrust(ctx, c.Peer, n.Root)) }, nil
	}
}
