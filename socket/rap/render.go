package rap

import (
	"fmt"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/toolserver"
)

// Outcome is the outcome of an invocation.
type Outcome string

// The outcomes.
const (
	Run            Outcome = "run"     // it may be sent, or run
	Ask            Outcome = "ask"     // the person must say
	Denied         Outcome = "denied"  // it must not run
	outcomeInvalid Outcome = "invalid" // the tool could not take it
)

// invokeResult is the answer of rap/invoke.
type invokeResult struct {
	Outcome  Outcome             `json:"outcome"`
	Decision *decisions.Decision `json:"decision"`
	Result   *ToolResult         `json:"result,omitzero"`
	Choice   *UserChoice         `json:"choice,omitzero"`

	question *question
}

// ToolResult is a tool_result of the protocol.
type ToolResult struct {
	Type    string           `json:"type"`
	GroupID string           `json:"group_id"`
	ID      string           `json:"id"`
	CallID  strictjson.Value `json:"call_id,omitzero"`
	Text    string           `json:"text"`
}

// UserChoice is a user_choice of the protocol, without the address for the answer.
type UserChoice struct {
	Type    string           `json:"type"`
	GroupID string           `json:"group_id"`
	ID      string           `json:"id"`
	CallID  strictjson.Value `json:"call_id,omitzero"`
	Prompt  string           `json:"prompt"`
	Choices []string         `json:"choices"`
	Default int              `json:"default"`
}

// result renders a decision. Of a call that is not valid no person is asked.
func (in *invocation) result(d *decisions.Decision, invalid string, l *lineage) *invokeResult {
	r := &invokeResult{Decision: d}
	switch {
	case d.Verdict == decisions.Deny:
		r.Outcome, r.Result = Denied, in.failed("permission denied: "+toolserver.Reason(d))
	case invalid != "":
		r.Outcome, r.Result = outcomeInvalid, in.failed(invalid)
	case d.Verdict == decisions.Allow:
		r.Outcome = Run
	default:
		r.Outcome = Ask
		r.question = in.question(d, l)
		r.Choice = &UserChoice{
			Type: "user_choice", GroupID: in.GroupID, ID: in.ID, CallID: in.CallID.Clone(),
			Prompt: r.question.prompt(d, in.Arguments), Choices: r.question.labels(), Default: r.question.no(),
		}
	}
	return r
}

// failed is a result that tells the model why there is none.
func (in *invocation) failed(why string) *ToolResult {
	return &ToolResult{Type: "tool_result", GroupID: in.GroupID, ID: in.ID, CallID: in.CallID.Clone(), Text: "Error: " + why}
}

// question is a question to a person about a call. It does not hold the offer,
// which is stored elsewhere with its own bound.
type question struct {
	id      string
	refused *ToolResult // what is posted of a no
	// threads are those that a yes can apply to, the root first; none if the
	// answer cannot be remembered.
	threads []*thread
	width   decisions.Width // what a yes for a thread allows there
}

// question makes the question of a decision.
func (in *invocation) question(d *decisions.Decision, l *lineage) *question {
	q := &question{id: d.ID, refused: in.failed("permission denied: " + toolserver.ByPerson)}
	if len(d.Widths) == 0 || d.Offer == nil {
		return q
	}
	q.threads, q.width = l.chain, d.Widths[0]
	for _, w := range d.Widths {
		if w.ID == in.Width {
			q.width = w
		}
	}
	return q
}

// labels are the labels of the choices. The protocol only gives examples of
// them.
func (q *question) labels() []string {
	var list []string
	for _, t := range q.threads {
		list = append(list, fmt.Sprintf("Yes (%s and all children)", display.Display(t.id)))
	}
	return append(list, "Yes once", "No")
}

// no is the index of the no.
func (q *question) no() int { return len(q.threads) + 1 }

// prompt returns the text of the question, with the arguments as far as they
// can be shown, and the scope of a lasting yes.
func (q *question) prompt(d *decisions.Decision, arguments strictjson.Value) string {
	const most = 3
	var asks []string
	for i := range d.Effects {
		if e := &d.Effects[i]; e.Verdict == decisions.Ask && len(asks) < most {
			asks = append(asks, e.Text)
		}
	}
	text := "May this run?"
	if asks != nil {
		text += " " + strings.Join(asks, ", ")
	}
	if len(arguments) > len("{}") {
		text += ", with " + display.Display(string(arguments))
	}
	if q.threads != nil {
		text += ". A yes for a thread allows there: " + strings.ReplaceAll(q.width.Rule, "\n", ", ")
	}
	return text
}

// answered is what an answer to the question comes to.
func (q *question) answered(v decisions.Verdict) *choiceResult {
	if v == decisions.Allow {
		return &choiceResult{Outcome: Run}
	}
	return &choiceResult{Outcome: Denied, Result: q.refused}
}

// bind makes the offer of the question's width one for one of its threads: what is
// remembered for a session is remembered for that of the query.
func (q *question) bind(i int, offer *decisions.Offer) *decisions.Offer {
	bound := &decisions.Offer{Size: offer.Size}
	for _, set := range offer.Sets {
		if set.ID != q.width.ID {
			continue
		}
		items := set.Items
		set.Items = nil
		for _, item := range items {
			query := *item.Query
			query.Session.ID, query.Session.Ancestors = q.threads[i].id, nil
			for j := i - 1; j >= 0; j-- {
				query.Session.Ancestors = append(query.Session.Ancestors, q.threads[j].id)
			}
			set.Items = append(set.Items, decisions.OfferItem{Query: &query, Level: item.Level})
		}
		bound.Sets = append(bound.Sets, set)
	}
	return bound
}
