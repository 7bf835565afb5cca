package hook

import (
	"cmp"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/strictjson"
)

// The events after a tool, as harnesses name them.
const (
	postToolUse        = "PostToolUse"
	postToolUseFailure = "PostToolUseFailure" // it ran, and failed
	stop               = "Stop"
)

// Finished is what a harness tells at an event after a tool, or at the end of a turn.
// No decision is made: the call has run already.
type Finished struct {
	// Session and Parent are those of the Request that asked.
	Session, Parent string
	// Call is the call that has run, nil at other events.
	Call *FinishedCall
	// TurnEnded is set if the turn has ended in which the harness itself asked its person
	// about everything that permd left to them.
	TurnEnded bool
}

// FinishedCall is a call that has run.
type FinishedCall struct {
	ID     string // "" if the harness's calls have none
	Name   string
	Server string // the tool server, "" for none, or if the harness does not say
	Input  strictjson.Value
}

// errBefore means that the input is that of an event before a tool, at which silence may
// let the tool run.
var errBefore = errors.New("the hook of this event must not have --after")

// ReadAfter parses the input of an event after a tool. If it is that of an event at which
// the harness waits for a decision, must is set: then the answer is Failed. After another
// error there is nothing to tell.
func (h *Harness) ReadAfter(in []byte) (f *Finished, must bool, err error) {
	if len(in) > MaxInput {
		return nil, false, errors.New("the harness wrote too much")
	}
	if err := strictjson.Check(in); err != nil {
		return nil, false, err
	}
	if f, err = h.readAfter(in); err != nil {
		_, before := h.Read(in)
		return nil, before == nil || errors.Is(err, errBefore), err
	}
	if f.Session == "" || f.Call == nil && !f.TurnEnded || f.Call != nil && f.Call.Name == "" {
		return nil, false, errEvent
	}
	names := []string{f.Session, f.Parent}
	if f.Call != nil {
		names = append(names, f.Call.ID, f.Call.Name, f.Call.Server)
	}
	if slices.ContainsFunc(names, func(name string) bool { return len(name) > maxName }) {
		return nil, false, errors.New("a name is too long")
	}
	return f, false, nil
}

// AfterDone is the output at events after a tool, whatever came of the report. No harness
// takes it for more than that the hook has run.
func (h *Harness) AfterDone() Output {
	if h.Name == "cline" {
		return stdoutAnswer(clineAnswer{}) // it wants an answer from every hook
	}
	return Output{}
}

// readClaudeAfter is for Claude Code and Codex.
func readClaudeAfter(in []byte) (*Finished, error) {
	var c claudeInput
	if err := strictjson.Unmarshal(in, &c); err != nil {
		return nil, err
	}
	f := &Finished{Session: c.Session}
	if c.Agent != "" {
		f.Parent, f.Session = c.Session, c.Session+"/"+c.Agent
	}
	switch c.Event {
	case postToolUse, postToolUseFailure:
		f.Call = &FinishedCall{ID: c.ID, Name: c.Tool, Input: c.Input}
		if c.Server != nil {
			f.Call.Server = c.Server.Name
		}
	case stop:
		// In other modes Claude asks nobody, and the person may still answer with permd allow.
		f.TurnEnded = slices.Contains(claudePromptModes, c.Mode)
	default:
		return nil, errEvent
	}
	return f, nil
}

func readGeminiAfter(in []byte) (*Finished, error) {
	var g geminiInput
	if err := strictjson.Unmarshal(in, &g); err != nil {
		return nil, err
	}
	if g.Event != "AfterTool" {
		return nil, errEvent
	}
	f := &Finished{Session: g.Session, Call: &FinishedCall{Name: g.Tool, Input: g.Input}}
	if g.MCP != nil {
		f.Call.Name, f.Call.Server = g.MCP.Tool, g.MCP.Server
	}
	return f, nil
}

func readCopilotAfter(in []byte) (*Finished, error) {
	var c struct {
		copilotInput `json:",inline"`

		Result  strictjson.Value `json:"tool_result"`
		ResultC strictjson.Value `json:"toolResult"`
		Error   strictjson.Value `json:"error"` // of a tool that ran and failed
	}
	if err := strictjson.Unmarshal(in, &c); err != nil {
		return nil, err
	}
	switch {
	case c.Event == preToolUse, c.Event == permissionRequest:
		return nil, errBefore
	case c.Event == postToolUse, c.Event == postToolUseFailure:
	case c.Event != "":
		return nil, errEvent
	case c.Result == nil && c.ResultC == nil && c.Error == nil:
		return nil, errBefore // the events before a tool have no name, and no result either
	}
	f := &Finished{Session: c.Session + c.SessionC, Call: &FinishedCall{Name: c.Tool + c.ToolC}}
	name, input := "toolArgs", c.Args
	if c.Input != nil {
		name, input = "tool_input", c.Input
	}
	var err error
	f.Call.Input, err = textOrObject(input, name)
	return f, err
}

func readCursorAfter(in []byte) (*Finished, error) {
	var c cursorInput
	if err := strictjson.Unmarshal(in, &c); err != nil {
		return nil, err
	}
	f := &Finished{Session: c.Conversation, Call: &FinishedCall{ID: c.ID, Name: c.Tool}}
	var err error
	switch c.Event {
	case "afterShellExecution":
		f.Call.Name = "Shell"
		f.Call.Input, err = json.Marshal(map[string]string{"command": c.Command})
	case "afterMCPExecution":
		f.Call.Server = cmp.Or(c.URL, c.Command)
		f.Call.Input, err = textOrObject(c.Input, "tool_input")
	case "postToolUse", "postToolUseFailure":
		f.Call.Input, err = textOrObject(c.Input, "tool_input")
	default:
		return nil, errEvent
	}
	return f, err
}

func readClineAfter(in []byte) (*Finished, error) {
	var c struct {
		clineInput `json:",inline"`

		Post struct {
			Tool       string           `json:"toolName"`
			Parameters strictjson.Value `json:"parameters"`
		} `json:"postToolUse"`
	}
	if err := strictjson.Unmarshal(in, &c); err != nil {
		return nil, err
	}
	if c.Event != postToolUse {
		return nil, errEvent
	}
	return &Finished{Session: c.Task, Call: &FinishedCall{Name: c.Post.Tool, Input: c.Post.Parameters}}, nil
}
