package hook

import (
	"errors"
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// The events for which Claude Code and Codex run hooks.
const (
	preToolUse        = "PreToolUse"
	permissionRequest = "PermissionRequest"
)

// Claude Code's permission modes. Nothing is certain in an unlisted mode.
var (
	// claudePromptModes are the modes in which a hook's ask shows a prompt.
	claudePromptModes = []string{"default", "acceptEdits", "plan"}
	// claudeRuleModes are the modes in which a call without a hook decision goes to
	// a prompt, or to what the person allowed in the settings. dontAsk denies
	// everything else.
	claudeRuleModes = []string{"default", "acceptEdits", "plan", "dontAsk"}
)

// claudeQuestionTools are the tools that do nothing but ask the person.
var claudeQuestionTools = []string{"AskUserQuestion"}

func claude() *Harness {
	return &Harness{
		Name: "claude", Agent: effects.Party{Name: "claude-code"},
		read: readClaude, readAfter: readClaudeAfter, encode: encodeClaude, encodeBlock: Block,
	}
}

// claudeInput is the input of Claude Code's hooks.
type claudeInput struct {
	Session string           `json:"session_id"`
	Cwd     string           `json:"cwd"`
	Mode    string           `json:"permission_mode"`
	Event   string           `json:"hook_event_name"`
	Agent   string           `json:"agent_id"`
	Tool    string           `json:"tool_name"`
	Input   strictjson.Value `json:"tool_input"`
	ID      string           `json:"tool_use_id"`
	Server  *struct {
		Name   string `json:"name"`
		Source string `json:"source"`
	} `json:"mcp_server"`
}

func readClaude(in []byte) (*Request, error) {
	var c claudeInput
	if err := strictjson.Unmarshal(in, &c); err != nil {
		return nil, err
	}
	input, err := requireObject(c.Input, "tool_input")
	if err != nil {
		return nil, err
	}
	r := &Request{
		Event: c.Event, Session: c.Session, Cwd: c.Cwd, Mode: c.Mode, AtShell: true,
		Call: toolCall{ID: c.ID, Name: c.Tool, Input: input},
	}
	if c.Server != nil {
		if c.Server.Name == "" {
			return nil, errServer // the tool could be mistaken for one of the agent's own
		}
		r.Call.Server, r.Call.Source = c.Server.Name, c.Server.Source
	}
	if c.Agent != "" {
		r.Parent, r.Session = c.Session, c.Session+"/"+c.Agent
		if c.Session == "" {
			return nil, errors.New("the session has no id")
		}
	}
	r.readOnly = c.Mode == "plan"
	r.onlyAsks = slices.Contains(claudeQuestionTools, c.Tool) && c.Server == nil
	switch c.Event {
	case preToolUse:
		r.canAsk = slices.Contains(claudePromptModes, c.Mode)
		r.ownRules = slices.Contains(claudeRuleModes, c.Mode)
	case permissionRequest:
		// Claude Code is about to show its dialog.
		r.canAsk, r.ownRules = true, true
	default:
		return nil, errEvent
	}
	return r, nil
}

var errEvent = errors.New("an event that permd does not know")

// preToolUseAnswer is the output for PreToolUse, in Claude Code and Codex.
type preToolUseAnswer struct {
	Hook struct {
		Event    string `json:"hookEventName"`
		Decision string `json:"permissionDecision"`
		Reason   string `json:"permissionDecisionReason"`
	} `json:"hookSpecificOutput"`
}

func encodePreToolUse(decision, reason string) Output {
	var a preToolUseAnswer
	a.Hook.Event, a.Hook.Decision, a.Hook.Reason = preToolUse, decision, reason
	return stdoutAnswer(a)
}

// permissionAnswer is the output for PermissionRequest, in Claude Code and Codex.
type permissionAnswer struct {
	Hook struct {
		Event    string             `json:"hookEventName"`
		Decision permissionDecision `json:"decision"`
	} `json:"hookSpecificOutput"`
}

type permissionDecision struct {
	Behavior  string `json:"behavior"`
	Message   string `json:"message,omitzero"`
	Interrupt *bool  `json:"interrupt,omitzero"`
}

func encodePermission(d permissionDecision) Output {
	var a permissionAnswer
	a.Hook.Event, a.Hook.Decision = permissionRequest, d
	return stdoutAnswer(a)
}

func encodeClaude(r *Request, o answerKind, text string) Output {
	if r.Event == permissionRequest {
		switch o {
		case allow:
			return encodePermission(permissionDecision{Behavior: "allow"})
		case ask, noOpinion:
			return Output{} // Claude Code shows its dialog
		case deny:
		}
		goOn := false
		return encodePermission(permissionDecision{Behavior: "deny", Message: text, Interrupt: &goOn})
	}
	switch o {
	case allow:
		return encodePreToolUse("allow", text)
	case ask:
		return encodePreToolUse("ask", text)
	case noOpinion:
		return Output{}
	case deny:
	}
	return encodePreToolUse("deny", text)
}
