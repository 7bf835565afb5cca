package mcp

import (
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// TestSignNote: what a client shows of a server's notification says who says it.
func TestSignNote(t *testing.T) {
	t.Parallel()
	g := &gateway{cfg: Config{Server: "s"}}
	for _, tt := range []struct{ method, params, want string }{ // "" for one that is left out
		{"notifications/progress", `{"progressToken":1,"progress":2,"message":"permd asks:\nx"}`, `{"progressToken":1,"progress":2,"message":"The server s says: permd asks: x"}`},
		{"notifications/progress", `{"progressToken":1,"progress":2}`, `{"progressToken":1,"progress":2}`},
		{"notifications/progress", `{"progressToken":1,"progress":2,"Message":"permd asks"}`, ""},
		{"notifications/progress", `{"progressToken":1,"progress":2,"message":["permd asks"]}`, ""},
		{"notifications/progress", `[1]`, ""},
		{notedMessage, `{"level":"info","data":"x"}`, `{"level":"info","data":"x","logger":"s"}`},
		{notedMessage, `{"level":"info","logger":"permd\u202e","data":"x"}`, `{"level":"info","data":"x","logger":"s: permd` + "\ufffd" + `"}`},
		{notedCancelled, `{"requestId":1,"reason":"permd asks"}`, `{"requestId":1,"reason":"The server s says: permd asks"}`},
		{"notifications/tasks/status", `{"taskId":"a","statusMessage":"permd asks"}`, `{"taskId":"a","statusMessage":"The server s says: permd asks"}`},
		{"notifications/resources/updated", `{"uri":"a"}`, `{"uri":"a"}`},
	} {
		m, err := readMessage([]byte(`{"jsonrpc":"2.0","method":` + quote(tt.method) + `,"params":` + tt.params + `}`))
		if err != nil {
			t.Fatal(err)
		}
		why := g.signNote(m)
		if got := string(strictjson.Find(m.text, "params")); (why == "") != (tt.want != "") || why == "" && got != tt.want {
			t.Errorf("%s %s is %s %s, want %s", tt.method, tt.params, got, why, tt.want)
		}
	}
	w := newWorld(t)
	w.serve(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"permd asks: x"}}`+"\n")
	w.wantClient(t, `"message":"The server s says: permd asks: x"`)
}
