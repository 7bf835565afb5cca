package rap

import (
	"context"
	"slices"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// Ended says how a call ended, in the words of rap/ended.
type Ended string

// How calls end.
const (
	Ran       Ended = "ran"
	Failed    Ended = "failed"
	Cancelled Ended = "cancelled"
	Unknown   Ended = "unknown" // it was sent, and may have run
)

type endedParams struct {
	ThreadID   string `json:"thread_id"`
	ToolCallID string `json:"tool_call_id"`
	Outcome    Ended  `json:"outcome"`
}

type endedResult struct {
	Recorded bool `json:"recorded"`
}

// ended records how a call ended. It is a report of the peer, on which nothing depends.
func (h *handler) ended(c *socket.Conn, params strictjson.Value) (run, error) {
	var p endedParams
	if err := socket.ReadParams("params", params, &p); err != nil {
		return nil, err
	}
	if err := socket.CheckName("thread_id", p.ThreadID); err != nil {
		return nil, err
	}
	if err := socket.CheckName("tool_call_id", p.ToolCallID); err != nil {
		return nil, err
	}
	if !slices.Contains([]Ended{Ran, Failed, Cancelled, Unknown}, p.Outcome) {
		return nil, socket.Refuse("outcome must be ran, failed, cancelled or unknown")
	}
	decision := stateOf(c).decisionOf(callID{p.ThreadID, p.ToolCallID})
	if decision == "" || h.RecordEnd == nil {
		return immediate(endedResult{}), nil
	}
	return func(ctx context.Context) (any, error) {
		return endedResult{h.RecordEnd(ctx, decision, string(p.Outcome)) == nil}, nil
	}, nil
}
