package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/permd/permd/internal/strictjson"
)

// Bounds of a server's list of tools.
const (
	maxTools = 4096
	maxPages = 64
)

// definitions are what a server says of its tools: for each name the digest of what the
// model is told of the tool. A server that changes this changes what the model does with
// the tool, so an answer about the tool holds only as long as it says the same.
type definitions struct {
	mu     sync.Mutex
	digest map[string]string
}

// definition of a tool: the members that say what it is.
var definitionMembers = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution"}

// note adds the tools of a result of tools/list. A name that stands in it twice has no
// definition that is certain, and so is no tool.
func (d *definitions) note(result strictjson.Value) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list, err := strictjson.ParseArray(strictjson.Find(result, "tools"))
	if err != nil {
		return
	}
	if d.digest == nil {
		d.digest = map[string]string{}
	}
	seen := map[string]bool{}
	for _, t := range list {
		name, digest := definition(t)
		if name == "" {
			continue
		}
		if seen[name] || len(d.digest) >= maxTools {
			digest = ""
		}
		seen[name] = true
		d.digest[name] = digest
	}
}

// definition returns a tool's name and the digest of its definition.
func definition(tool strictjson.Value) (name, digest string) {
	o, err := strictjson.ParseObject(tool)
	if err != nil || strictjson.Kind(tool) != '{' || o.NearMiss(definitionMembers...) != "" {
		return "", ""
	}
	h := sha256.New()
	for _, member := range definitionMembers {
		v, ok := o.Get(member)
		if !ok {
			continue
		}
		if member == "name" {
			name, _ = strictjson.ParseString(v)
		}
		v = slices.Clone(v)
		if err := v.Canonicalize(); err != nil {
			return "", ""
		}
		fmt.Fprintf(h, "%s %d\n%s", member, len(v), v)
	}
	return name, hex.EncodeToString(h.Sum(nil)[:10])
}

// forget forgets all tools: the server has others now.
func (d *definitions) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.digest = nil
}

func (d *definitions) find(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.digest[name]
}

var errNoTool = errors.New("the server has no such tool")

// definition returns the digest of a tool's definition. It is the one that the client
// was told last; if it was told none, the server is asked. The error is errNoTool if the
// server does not list the tool.
func (g *gateway) definition(ctx context.Context, name string) (string, error) {
	if digest := g.tools.find(name); digest != "" {
		return digest, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	params := "{}"
	for range maxPages {
		m, err := g.ask(ctx, &g.server, methodListTools, params)
		if err != nil {
			return "", fmt.Errorf("asking the server for its tools: %w", err)
		}
		g.tools.note(m.result)
		cursor, ok := strictjson.ParseString(strictjson.Find(m.result, "nextCursor"))
		if !ok {
			break
		}
		params = `{"cursor":` + quote(cursor) + `}`
	}
	if digest := g.tools.find(name); digest != "" {
		return digest, nil
	}
	return "", errNoTool
}
