package native

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/sockettest"
)

// FuzzMethods sends arbitrary params to all methods, while a question is open. Nothing is
// answered with an allow, except by params that say permd/choose, the question and allow;
// the question takes one answer; and sessions are counted.
func FuzzMethods(f *testing.F) {
	for _, params := range []string{
		`{"sessionId":"s","cwd":"/w","roots":["/x"],"mode":"plan"}`, `{"sessionId":"s/a","parent":"s","cwd":"/w","harness":"claude","atShell":true}`, `{"sessionId":"s"}`,
		`{"sessionId":"s","calls":[{"callId":"1","tool":{"name":"ask","server":"a"},"input":{"command":"ls"},"title":"t"}]}`, `{"calls":[{"callId":"1","tool":{"name":"deny"}},{"callId":"2","tool":{"name":"ask"}}]}`,
		`{"decisionId":"d1","verdict":"allow"}`, `{"decisionId":"d1","verdict":"deny","scope":"user"}`, `{"decisionId":"d1","verdict":"allow","width":"w1","expiresIn":1}`, `{"decisionId":"d1","optionId":"y"}`,
		`{"decisionId":"d1","Verdict":"allow"}`, `{"decisionId":"d1","verdict":"Allow"}`, `{"decisionId":"d1","verdict":"allow","verdict":"deny"}`, `{"decisionId":"d1","verdict":"ask"}`, `{"decisionId":"d1","verdict":"allow","expiresIn":1e3}`, `null`, `[]`,
	} {
		for i := range 4 {
			f.Add(uint8(i), []byte(params))
		}
	}
	names := []string{MethodSession, MethodClose, MethodDecide, MethodChoose}
	f.Fuzz(func(t *testing.T, pick uint8, params []byte) {
		if strictjson.Check(params) != nil {
			return
		}
		d := newPersistentDaemon()
		c := conn(1)
		d.must(t, c, MethodSession, `{"sessionId":"s","cwd":"/w"}`)
		d.must(t, c, MethodDecide, `{"sessionId":"s","calls":[{"callId":"1","tool":{"name":"ask"}}]}`)
		method := names[int(pick)%len(names)]
		r, err := d.methods[method](c, params)
		var result any
		if err == nil && r != nil {
			result, err = r(t.Context())
		}
		if e, ok := err.(*socket.Error); ok && e.Code != socket.CodeParams && e.Code != socket.CodeBusy && e.Code != socket.CodeInternal { //nolint:errorlint // as it is sent
			t.Fatalf("%s %s: code %d", method, params, e.Code)
		}
		text := func(name string) string { s, _ := strictjson.ParseString(strictjson.Find(params, name)); return s }
		answered := method == MethodChoose && err == nil
		if answered && (text("decisionId") != "d1" || text("verdict") != "allow" && text("verdict") != "deny" || text("optionId") != "") {
			t.Fatalf("%s answers the question: %+v", params, result)
		}
		if answered == StateOf(c).Questions.Contains("d1") && method == MethodChoose && err == nil {
			t.Fatalf("%s was an answer, and the question is open", params)
		}
		if list, ok := result.(DecideResult); ok {
			for i, one := range list.Decisions {
				if one.Verdict == decisions.Allow && d.got[i+1].Call.Tool.Name != "allow" {
					t.Fatalf("%s is allowed", params)
				}
			}
			if len(list.Decisions) > maxCalls {
				t.Fatalf("%d calls", len(list.Decisions))
			}
		}
		if n := len(d.sessions.All(c.Owner())); n > decisions.MaxSessions {
			t.Fatalf("%d sessions", n)
		}
		// Whatever came before, an answer is accepted once at most.
		first, err1 := sockettest.Call(t.Context(), t, d.methods, c, MethodChoose, `{"decisionId":"d1","verdict":"deny"}`)
		second, err2 := sockettest.Call(t.Context(), t, d.methods, c, MethodChoose, `{"decisionId":"d1","verdict":"deny"}`)
		if err2 == nil || answered && err1 == nil || strings.Contains(string(first)+string(second), `"allow"`) {
			t.Fatalf("after %s %s: %s, %v; %s, %v", method, params, first, err1, second, err2)
		}
	})
}
