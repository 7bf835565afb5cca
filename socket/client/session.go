package client

import (
	"context"
	"fmt"
	"slices"

	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
)

// Protocol is the version of permd's protocol that this package implements.
const Protocol = 1

// Hello is permd's description of itself in the result of permd/session.
type Hello struct {
	// Protocol is the version that permd uses, at most the constant Protocol.
	Protocol int `json:"protocol"`
	// Version is the version of permd, for display; "" if it is unknown.
	Version string `json:"version"`
	// Features are the capabilities of this permd; docs/protocol.md lists them.
	Features []string `json:"features"`
}

// Has reports whether permd has a feature.
func (h Hello) Has(feature string) bool { return slices.Contains(h.Features, feature) }

// VersionError means that permd uses a version of the protocol whose answers this
// program could misinterpret. Its decisions must not be used.
type VersionError struct {
	Protocol int
	Version  string // version of permd, "" if it is unknown
}

func (e *VersionError) Error() string {
	who := "permd"
	if e.Version != "" {
		who += " " + display.Display(e.Version)
	}
	return fmt.Sprintf("%s speaks version %d of its protocol, and this program only version %d: %s", who, e.Protocol, Protocol, e.Hint())
}

// Hint returns advice for the user.
func (e *VersionError) Hint() string {
	if e.Protocol > Protocol {
		return "update this program, and restart what it runs in"
	}
	return "restart permd's daemon, so that it is as new as this program"
}

// ReadHello parses the result of permd/session. If permd uses another version of the
// protocol, the error is a *VersionError. A result without a version is version 1.
func ReadHello(answer strictjson.Value) (Hello, error) {
	h := Hello{Protocol: Protocol}
	if err := strictjson.Unmarshal(answer, &h); err != nil {
		return Hello{}, fmt.Errorf("reading permd's answer: %w", err)
	}
	if h.Protocol != Protocol {
		return Hello{}, &VersionError{h.Protocol, h.Version}
	}
	return h, nil
}

// DeclareSession declares a session for this connection. See ReadHello for a permd with
// another version of the protocol.
func DeclareSession(ctx context.Context, c Caller, s *Session) (Hello, error) {
	return declare(ctx, c, s)
}

// DeclareJSON is DeclareSession with params that are already JSON.
func DeclareJSON(ctx context.Context, c Caller, params strictjson.Value) (Hello, error) {
	return declare(ctx, c, params)
}

func declare(ctx context.Context, c Caller, params any) (Hello, error) {
	var answer strictjson.Value
	if err := c.Call(ctx, methodSession, params, &answer); err != nil {
		return Hello{}, err
	}
	return ReadHello(answer)
}
