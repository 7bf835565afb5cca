package native

import (
	"slices"

	"github.com/permd/permd/socket"
)

// protocolVersion is the version of the decision socket's protocol. It changes
// only when a client that was written for the old version could misread an
// answer of the new one; what is added does not change it (docs/protocol.md).
const protocolVersion = 1

// Hello is what the answer of permd/session tells a client about this permd.
type helloAnswer struct {
	Protocol int      `json:"protocol"`
	Version  string   `json:"version"`
	Features []string `json:"features"` // sorted
}

// methodFeatures are the features that a socket has when it serves a method.
var methodFeatures = []struct{ feature, method string }{
	{"aap-3", "aap/permissions"},
	{"acp-1", "session/request_permission"},
	{"acp-2", "session/request_permission"},
	{"decide", MethodDecide},
	{"gate", "permd/gate"},
	{"otc", "otc/call"},
	{"rap", "rap/invoke"},
}

// hello describes a permd with these methods.
func hello(methods socket.Methods, deps Deps) helloAnswer {
	h := helloAnswer{Protocol: protocolVersion, Version: deps.Version, Features: []string{}}
	for _, f := range methodFeatures {
		if methods[f.method] != nil {
			h.Features = append(h.Features, f.feature)
		}
	}
	if deps.Changes != nil {
		h.Features = append(h.Features, "changes")
	}
	if deps.Declarable != nil {
		h.Features = append(h.Features, "declare")
	}
	if deps.Persistent != nil {
		h.Features = append(h.Features, "harness")
	}
	if deps.Keeper != nil {
		h.Features = append(h.Features, "remember")
	}
	if deps.Waiting != nil {
		h.Features = append(h.Features, "wait")
	}
	slices.Sort(h.Features)
	return h
}
