package otc

import (
	"cmp"
	"errors"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/toolserver"
)

// Outcome is the result of a call.
type Outcome string

// The outcomes.
const (
	Run          Outcome = "run"
	Ask          Outcome = "ask"    // the person must answer
	Denied       Outcome = "denied" // by rules, a remembered answer or a person
	outcomeUnmet Outcome = "unmet"  // it lacks what the tool requires
	// outcomeApproved is for permd/choose: the call may run when it is repeated.
	outcomeApproved Outcome = "approved"
	outcomeInvalid  Outcome = "invalid" // its input does not fit the tool
)

// Answer is the answer of otc/call and, without a decision, what permd/choose
// gives as the result.
type Answer struct {
	Outcome  Outcome             `json:"outcome"`
	Decision *decisions.Decision `json:"decision,omitzero"`
	Response *Response           `json:"response,omitzero"`
	Result   *callResult         `json:"result,omitzero"`
}

// Response is the response that a tool server would send.
type Response struct {
	Status int  `json:"status"`
	Body   Body `json:"body"`
}

// Body is a ServerErrorResponse or a ValidationErrorResponse of the protocol.
type Body struct {
	Schema           string            `json:"$schema,omitzero"`
	Message          string            `json:"message"`
	DeveloperMessage string            `json:"developer_message,omitzero"`
	Missing          *Missing          `json:"missing_requirements,omitzero"`
	ParameterErrors  map[string]string `json:"parameter_errors,omitzero"`
}

// Missing are missing requirements. The protocol names no secrets there, and
// allows further members.
type Missing struct {
	Authorization []Challenge  `json:"authorization,omitzero"`
	Secrets       []secretName `json:"secrets,omitzero"`
	UserID        bool         `json:"user_id"`
}

// Challenge is an authorization that a person must complete.
type Challenge struct {
	ID       string `json:"id"`
	URL      string `json:"url"` // "" if permd knows none; the protocol requires the member
	CheckURL string `json:"check_url,omitzero"`
}

// callResult is the CallToolResponse of a call that did not run.
type callResult struct {
	CallID  string    `json:"call_id"`
	Success bool      `json:"success"`
	Error   callError `json:"error"`
}

// callError is a ToolError of the protocol.
type callError struct {
	Message          string `json:"message"`
	DeveloperMessage string `json:"developer_message"`
	CanRetry         bool   `json:"can_retry"`
}

// Texts for models and people. A rule's reason for a deny is only logged; only
// its message is sent.
const (
	sayDenied  = "This tool call is not permitted: "
	sayAsk     = "A person must approve this tool call before it can run"
	sayUnmet   = "The call lacks what the tool requires: "
	sayInvalid = "Some input parameters are invalid"
)

// ApprovalPrefix begins the ids of permd's own challenges: an upstream's must not.
const ApprovalPrefix = "permd-approval-"

// answer renders the outcome of a call.
func (a *callRequest) answer(d *decisions.Decision, f *findings) Answer {
	r := Answer{Outcome: f.outcome(d), Decision: d}
	body := Body{DeveloperMessage: developerMessage(d)}
	switch r.Outcome {
	case Run:
		return r
	case Denied:
		body.Message = sayDenied + toolserver.Reason(d)
		if f.spent != "" {
			body.Message = sayDenied + f.spent
		}
	case outcomeUnmet:
		body.Message = sayUnmet + f.missing.text()
		body.Missing = f.missing.wire()
	case outcomeInvalid:
		body.Message = sayInvalid
		if f.invalid.whole != "" {
			body.Message += ": " + f.invalid.whole
		}
		body.ParameterErrors = f.invalid.parameters
	case Ask, outcomeApproved:
		fallthrough
	default:
		body.Message = sayAsk
		if p := a.own.Approval; p != nil {
			at := func(s string) string { return strings.ReplaceAll(s, idPlaceholder, d.ID) }
			body.Missing = &Missing{Authorization: []Challenge{{ID: ApprovalPrefix + d.ID, URL: at(p.URL), CheckURL: at(p.CheckURL)}}}
		}
	}
	a.refusal(&r, body, d.ID)
	return r
}

