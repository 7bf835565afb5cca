package client

import (
	"context"
	"fmt"
	"slices"
)

// Protocol is the version of permd's protocol that this package reads.
const Protocol = 1

// Hello is what permd says about itself when a session is declared.
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

// DeclareSession declares a session. What was declared holds for this connection. A
// permd of a newer protocol is an error, since its answers could be misread. One
// that names none is from before the version was named, and speaks version 1.
func DeclareSession(ctx context.Context, c Caller, s *Session) (Hello, error) {
	h := Hello{Protocol: Protocol}
	if err := c.Call(ctx, methodSession, s, &h); err != nil {
		return Hello{}, err
	}
	if h.Protocol != Protocol {
		return Hello{}, fmt.Errorf("permd speaks version %d of its protocol, and this program only version %d: update it", h.Protocol, Protocol)
	}
	return h, nil
}
