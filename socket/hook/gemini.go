package hook

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// geminiQuestionTools are the tools that do nothing but ask the person.
var geminiQuestionTools = []string{"ask_user"}

func gemini() *Harness {
	return &Harness{
		Name: "gemini", Agent: effects.Party{Name: "gemini-cli"},
		read: readGemini, readAfter: readGeminiAfter, encode: encodeGemini, encodeBlock: Block,
	}
}

// geminiInput is the input of Gemini CLI's hooks. It does not contain the mode, so
// without an answer the tool may run.
type geminiInput struct {
	Session string           `json:"session_id"`
	Cwd     string           `json:"cwd"`
	Event   string           `json:"hook_event_name"`
	Tool    string           `json:"tool_name"`
	Input   strictjson.Value `json:"tool_input"`
	// MCP is set for tools of servers. The name of the tool alone does not tell the
	// server.
	MCP *struct {
		Server string `json:"server_name"`
		Tool   string `json:"tool_name"`
	} `json:"mcp_context"`
}

func readGemini(in []byte) (*Request, error) {
	var g geminiInput
	if err := strictjson.Unmarshal(in, &g); err != nil {
		return nil, err
	}
	if g.Event != "BeforeTool" {
		return nil, errEvent
	}
	input, err := requireObject(g.Input, "tool_input")
	if err != nil {
		return nil, err
	}
	r := &Request{
		Event: g.Event, Session: g.Session, Cwd: g.Cwd, Call: toolCall{Name: g.Tool, Input: input},
		canAsk: true, onlyAsks: slices.Contains(geminiQuestionTools, g.Tool) && g.MCP == nil,
	}
	if g.MCP != nil {
		if r.Call.Name, r.Call.Server = g.MCP.Tool, g.MCP.Server; r.Call.Server == "" || g.Tool == "" {
			return nil, errServer
		}
	}
	return r, nil
}

type geminiAnswer struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason,omitzero"`
	Message  string `json:"systemMessage,omitzero"`
}

func encodeGemini(_ *Request, o answerKind, text string) Output {
	switch o {
	case allow:
		return stdoutAnswer(geminiAnswer{Decision: "allow"})
	case ask:
		return stdoutAnswer(geminiAnswer{Decision: "ask", Message: text})
	case noOpinion:
		return Output{}
	case deny:
	}
	return stdoutAnswer(geminiAnswer{Decision: "deny", Reason: text})
}
