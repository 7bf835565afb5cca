package hook

import (
	"cmp"
	"errors"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

var errServer = errors.New("the tool's server has no name")

func cursor() *Harness {
	return &Harness{
		Name: "cursor", Agent: effects.Party{Name: "cursor"},
		read: readCursor, readAfter: readCursorAfter, encode: encodeCursor, encodeBlock: Block,
	}
}

// cursorInput is the input of all of Cursor's hooks. Cursor was observed to run the
// command after an ask, and with failClosed an empty answer blocks it, so permd answers
// allow or deny only.
type cursorInput struct {
	Conversation string           `json:"conversation_id"`
	Event        string           `json:"hook_event_name"`
	Roots        []string         `json:"workspace_roots"`
	Cwd          string           `json:"cwd"`
	Command      string           `json:"command"`
	URL          string           `json:"url"`
	File         string           `json:"file_path"`
	Tool         string           `json:"tool_name"`
	Input        strictjson.Value `json:"tool_input"`
	ID           string           `json:"tool_use_id"`
}

func readCursor(in []byte) (*Request, error) {
	var c cursorInput
	if err := strictjson.Unmarshal(in, &c); err != nil {
		return nil, err
	}
	r := &Request{Event: c.Event, Session: c.Conversation, Cwd: c.Cwd, Roots: c.Roots, Call: toolCall{ID: c.ID}}
	if r.Cwd == "" && len(c.Roots) > 0 {
		r.Cwd = c.Roots[0]
	}
	return r, c.toolCall(&r.Call)
}

// toolCall sets the call that the event is about.
func (c *cursorInput) toolCall(call *toolCall) (err error) {
	switch c.Event {
	case "beforeShellExecution":
		if c.Command == "" {
			return errors.New("command is missing")
		}
		call.Name = "Shell"
		call.Input, err = json.Marshal(map[string]string{"command": c.Command})
	case "beforeReadFile", "beforeTabFileRead":
		if c.File == "" {
			return errors.New("file_path is missing")
		}
		// The input also has the file's content, which permd does not need.
		call.Name = "Read"
		call.Input, err = json.Marshal(map[string]string{"file_path": c.File})
	case "beforeMCPExecution":
		// The name of the server is not in the input, but its URL or command is.
		if call.Name, call.Server = c.Tool, cmp.Or(c.URL, c.Command); call.Server == "" {
			return errServer
		}
		call.Input, err = textOrObject(c.Input, "tool_input")
	case "preToolUse":
		// The tools of servers are called MCP:NAME. None of Cursor's own is.
		call.Name = c.Tool
		call.Input, err = textOrObject(c.Input, "tool_input")
	default:
		return errEvent
	}
	return err
}

type cursorAnswer struct {
	Permission   string `json:"permission"`
	UserMessage  string `json:"user_message,omitzero"`
	AgentMessage string `json:"agent_message,omitzero"`
}

func encodeCursor(_ *Request, o answerKind, text string) Output {
	if o == allow {
		return stdoutAnswer(cursorAnswer{Permission: "allow"})
	}
	return stdoutAnswer(cursorAnswer{Permission: "deny", UserMessage: text, AgentMessage: text})
}
