package hook

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// clineQuestionTools are the tools that do nothing but ask the person.
var clineQuestionTools = []string{"ask_followup_question", "ask_question", "plan_mode_respond"}

func cline() *Harness {
	return &Harness{
		Name: "cline", Agent: effects.Party{Name: "cline"},
		read: readCline, readAfter: readClineAfter, encode: encodeCline,
		// Cline continues if its hook fails; only this answer stops the call.
		encodeBlock: func(text string) Output { return encodeCline(nil, deny, byPermd+text) },
	}
}

// clineInput is the input of Cline's hooks.
type clineInput struct {
	Event string   `json:"hookName"`
	Task  string   `json:"taskId"`
	Roots []string `json:"workspaceRoots"`
	Pre   struct {
		Tool       string           `json:"toolName"`
		Parameters strictjson.Value `json:"parameters"`
	} `json:"preToolUse"`
}

func readCline(in []byte) (*Request, error) {
	var c clineInput
	if err := strictjson.Unmarshal(in, &c); err != nil {
		return nil, err
	}
	if c.Event != preToolUse {
		return nil, errEvent
	}
	input, err := requireObject(c.Pre.Parameters, "preToolUse.parameters")
	if err != nil {
		return nil, err
	}
	r := &Request{
		Event: c.Event, Session: c.Task, Roots: c.Roots, Call: toolCall{Name: c.Pre.Tool, Input: input},
		onlyAsks: slices.Contains(clineQuestionTools, c.Pre.Tool),
	}
	if len(c.Roots) > 0 {
		r.Cwd = c.Roots[0]
	}
	return r, nil
}

type clineAnswer struct {
	Cancel  bool    `json:"cancel"`
	Message string  `json:"errorMessage,omitzero"`
	Context *string `json:"contextModification,omitzero"`
}

func encodeCline(_ *Request, o answerKind, text string) Output {
	if o == allow || o == noOpinion {
		return stdoutAnswer(clineAnswer{})
	}
	return stdoutAnswer(clineAnswer{Cancel: true, Message: text, Context: new(string)})
}
