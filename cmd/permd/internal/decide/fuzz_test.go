package decide

import (
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// FuzzParse: of an input that is read, each value is strict JSON, and its methods are those
// that only ask. One value alone is read as in a sequence.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{"tool":{"name":"Bash"},"input":{"command":"ls"}}`, `{"calls":[]}` + "\n" + `{"tool":{}}`, `{"msg":{"method":"session/update","params":{}}}`, `{"result":{}}`, `{"method":"permd/choose","params":{"decisionId":"d"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"toolCall":{},"options":[]}}`, `{"msg":{"msg":{"msg":{}}}}`, `[]`, ``, `{"tool":1}{"tool":2}`,
	} {
		f.Add([]byte(text))
	}
	asks := map[string]bool{"": true, "session/request_permission": true, "permd/decide": true, "permd/session": true, "session/update": true, "session/cancel": true}
	f.Fuzz(func(t *testing.T, data []byte) {
		messages, err := Parse(data)
		if err != nil {
			if messages != nil {
				t.Fatal("messages of an input that is refused")
			}
			return
		}
		for _, m := range messages {
			if !asks[m.method] || m.params != nil && strictjson.Check(m.params) != nil {
				t.Fatalf("method %q, params %s", m.method, m.params)
			}
			if m.params == nil || m.method != "" {
				continue
			}
			if alone, err := Parse(m.params); err != nil || len(alone) != 1 || string(alone[0].params) != string(m.params) {
				t.Fatalf("alone, %s is %v, %v", m.params, alone, err)
			}
		}
	})
}
