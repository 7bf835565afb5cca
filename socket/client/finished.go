package client

import (
	"context"

	"github.com/permd/permd/internal/strictjson"
)

const methodFinished = "permd/finished"

// Finished is the params of permd/finished: what became of the questions of a harness's
// session. SessionID, Harness and Parent are those of the Session that asked.
type Finished struct {
	SessionID string `json:"sessionId"`
	Harness   string `json:"harness"`
	Parent    string `json:"parent,omitzero"`
	// Call is a call that has run, nil for none.
	Call *FinishedCall `json:"call,omitzero"`
	// TurnEnded says that no question of the session waits any more.
	TurnEnded bool `json:"turnEnded,omitzero"`
}

// FinishedCall is a call that has run, as it was asked about.
type FinishedCall struct {
	ID     string           `json:"callId,omitzero"`
	Tool   string           `json:"tool"`
	Server string           `json:"server,omitzero"` // the tool server, "" for none or if it is not known
	Input  strictjson.Value `json:"input,omitzero"`
}

// ReportFinished reports what became of questions, and returns the ids of the decisions
// that asked about the call. It is no answer: permd allows nothing because of it.
func ReportFinished(ctx context.Context, c Caller, f *Finished) ([]string, error) {
	var got struct {
		DecisionIDs []string `json:"decisionIds"`
	}
	if err := c.Call(ctx, methodFinished, f, &got); err != nil {
		return nil, err
	}
	return got.DecisionIDs, nil
}
