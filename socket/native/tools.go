package native

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
)

// toolDeclaration is a tool in the params of permd/session: what each member of its input
// means.
type toolDeclaration struct {
	Name    string            `json:"name"`
	Members map[string]string `json:"members"`
}

// toolsDigest identifies declared tools; it is zero for none.
type toolsDigest [sha256.Size]byte

// declareTools adds the tools that a client declares to the declaration of a session. The
// first ones of a connection, or of a session that outlives it, are fixed from then on:
// what a tool's input means does not change while an agent works, and the same call must
// not be read in two ways. fix must be called once the session is declared.
func (h *handler) declareTools(c *socket.Conn, p *sessionParams, d *decisions.Declaration, tree *sessionTree) (fix func(), err error) {
	if len(p.Tools) == 0 {
		return func() {}, nil
	}
	if h.Declarable == nil {
		return nil, socket.Refuse("tools: this permd takes no declarations of tools")
	}
	declared := make([]effects.DeclaredTool, len(p.Tools))
	for i, w := range p.Tools {
		t := effects.DeclaredTool{Name: w.Name, Members: make([]effects.DeclaredMember, 0, len(w.Members))}
		for name, means := range w.Members {
			t.Members = append(t.Members, effects.DeclaredMember{Name: name, Means: means})
		}
		slices.SortFunc(t.Members, func(a, b effects.DeclaredMember) int { return strings.Compare(a.Name, b.Name) })
		declared[i] = t
	}
	if err := h.Declarable(c.Peer.UID, d.Agent, declared); err != nil {
		return nil, socket.Refuse("tools: %v", err)
	}
	slices.SortFunc(declared, func(a, b effects.DeclaredTool) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.Marshal(declared)
	if err != nil {
		return nil, socket.Refuse("tools: the declaration cannot be read")
	}
	sum := toolsDigest(sha256.Sum256(text))
	state := StateOf(c)
	first := state.tools
	if tree != nil {
		h.Persistent.mu.Lock()
		first = tree.tools
		h.Persistent.mu.Unlock()
	}
	if first != (toolsDigest{}) && first != sum {
		return nil, socket.Refuse("tools: other tools were declared before, and stay as they are until the connection ends")
	}
	d.Tools = declared
	return func() {
		if tree == nil {
			state.tools = sum
			return
		}
		h.Persistent.mu.Lock()
		defer h.Persistent.mu.Unlock()
		if tree.tools == (toolsDigest{}) {
			tree.tools = sum
		}
	}, nil
}
