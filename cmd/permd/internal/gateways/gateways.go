// Package gateways holds the commands that stand between a client and what runs its tools,
// one for each protocol: permd aap, permd mcp, permd otc and permd rap.
package gateways

import (
	"context"
	"io"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/socket/client"
)

// Gateways is what the commands take from the program that they are part of.
type Gateways struct {
	*cli.Streams
	// Dirs returns permd's directories, and Dial connects to the daemon.
	Dirs func() (xdg.Dirs, error)
	Dial func(ctx context.Context) (*client.Client, error)
	// Printer returns what prints texts to standard error without waiting for it, until
	// end is called.
	Printer func() (say func(string), end func())
	// Caller returns what decides calls, the daemon or this process, until done is called.
	Caller func(ctx context.Context, local bool) (to client.Caller, done func(), err error)
	// Render prints a decision in readable form.
	Render func(w io.Writer, d *decisions.Decision)
}
