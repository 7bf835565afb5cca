package hook

import (
	"errors"
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// copilotQuestionTools are the tools that do nothing but ask the person.
var copilotQuestionTools = []string{"ask_user"}

func copilot() *Harness {
	return &Harness{
		Name: "copilot", Agent: effects.Party{Name: "copilot-cli"},
		read: readCopilot, readAfter: readCopilotAfter, encode: encodeCopilot, encodeBlock: Block,
	}
}

// copilotInput is the input of GitHub Copilot's hooks. Its members depend on how the
// configuration spells the event. It does not contain the mode: with --allow-all-tools
// and in the desktop app, Copilot was observed to run the tool after an ask.
type copilotInput struct {
	Event    string `json:"hook_event_name"`
	Session  string `json:"session_id"`
	SessionC string `json:"sessionId"`
	Cwd      string `json:"cwd"`

	Tool  string           `json:"tool_name"`
	Input strictjson.Value `json:"tool_input"`

	ToolC     string           `json:"toolName"`
	Args      strictjson.Value `json:"toolArgs"`  // at preToolUse
	Requested strictjson.Value `json:"toolInput"` // at permissionRequest
}

func readCopilot(in []byte) (*Request, error) {
	var c copilotInput
	if err := strictjson.Unmarshal(in, &c); err != nil {
		return nil, err
	}
	forms := 0
	for _, v := range []strictjson.Value{c.Input, c.Args, c.Requested} {
		if v != nil {
			forms++
		}
	}
	if forms != 1 || c.Tool != "" && c.ToolC != "" || c.Session != "" && c.SessionC != "" {
		return nil, errors.New("members of several events, or of none")
	}
	r := &Request{Session: c.Session + c.SessionC, Cwd: c.Cwd, Call: toolCall{Name: c.Tool + c.ToolC}}
	name, input := "toolArgs", c.Args
	switch {
	case c.Input != nil:
		r.Event, name, input = c.Event, "tool_input", c.Input
		if c.Tool == "" || c.Event != preToolUse && c.Event != permissionRequest {
			return nil, errEvent
		}
	case c.Event != "":
		return nil, errEvent
	case c.Requested != nil:
		r.Event, name, input = permissionRequest, "toolInput", c.Requested
	default:
		r.Event = preToolUse
	}
	var err error
	r.Call.Input, err = textOrObject(input, name)
	r.onlyAsks = slices.Contains(copilotQuestionTools, r.Call.Name)
	return r, err
}

type copilotAnswer struct {
	Decision string `json:"permissionDecision"`
	Reason   string `json:"permissionDecisionReason,omitzero"`
}

func encodeCopilot(r *Request, o answerKind, text string) Output {
	if o == noOpinion {
		return stdoutAnswer(struct{}{})
	}
	if r.Event == permissionRequest {
		if o == allow {
			return stdoutAnswer(permissionDecision{Behavior: "allow"})
		}
		goOn := false
		return stdoutAnswer(permissionDecision{Behavior: "deny", Message: text, Interrupt: &goOn})
	}
	if o == allow {
		return stdoutAnswer(copilotAnswer{Decision: "allow"})
	}
	return stdoutAnswer(copilotAnswer{Decision: "deny", Reason: text})
}
