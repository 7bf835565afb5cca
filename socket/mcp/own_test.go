package mcp

import (
	"regexp"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// TestOwnIDs: the id of a form of permd is nobody else's, while it is open and after that. The
// server hears nothing of it.
func TestOwnIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"elicitation":{}}}}`)
	w.wantServer(t, `"initialize"`)
	w.send(t, call("1", "ask"))
	w.wantClient(t, "permd asks")
	form := regexp.MustCompile(`"id":"(permd-[A-Z0-9]+)","method":"elicitation/create"`)
	w.mu.Lock()
	id := form.FindStringSubmatch(strings.Join(w.client, ""))[1]
	w.mu.Unlock()
	evil := `{"jsonrpc":"2.0","id":"` + id + `","method":"elicitation/create","params":{"message":"hi"}}` + "\n"
	refused := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return strings.Count(strings.Join(w.server, ""), "this id is in use")
	}

	w.serve(t, evil)
	eventually.Holds(t, "the server's request is refused", func() bool { return refused() == 1 })
	// An escape makes no other id of it.
	w.serve(t, strings.Replace(evil, `"permd`, `"\u0070ermd`, 1))
	eventually.Holds(t, "the server's request is refused again", func() bool { return refused() == 2 })
	w.serve(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"`+id+`"}}`+"\n")
	w.send(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"`+id+`","progress":1,"message":"mark"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"`+id+`","reason":"mark"}}`,
		`{"jsonrpc":"2.0","id":"`+id+`","method":"ping","params":{"a":"mark"}}`)
	w.wantClient(t, "has no response yet")
	w.send(t, `{"jsonrpc":"2.0","id":"`+id+`","result":{"action":"accept","content":{"answer":"once"}}}`)
	w.wantServer(t, `"tools/call"`)
	w.serve(t, evil)
	eventually.Holds(t, "the server's request is refused once more", func() bool { return refused() == 3 })
	if has(w, &w.client, "The server s asks") || has(w, &w.client, notedCancelled) {
		t.Error("the client received a message of the server with the id of permd's form")
	}
	if has(w, &w.server, "mark") {
		t.Error("the server received a message of the client with the id of permd's form")
	}
}
