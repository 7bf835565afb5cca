package acp

import (
	"github.com/permd/permd/internal/strictjson"
)

// update is one session/update notification, as far as permd reads it.
type update struct {
	call    *patch // about a tool call
	created bool   // the message is the whole call
	mode    string // that the agent is in now
}

// updateSession reads which session an update is about.
func updateSession(params strictjson.Value) (string, error) {
	o, err := object(params, "params", "sessionId", "update", "_meta")
	if err != nil {
		return "", err
	}
	return identifier(o, "sessionId", "")
}

// updateVersion returns the version that an update's kind implies: version 1 announces
// calls, version 2 appends to their content. Both have all other updates that permd
// reads.
func updateVersion(params strictjson.Value) version {
	switch text(params, "update", "sessionUpdate") {
	case "tool_call":
		return version1
	case "tool_call_content_chunk":
		return version2
	}
	return 0
}

// parseUpdate reads the params of session/update, in a session of that version.
func parseUpdate(params strictjson.Value, ver version) (update, error) {
	var u update
	v := member(params, "update")
	body, err := object(v, "update", "sessionUpdate")
	if err != nil {
		return u, err
	}
	kind, err := identifier(body, "sessionUpdate", "update")
	if err != nil {
		return u, err
	}
	switch kind {
	case "tool_call", "tool_call_update":
		u.created = kind == "tool_call"
		u.call, err = parseToolCall(v, "update", ver)
	case "tool_call_content_chunk":
		u.call, err = parseChunk(v, "update", ver)
	case "current_mode_update":
		u.mode, err = parseMode(v)
	case "config_option_update":
		u.mode, err = parseModeOption(v)
	}
	if u.call != nil && u.call.id != "" {
		if o, e := strictjson.ParseObject(params); e != nil || hasExtra(o, "sessionId", "update") {
			u.call.extra = true
		}
	}
	return u, err
}

// parseMode reads the agent's current mode. The schema and the agents use currentModeId;
// a page of the documentation has modeId.
func parseMode(v strictjson.Value) (string, error) {
	o, err := object(v, "update", "sessionUpdate", "currentModeId", "modeId", "_meta")
	if err != nil {
		return "", err
	}
	if _, ok := o.Get("currentModeId"); ok {
		return identifier(o, "currentModeId", "update")
	}
	return identifier(o, "modeId", "update")
}

// parseModeOption reads the mode from the options of a session, which agents of version
// 2 and some of version 1 use; "" if there is none.
func parseModeOption(v strictjson.Value) (string, error) {
	o, err := object(v, "update", "sessionUpdate", "configOptions", "_meta")
	if err != nil {
		return "", err
	}
	l := new(lenient)
	items, _ := l.items(o, "configOptions", "configOptions")
	for _, item := range items {
		if strictjson.Kind(item) != '{' {
			continue
		}
		opt, err := object(item, "update.configOptions", "category", "currentValue", "type", "name", "id", "configId", "_meta")
		if err != nil {
			return "", err
		}
		if text(item, "category") != "mode" && text(item, "id") != "mode" && text(item, "configId") != "mode" {
			continue
		}
		if mode, ok := l.text(opt, "currentValue", "currentValue"); ok && len(mode) <= maxID {
			return mode, nil
		}
	}
	return "", nil
}
