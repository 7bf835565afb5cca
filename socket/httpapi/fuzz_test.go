package httpapi

import (
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// FuzzInput: reading any body returns an error, or unambiguous params: one call,
// and a session that names permd's own harness.
func FuzzInput(f *testing.F) {
	for _, s := range []string{
		okInput, okCalls, `{"input":{"tool":{"name":"x"},"args":[],"callId":"\u0000","session":{"sessionId":"s","cwd":"/"}}}`,
		`{"input":{"tool":{"na\u006de":"x"},"args":"","runtimeContext":{"permd":{"sessionId":"s","cwd":"/","\ud83d\ude00":1}}}}`,
		`{"input":{"tool":[],"args":{}," args":1}}`, `{"input":{}}`, `[`, "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		session, calls, err := readInput(body)
		if err != nil {
			return
		}
		list, err := strictjson.ParseArray(calls)
		if err != nil || len(list) != 1 || strictjson.Check(calls) != nil {
			t.Fatalf("the calls of %s are %s: %v", body, calls, err)
		}
		if session == nil {
			return
		}
		params, id, err := declare(session)
		if err != nil {
			return
		}
		if err := strictjson.Check(params); err != nil {
			t.Fatalf("the params of %s are %s: %v", body, params, err)
		}
		o, err := strictjson.ParseObject(params)
		if err != nil {
			t.Fatal(err)
		}
		harness, _ := o.Get("harness")
		named, _ := o.Get("sessionId")
		if string(harness) != `"http"` || string(named) != string(id) {
			t.Fatalf("the params of %s are %s", body, params)
		}
	})
}
