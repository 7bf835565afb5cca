package main

import "net/http"

// anthropic answers a request of the Messages API.
func (m *model) anthropic(w http.ResponseWriter, t *turn) {
	content, reason := object{"type": "text", "text": m.last()}, "end_turn"
	if tool := m.ask(t, "Bash"); tool != "" {
		reason = "tool_use"
		content = object{"type": "tool_use", "id": "toolu_1", "name": tool, "input": object{"command": t.command, "description": "What was asked for"}}
	}
	usage := object{"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
	message := object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": modelName,
		"content": []any{content}, "stop_reason": reason, "stop_sequence": nil, "usage": usage,
	}
	if !t.stream {
		reply(w, message)
		return
	}
	message["content"], message["stop_reason"] = []any{}, nil
	e := newEvents(w)
	e.send("message_start", object{"type": "message_start", "message": message})
	start, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": m.last()}
	if reason == "tool_use" {
		start = object{"type": "tool_use", "id": "toolu_1", "name": content["name"], "input": object{}}
		delta = object{"type": "input_json_delta", "partial_json": arguments(content["input"].(object))}
	}
	e.send("content_block_start", object{"type": "content_block_start", "index": 0, "content_block": start})
	e.send("content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": delta})
	e.send("content_block_stop", object{"type": "content_block_stop", "index": 0})
	e.send("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": 1}})
	e.send("message_stop", object{"type": "message_stop"})
}
