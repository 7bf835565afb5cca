package explain

import (
	"context"
	"errors"
	"fmt"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// NoDecision returns the error for an unknown id of a decision.
func NoDecision(id string) error {
	return cli.Failf(cli.ExitError, "permd log list shows their ids", "no decision %q", id)
}

// Fetch requests the explanation of a decision from the daemon.
func Fetch(ctx context.Context, c *client.Client, id string) (*Explanation, error) {
	var x Explanation
	err := c.Call(ctx, Method, map[string]string{"decisionId": id}, &x)
	if rpc, ok := errors.AsType[*client.Error](err); ok {
		switch rpc.Code {
		case admin.CodeNoDecision:
			return nil, NoDecision(id)
		case socket.CodeMethod:
			return nil, cli.Failf(cli.ExitError, "restart it: permd doctor says how", "the daemon's version does not support explanations")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("asking for an explanation: %w", err)
	}
	if x.Decision == nil {
		return nil, errors.New("reading permd's explanation: it has no decision")
	}
	return &x, nil
}

// Method is the management method that permd explain calls.
const Method = "permd/explain"
