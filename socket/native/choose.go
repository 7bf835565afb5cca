package native

import (
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

type chooseParams struct {
	DecisionID string            `json:"decisionId"`
	OptionID   string            `json:"optionId"`
	Verdict    decisions.Verdict `json:"verdict"`
	Width      string            `json:"width"`
	Scope      string            `json:"scope"`
	ExpiresIn  strictjson.Value  `json:"expiresIn"`
}

// Choice is a stored choice, as the person who made it sees it.
type Choice struct {
	ID    string `json:"choiceId"`
	Label string `json:"label"` // the rule line
}

// ChooseResult is the answer of permd/choose.
type ChooseResult struct {
	// Stored are the choices that were remembered; none for an answer that
	// holds once.
	Stored []Choice `json:"stored"`
	// Result is what to send the agent, absent when the protocol has no
	// answer of its own.
	Result any `json:"result,omitzero"`
}

// choose brings the person's answer to a question of this connection. A
// question takes one answer; one that does not fit leaves it open.
func (h *handler) choose(c *socket.Conn, params strictjson.Value) (run, error) {
	var p chooseParams
	if err := read(params, &p); err != nil {
		return nil, err
	}
	switch {
	case p.DecisionID == "":
		return nil, refuse("decisionId is missing")
	case (p.OptionID == "") == (p.Verdict == ""):
		return nil, refuse("exactly one of optionId and verdict is needed")
	case p.Verdict != "" && p.Verdict != decisions.Allow && p.Verdict != decisions.Deny:
		return nil, refuse("verdict must be allow or deny")
	case p.Width != "":
		// A width is only taken from the decision's own list, and decisions
		// offer what can be remembered; an id from elsewhere is a mistake.
		return nil, refuse("no width of that id was offered")
	case p.Scope != "" || len(p.ExpiresIn) > 0 && strictjson.Kind(p.ExpiresIn) != 'n':
		return nil, refuse("scope and expiresIn belong to a width, and none was chosen")
	}
	result, err := StateOf(c).Asks.answer(p.DecisionID, Pick{OptionID: p.OptionID, Verdict: p.Verdict})
	if err != nil {
		return nil, err
	}
	return answer(ChooseResult{Stored: []Choice{}, Result: result}), nil
}