// refusal sets both forms of a refusal; for a question only the one for servers.
func (a *callRequest) refusal(r *Answer, body Body, decision string) {
	body.Schema = a.own.Schema
	r.Response = &Response{Status: 400, Body: body}
	if r.Outcome == outcomeInvalid {
		r.Response.Status = 422
	}
	if r.Outcome == Ask {
		return
	}
	r.Result = &callResult{
		CallID: cmp.Or(a.call.CallID, decision),
		Error:  callError{Message: body.Message, DeveloperMessage: body.DeveloperMessage},
	}
}

func (m *missingContext) wire() *Missing {
	w := &Missing{UserID: m.userID}
	for _, id := range m.authorizations {
		w.Authorization = append(w.Authorization, Challenge{ID: id})
	}
	for _, id := range m.secrets {
		w.Secrets = append(w.Secrets, secretName{id})
	}
	return w
}

// developerMessage names the decision, and the rules that deny.
func developerMessage(d *decisions.Decision) string {
	text := "permd decision_id=" + d.ID
	for i := range d.Effects {
		if d.Verdict != decisions.Deny || d.Effects[i].Verdict != decisions.Deny {
			continue
		}
		for _, r := range d.Effects[i].Rules {
			if one := " rule=" + r.ID; !strings.Contains(text+" ", one+" ") {
				text += one
			}
		}
	}
	return text
}

// resolve returns the function that answers the call's question with what to send. It
// does not keep the message alive. A yes for once lets the call run now or, if an address
// was given at which a person answers, when the agent repeats it, and never both.
func (a *callRequest) resolve(d *decisions.Decision, req *decisions.Request, of *callEntry) func(native.Selection) (native.Resolution, error) {
	brief := &callRequest{own: paramsWire{Schema: a.own.Schema}, call: callWire{CallID: a.call.CallID}}
	repeated := a.own.Approval != nil && a.call.CallID != ""
	kept := *req
	kept.Call.Input = nil
	return func(p native.Selection) (native.Resolution, error) {
		if p.OptionID != "" {
			return native.Resolution{}, errors.New("the call had no options; name a verdict")
		}
		r, said := Answer{Outcome: Run}, &personsAnswer{verdict: p.Verdict, decision: d, request: &kept}
		switch {
		case p.Verdict != decisions.Allow:
			r = brief.byPerson(d)
			r.Decision = nil
		case repeated:
			r.Outcome = outcomeApproved
		default:
			said.taken = true
		}
		return native.Resolution{Verdict: p.Verdict, Result: r, OnStored: func(a native.Accepted) {
			if !a.Remembered {
				of.answer.Store(said)
			}
		}}, nil
	}
}

// decidedNow is native.PendingQuestion.Again: what rules or choices say of the call by now is the answer to
// it, and to its repetitions as long as that holds. An address where a person answers is that of
// one question, so another one has to be asked for.
func (a *callRequest) decidedNow(req *decisions.Request, of *callEntry) func(*decisions.Decision) func(native.Selection) (native.Resolution, error) {
	brief := &callRequest{own: paramsWire{Schema: a.own.Schema, Approval: a.own.Approval}, call: callWire{CallID: a.call.CallID}}
	repeated := a.own.Approval != nil && a.call.CallID != ""
	kept := *req
	kept.Call.Input = nil
	return func(d *decisions.Decision) func(native.Selection) (native.Resolution, error) {
		switch {
		case d.Verdict != decisions.Ask:
		case brief.own.Approval != nil:
			return nil
		default:
			return brief.resolve(d, &kept, of)
		}
		return func(p native.Selection) (native.Resolution, error) {
			r := brief.answer(d, new(findings))
			if r.Decision = nil; r.Outcome == Run && repeated {
				r.Outcome = outcomeApproved
			}
			return native.Resolution{Verdict: p.Verdict, Result: r, OnStored: func(native.Accepted) {
				of.mu.Lock()
				defer of.mu.Unlock()
				of.decision = d
			}}, nil
		}
	}
}

// byPerson is the answer to a call that a person has rejected.
func (a *callRequest) byPerson(d *decisions.Decision) Answer {
	r := Answer{Outcome: Denied, Decision: d}
	a.refusal(&r, Body{Message: sayDenied + toolserver.ByPerson, DeveloperMessage: "permd decision_id=" + d.ID}, d.ID)
	return r
}
