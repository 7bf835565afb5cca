package replay

import (
	"bytes"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/strictjson"
)

var errCall = errors.New("a call that cannot be read")

// claudeLine is a line of a transcript of Claude Code: a message of its conversation.
type claudeLine struct {
	Type      string `json:"type"`
	SessionID string `json:"sessionId"`
	Cwd       string `json:"cwd"`
	Timestamp string `json:"timestamp"`
	Message   struct {
		Content strictjson.Value `json:"content"`
	} `json:"message"`
}

// claudeBlock is a part of a message.
type claudeBlock struct {
	Type  string           `json:"type"`
	ID    string           `json:"id"`
	Name  string           `json:"name"`
	Input strictjson.Value `json:"input"`
}

// readClaude reads a line of a transcript in ~/.claude/projects.
func readClaude(text []byte, state *fileState) (calls []pastCall, err error) {
	if !bytes.Contains(text, []byte(`"tool_use"`)) {
		return nil, strictjson.Check(text)
	}
	var l claudeLine
	if err := strictjson.Unmarshal(text, &l); err != nil {
		return nil, err
	}
	if l.SessionID != "" {
		state.session = l.SessionID
	}
	if l.Type != "assistant" || l.Message.Content.Kind() != '[' {
		return nil, nil
	}
	blocks, err := strictjson.ParseArray(l.Message.Content)
	if err != nil {
		return nil, err
	}
	at, _ := time.Parse(time.RFC3339, l.Timestamp)
	for _, raw := range blocks {
		var b claudeBlock
		if strictjson.Unmarshal(raw, &b) != nil {
			err = errCall
			continue
		}
		if b.Type != "tool_use" {
			continue
		}
		if b.Name == "" || b.Input.Kind() != '{' {
			err = errCall
			continue
		}
		calls = append(calls, pastCall{b.ID, b.Name, b.Input, l.Cwd, at})
	}
	return calls, err
}

// codexLine is a line of a transcript of Codex. Earlier versions have what is now in
// payload in the line itself.
type codexLine struct {
	Type      string           `json:"type"`
	Timestamp string           `json:"timestamp"`
	Payload   strictjson.Value `json:"payload"`
}

// codexItem is what a line says.
type codexItem struct {
	Type      string           `json:"type"`
	ID        string           `json:"id"`
	Cwd       string           `json:"cwd"`
	CallID    string           `json:"call_id"`
	Name      string           `json:"name"`
	Arguments strictjson.Value `json:"arguments"` // JSON in a string
	Input     strictjson.Value `json:"input"`     // text
	Action    strictjson.Value `json:"action"`
}

// readCodex reads a line of a transcript in ~/.codex/sessions.
func readCodex(text []byte, state *fileState) ([]pastCall, error) {
	if !bytes.Contains(text, []byte("_call")) && !bytes.Contains(text, []byte(`"cwd"`)) {
		return nil, strictjson.Check(text)
	}
	var l codexLine
	if err := strictjson.Unmarshal(text, &l); err != nil {
		return nil, err
	}
	raw := l.Payload
	if len(raw) == 0 {
		raw = text
	}
	if raw.Kind() != '{' {
		return nil, nil
	}
	if l.Type != "session_meta" && l.Type != "turn_context" && l.Type != "response_item" && len(l.Payload) > 0 {
		return nil, nil // events say again what items have said
	}
	var item codexItem
	if err := strictjson.Unmarshal(raw, &item); err != nil {
		return nil, err
	}
	if l.Type == "session_meta" || l.Type == "turn_context" {
		if l.Type == "session_meta" && item.ID != "" {
			state.session = item.ID
		}
		if item.Cwd != "" {
			state.cwd = item.Cwd
		}
		return nil, nil
	}
	c := pastCall{id: item.CallID, tool: item.Name}
	c.time, _ = time.Parse(time.RFC3339, l.Timestamp)
	switch item.Type {
	case "function_call":
		arguments, ok := strictjson.ParseString(item.Arguments)
		if !ok || strictjson.Check([]byte(arguments)) != nil {
			return nil, errCall
		}
		c.input = strictjson.Value(arguments)
	case "custom_tool_call":
		if item.Input.Kind() != '"' {
			return nil, errCall
		}
		member := map[string]strictjson.Value{"input": item.Input}
		if item.Name == "apply_patch" {
			member = map[string]strictjson.Value{"patch": item.Input}
		}
		input, err := json.Marshal(member)
		if err != nil {
			return nil, errCall
		}
		c.input = input
	case "local_shell_call":
		action, err := strictjson.ParseObject(item.Action)
		if err != nil {
			return nil, errCall
		}
		members := map[string]strictjson.Value{}
		for _, m := range action {
			switch {
			case m.Value.Kind() == 'n':
			case m.Name == "command", m.Name == "workdir":
				members[m.Name] = m.Value
			case m.Name == "working_directory":
				members["workdir"] = m.Value
			}
		}
		input, err := json.Marshal(members, json.Deterministic(true))
		if err != nil {
			return nil, errCall
		}
		c.tool, c.input = "local_shell", input
	default:
		return nil, nil
	}
	if c.tool == "" || c.input.Kind() != '{' {
		return nil, errCall
	}
	return []pastCall{c}, nil
}
