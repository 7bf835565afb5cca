package rap

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/toolserver"
)

// Outcome tells the caller what to do with an invocation.
type Outcome string

// The outcomes.
const (
	Run            Outcome = "run"     // it may be sent or run
	Ask            Outcome = "ask"     // the person must be asked
	Denied         Outcome = "denied"  // it must not run
	outcomeInvalid Outcome = "invalid" // its arguments do not fit the tool
)

// invokeResult is the result of rap/invoke.
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

// UserChoice is a user_choice of the protocol, without the address to post the answer
// to.
type UserChoice struct {
	Type    string           `json:"type"`
	GroupID string           `json:"group_id"`
	ID      string           `json:"id"`
	CallID  strictjson.Value `json:"call_id,omitzero"`
	Prompt  string           `json:"prompt"`
	Choices []string         `json:"choices"`
	Default int              `json:"default"`
}

// render turns a decision into a result. An invalid call is never put to a person.
func (in *invocation) render(d *decisions.Decision, invalid string, l *lineage) *invokeResult {
	r := &invokeResult{Decision: d}
	switch {
	case d.Verdict == decisions.Deny:
		r.Outcome, r.Result = Denied, in.errorResult("permission denied: "+toolserver.Reason(d))
	case invalid != "":
		r.Outcome, r.Result = outcomeInvalid, in.errorResult(invalid)
	case d.Verdict == decisions.Allow:
		r.Outcome = Run
	default:
		r.Outcome = Ask
		r.question = in.question(d, l)
		r.Choice = &UserChoice{
			Type: "user_choice", GroupID: in.GroupID, ID: in.ID, CallID: in.CallID.Clone(),
			Prompt: r.question.prompt(d, in.Arguments), Choices: r.question.labels(), Default: r.question.rejectIndex(),
		}
	}
	return r
}

// withResult adds to the error of an invocation that could not be read the tool_result
// that says so to the model, as data, if the invocation names its thread and its id in
// exactly one way.
func withResult(err error, params strictjson.Value) error {
	refused, ok := errors.AsType[*socket.Error](err)
	if !ok {
		return err
	}
	o, problem := strictjson.ParseObject(params)
	if problem != nil || o.NearMiss("id", "group_id", "call_id") != "" {
		return err
	}
	in := &invocation{invokeParams: new(invokeParams)}
	for name, to := range map[string]*string{"id": &in.ID, "group_id": &in.GroupID} {
		v, _ := o.Get(name)
		if *to, ok = strictjson.ParseString(v); !ok || socket.CheckName(name, *to) != nil {
			return err
		}
	}
	if in.CallID, _ = o.Get("call_id"); checkCallID(in.CallID) != nil {
		return err
	}
	data, problem := json.Marshal(map[string]*ToolResult{"result": in.errorResult("the invocation cannot be read: " + refused.Message)})
	if problem != nil {
		return err
	}
	return &socket.Error{Code: refused.Code, Message: refused.Message, Data: data}
}

// errorResult returns a tool_result that tells the model why the call has no result.
func (in *invocation) errorResult(why string) *ToolResult {
	return &ToolResult{Type: "tool_result", GroupID: in.GroupID, ID: in.ID, CallID: in.CallID.Clone(), Text: "Error: " + why}
}

// question is a question to a person about a call. The offer is not part of it: it is
// stored elsewhere with a bound of its own.
type question struct {
	id           string
	rejectResult *ToolResult // what to post if the person says no
	// threads are the threads that a yes can be remembered for, the root first; none if
	// the answer cannot be remembered.
	threads []*thread
	width   decisions.Width // what a yes for more than this call allows
	// lasting is the scope of an answer that outlives the connection. never is set if a no
	// can be remembered.
	lasting string
	never   bool
}

// question returns the question for a decision.
func (in *invocation) question(d *decisions.Decision, l *lineage) *question {
	q := &question{id: d.ID, rejectResult: in.errorResult("permission denied: " + toolserver.ByPerson), lasting: scopeUser}
	if d.Offer == nil {
		return q
	}
	if inProject(d.Offer) {
		q.lasting = scopeProject
	}
	if q.never = d.Offer.Reject != nil; len(d.Widths) == 0 {
		return q
	}
	q.threads, q.width = l.threads, d.Widths[0]
	for _, w := range d.Widths {
		if w.ID == in.Width {
			q.width = w
		}
	}
	return q
}

// inProject reports whether what is remembered of a call can be for a project.
func inProject(o *decisions.Offer) bool {
	if o.Reject != nil {
		return o.Reject.Query.Project != ""
	}
	return len(o.Sets) > 0 && len(o.Sets[0].Items) > 0 && o.Sets[0].Items[0].Query.Project != ""
}

// labels returns the labels of the choices. The protocol gives examples and prescribes
// none.
func (q *question) labels() []string {
	var list []string
	for _, t := range q.threads {
		list = append(list, fmt.Sprintf("Yes (%s and all children)", display.Display(t.id)))
	}
	list = append(list, "Yes once", "No")
	where := " (everywhere)"
	if q.lasting == scopeProject {
		where = " (in this project)"
	}
	if q.alwaysIndex() >= 0 {
		list = append(list, "Yes always"+where)
	}
	if q.neverIndex() >= 0 {
		list = append(list, "Never"+where)
	}
	return list
}

// rejectIndex is the index of "No".
func (q *question) rejectIndex() int { return len(q.threads) + 1 }

// alwaysIndex is the index of the yes that outlives the connection, -1 if there is none.
func (q *question) alwaysIndex() int {
	if q.threads == nil {
		return -1
	}
	return q.rejectIndex() + 1
}

// neverIndex is the index of the no that outlives the connection, -1 if there is none.
func (q *question) neverIndex() int {
	if !q.never {
		return -1
	}
	return max(q.rejectIndex(), q.alwaysIndex()) + 1
}

// prompt returns the text of the question: what is asked about, the arguments as far as
// they can be displayed, and what a remembered yes would allow.
func (q *question) prompt(d *decisions.Decision, arguments strictjson.Value) string {
	const maxTexts = 3
	var asks []string
	for i := range d.Effects {
		if e := &d.Effects[i]; e.Verdict == decisions.Ask && len(asks) < maxTexts {
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
		text += ". A yes for a thread or for always allows: " + strings.ReplaceAll(q.width.Rule, "\n", ", ")
	}
	return text
}

// answerResult returns the result of rap/choice for an answer.
func (q *question) answerResult(v decisions.Verdict) *choiceResult {
	if v == decisions.Allow {
		return &choiceResult{Outcome: Run}
	}
	return &choiceResult{Outcome: Denied, Result: q.rejectResult}
}

// bindOffer returns the offer of the question's width, bound to the thread with index i:
// a choice for a session is remembered for the session of its query, which becomes that
// thread.
func (q *question) bindOffer(i int, offer *decisions.Offer) *decisions.Offer {
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
