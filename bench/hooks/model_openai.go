package main

import "net/http"

// shellCall returns the name and arguments of a shell tool in OpenAI's protocols,
// in which each harness offers another one.
func (m *model) shellCall(t *turn) (name string, input object) {
	switch name = m.ask(t, "shell_command", "exec_command", "bash", "shell"); name {
	case "shell_command":
		return name, object{"command": t.command}
	case "exec_command":
		return name, object{"cmd": t.command}
	case "shell":
		return name, object{"command": []string{"bash", "-c", t.command}}
	}
	return name, object{"command": t.command, "description": "What was asked for"}
}

// responses answers a request of the Responses API.
func (m *model) responses(w http.ResponseWriter, t *turn) {
	item := object{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []any{object{"type": "output_text", "text": "done", "annotations": []any{}}}}
	if name, input := m.shellCall(t); name != "" {
		item = object{"type": "function_call", "id": "fc_1", "status": "completed", "call_id": "call_1", "name": name, "arguments": arguments(input)}
	}
	response := object{
		"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": modelName, "output": []any{item},
		"usage": object{"input_tokens": 1, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": 1, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 2},
	}
	if !t.stream {
		reply(w, response)
		return
	}
	e := newEvents(w)
	e.send("response.created", object{"type": "response.created", "sequence_number": 0, "response": object{"id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress", "model": modelName, "output": []any{}}})
	e.send("response.output_item.added", object{"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": item})
	e.send("response.output_item.done", object{"type": "response.output_item.done", "sequence_number": 2, "output_index": 0, "item": item})
	e.send("response.completed", object{"type": "response.completed", "sequence_number": 3, "response": response})
}

// chat answers a request of the Chat Completions API.
func (m *model) chat(w http.ResponseWriter, t *turn) {
	message, reason := object{"role": "assistant", "content": "done"}, "stop"
	if name, input := m.shellCall(t); name != "" {
		reason = "tool_calls"
		message = object{"role": "assistant", "content": nil, "tool_calls": []any{object{
			"index": 0, "id": "call_1", "type": "function", "function": object{"name": name, "arguments": arguments(input)},
		}}}
	}
	usage := object{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
	base := func(kind string, choice object, usage any) object {
		return object{"id": "chat_1", "object": kind, "created": 1, "model": modelName, "choices": []any{choice}, "usage": usage}
	}
	if !t.stream {
		reply(w, base("chat.completion", object{"index": 0, "message": message, "finish_reason": reason}, usage))
		return
	}
	e := newEvents(w)
	e.send("", base("chat.completion.chunk", object{"index": 0, "delta": message, "finish_reason": nil}, nil))
	e.send("", base("chat.completion.chunk", object{"index": 0, "delta": object{}, "finish_reason": reason}, usage))
	_, _ = w.Write([]byte("data: [DONE]\n\n"))
}
