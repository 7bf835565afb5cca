package main

import "net/http"

// gemini answers a request of the Gemini API.
func (m *model) gemini(w http.ResponseWriter, t *turn) {
	part := object{"text": "done"}
	if tool := m.ask(t, "run_shell_command"); tool != "" {
		part = object{"functionCall": object{"name": tool, "args": object{"command": t.command, "description": "What was asked for"}}}
	}
	response := object{
		"candidates":    []any{object{"index": 0, "content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP"}},
		"usageMetadata": object{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
		"modelVersion":  modelName,
	}
	if !t.stream {
		reply(w, response)
		return
	}
	newEvents(w).send("", response)
}
