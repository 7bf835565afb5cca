package acp

import (
	"github.com/permd/permd/internal/strictjson"
)

// update is one session/update notification, as far as permd reads it.
type update struct {
	sessionID string // also set when only the rest could not be read
	call      *patch // of tool_call and tool_call_update
	created   bool   // tool_call: the message is the whole call
	mode      string // of current_mode_update
}

// parseUpdate reads the params of session/update. On an error the update still
// says which session it was about, if that could be read.
func parseUpdate(params strictjson.Value) (update, error) {
	var u update
	o, err := object(params, "params", "sessionId", "update", "_meta")
	if err != nil {
		return u, err
	}
	if u.sessionID, err = identifier(o, "sessionId", "sessionId"); err != nil {
		return u, err
	}
	v, _ := o.Get("update")
	body, err := object(v, "update", "sessionUpdate")
	if err != nil {
		return u, err
	}
	kind, err := identifier(body, "sessionUpdate", "update.sessionUpdate")
	if err != nil {
		return u, err
	}
	switch kind {
	case "tool_call", "tool_call_update":
		u.created = kind == "tool_call"
		u.call, err = parseToolCall(v, "update")
	case "current_mode_update":
		u.mode, err = parseMode(v)
	}
	return u, err
}

// parseMode reads the mode that the agent is in now. The schema and the agents
// say currentModeId; a page of the documentation says modeId.
func parseMode(v strictjson.Value) (string, error) {
	o, err := object(v, "update", "sessionUpdate", "currentModeId", "modeId", "_meta")
	if err != nil {
		return "", err
	}
	if _, ok := o.Get("currentModeId"); ok {
		return identifier(o, "currentModeId", "update.currentModeId")
	}
	return identifier(o, "modeId", "update.modeId")
}
