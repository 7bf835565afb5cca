package aap

import (
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// Result is the result of both methods.
type Result struct {
	BatchID string              `json:"batchId"`
	Policy  decisions.PolicyRef `json:"policy"`
	Calls   []Call              `json:"calls"`
	Needs   needs               `json:"needs"`
	// Messages are nil while a call has the outcome ask.
	Messages []message                `json:"messages,omitzero"`
	Stored   []decisions.StoredChoice `json:"stored,omitzero"`
}

// Call is one call of a turn with its outcome.
type Call struct {
	ToolCallID string              `json:"toolCallId"`
	Name       string              `json:"name"`
	Side       side                `json:"side"`
	Outcome    Outcome             `json:"outcome"`
	Reason     string              `json:"reason,omitzero"`
	Problem    string              `json:"problem,omitzero"`
	Decision   *decisions.Decision `json:"decision,omitzero"`
}

// needs are the calls that lack something.
type needs struct {
	Answers []string `json:"answers"`
	Results []string `json:"results"`
}

// message is one message to post: a tool's result, or a permission.
type message struct {
	Role       string           `json:"role"`
	ToolCallID string           `json:"toolCallId"`
	Content    strictjson.Value `json:"content,omitzero"`
	Granted    *bool            `json:"granted,omitzero"`
	Reason     string           `json:"reason,omitzero"`
}

// result renders the batch in its current state. The batch's lock is held.
func (b *batch) result(stored []decisions.StoredChoice) (*Result, error) {
	r := &Result{
		BatchID: b.id, Policy: decisions.PolicyRef{Digest: b.digest}, Calls: make([]Call, 0, len(b.entries)),
		Needs: needs{Answers: []string{}, Results: []string{}}, Stored: stored,
	}
	messages := []message{}
	for _, e := range b.entries {
		c := Call{
			ToolCallID: e.id, Name: e.tool.Name, Side: e.side, Outcome: e.outcome, Reason: e.reason, Problem: e.problem,
		}
		// A question that was closed before it was answered is not the reason.
		if e.whyDenied == "" || e.decision != nil && e.decision.Verdict == decisions.Deny {
			c.Decision = e.decision
		}
		switch e.outcome {
		case Ask:
			r.Needs.Answers = append(r.Needs.Answers, e.id)
		case Execute:
			e.released = true
			r.Needs.Results = append(r.Needs.Results, e.id)
		case Granted, Denied, Skip:
			m, ok, err := e.message()
			if err != nil {
				return nil, err
			}
			if ok {
				messages = append(messages, m)
			}
		}
		r.Calls = append(r.Calls, c)
	}
	if len(r.Needs.Answers) == 0 {
		r.Messages = messages
	}
	return r, nil
}

// message returns what to post for a call that lacks nothing; false if nothing is
// posted.
func (e *entry) message() (m message, ok bool, err error) {
	m = message{ToolCallID: e.id}
	switch {
	case e.result != nil:
		m.Role, m.Content = "tool", e.result
	case e.outcome == Skip:
		return m, false, nil
	case e.outcome == Granted:
		yes := true
		m.Role, m.Granted = "tool_permission", &yes
	case e.side == client:
		text := "Tool call denied"
		if e.reason != "" {
			text += ": " + e.reason
		}
		m.Role = "tool"
		m.Content, err = encodeText(text)
	default:
		no := false
		m.Role, m.Granted, m.Reason = "tool_permission", &no, e.reason
	}
	return m, true, err
}
