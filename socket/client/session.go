package client

import (
	"context"
	"fmt"
	"slices"

	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
)

// Protocol is the version of permd's protocol that this package reads.
const Protocol = 1

// Hello is permd's description of itself in the answer to a declaration.
type Hello struct {
	// Protocol is the version that permd speaks, at most Protocol.
	Protocol int `json:"protocol"`
	// Version is permd's own, to be shown; "" if it did not say.
	Version string `json:"version"`
	// Features are what this permd can do; docs/protocol.md lists them.
	Features []string `json:"features"`
}

// Has reports whether permd has a feature.
func (h Hello) Has(feature string) bool { return slices.Contains(h.Features, feature) }

// VersionError means that permd uses a version of the protocol whose answers
// this program could misread. Its decisions must not be used.
type VersionError struct {
	Protocol int
	Version  string // permd's own, "" if it did not say
}

func (e *VersionError) Error() string {
	who := "permd"
	if e.Version != "" {
		who += " " + display.Display(e.Version)
	}
	return fmt.Sprintf("%s speaks version %d of its protocol, and this program only version %d: %s", who, e.Protocol, Protocol, e.Hint())
}

// Hint says what to do about it.
func (e *VersionError) Hint() string {
	if e.Protocol > Protocol {
		return "update this program, and restart what it runs in"
	}
	return "restart permd's daemon, so that it is as new as this program"
}

// ReadHello reads the answer of permd/session. Of a permd whose protocol has
// another version the error is a VersionError. One that names none is from before
// the version was named, and speaks version 1.
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

// DeclareSession declares a session. What was declared holds for this connection. See
// ReadHello for a permd of another version.
func DeclareSession(ctx context.Context, c Caller, s *Session) (Hello, error) {
	return declare(ctx, c, s)
}

// DeclareJSON is DeclareSession for params that are JSON already.
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
