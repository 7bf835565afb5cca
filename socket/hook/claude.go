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
	// claudePrompts are the modes in which a hook's ask shows a prompt.
	claudePrompts = []string{"default", "acceptEdits", "plan"}
	// claudeRules are the modes in which a call without a hook decision goes to
	// a prompt, or to what the person allowed in the settings. dontAsk denies
	// everything else.
	claudeRules = []string{"default", "acceptEdits", "plan", "dontAsk"}
)

// claudeQuestions are the tools that only ask the person.
var claudeQuestions = []string{"AskUserQuestion"}

func claude() *Harness {
	return &Harness{
		Name: "claude", Agent: effects.Party{Name: "claude-code"},
		read: readClaude, say: sayClaude, blocks: Block,
	}
}

// claudeInput is what Claude Code writes.
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
	input, err := object(c.Input, "tool_input")
	if err != nil {
		return nil, err
	}
	r := &Request{
		Event: c.Event, Session: c.Session, Cwd: c.Cwd, Mode: c.Mode, AtShell: true,
		Call: toolCall{ID: c.ID, Name: c.Tool, Input: input},
	}
	if c.Server != nil {
		if c.Server.Name == "" {
			return nil, errServer // the tool would pass for one of the agent's own
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
	r.question = slices.Contains(claudeQuestions, c.Tool) && c.Server == nil
	switch c.Event {
	case preToolUse:
		r.asks = slices.Contains(claudePrompts, c.Mode)
		r.rules = slices.Contains(claudeRules, c.Mode)
	case permissionRequest:
		// The dialog is about to be shown.
		r.asks, r.rules = true, true
	default:
		return nil, errEvent
	}
	return r, nil
}

var errEvent = errors.New("an event that permd does not know")

// preToolUseAnswer is the answer to PreToolUse, of Claude Code and Codex.
type preToolUseAnswer struct {
	Hook struct {
		Event    string `json:"hookEventName"`
		Decision string `json:"permissionDecision"`
		Reason   string `json:"permissionDecisionReason"`
	} `json:"hookSpecificOutput"`
}

func preToolUseSays(decision, reason string) Output {
	var a preToolUseAnswer
	a.Hook.Event, a.Hook.Decision, a.Hook.Reason = preToolUse, decision, "permd: "+reason
	return stdoutAnswer(a)
}

// permissionAnswer is the answer to PermissionRequest.
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

func permissionSays(d permissionDecision) Output {
	var a permissionAnswer
	a.Hook.Event, a.Hook.Decision = permissionRequest, d
	return stdoutAnswer(a)
}

func sayClaude(r *Request, o answerKind, text string) Output {
	if r.Event == permissionRequest {
		switch o {
		case allow:
			return permissionSays(permissionDecision{Behavior: "allow"})
		case ask, silent:
			return Output{} // the dialog
		case deny:
		}
		goOn := false
		return permissionSays(permissionDecision{Behavior: "deny", Message: "permd: " + text, Interrupt: &goOn})
	}
	switch o {
	case allow:
		return preToolUseSays("allow", text)
	case ask:
		return preToolUseSays("ask", text)
	case silent:
		return Output{}
	case deny:
	}
	return preToolUseSays("deny", text)
}
