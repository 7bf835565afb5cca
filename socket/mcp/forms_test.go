package mcp

import (
	"strings"
	"testing"
)

// TestSignParams: nothing that a client shows of a server's form looks like a question of permd.
func TestSignParams(t *testing.T) {
	t.Parallel()
	const says = "The server s asks: "
	field := func(members string) string {
		return `{"message":"m","requestedSchema":{"type":"object","properties":{"f":{` + members + `}}}}`
	}
	made := func(members string) string {
		return strings.Replace(field(members), `"m"`, `"`+says+`m"`, 1)
	}
	blanks := strings.Repeat(" \u00a0\u2800\u3164\u200b", 100) + `\t`
	for _, tt := range []struct{ params, want string }{ // "" for none
		{`{"message":"a` + blanks + `b","title":"permd asks: x","_meta":{}}`, `{"message":"` + says + `a b","_meta":{}}`},
		{`{"message":"` + strings.Repeat(` \n\u2800\n`, 100) + `permd asks: x"}`, `{"message":"` + says + `permd asks: x"}`},
		{`{"message":"m","mode":"url","url":"u","elicitationId":"e","requestedSchema":{}}`, `{"message":"` + says + `m","mode":"url","url":"u","elicitationId":"e"}`},
		{`{"message":"m","url":"u"}`, `{"message":"` + says + `m"}`},
		{`{"message":"m","requestedSchema":{"title":"permd asks","description":"x","type":"object","properties":{},"required":["f"]}}`, `{"message":"` + says + `m","requestedSchema":{"type":"object","properties":{},"required":["f"]}}`},
		{field(`"type":"string","title":"permd asks:\nx","description":"a\r\nb","x":"permd asks","default":"d"`), made(`"type":"string","title":"` + says + `permd asks: x","description":"` + says + `a b","default":"d"`)},
		{field(`"type":"boolean"`), made(`"type":"boolean","title":"` + says + `f"`)},
		{field(`"title":"t","enum":["a"],"enumNames":["A\n\u202eB"]`), made(`"title":"` + says + `t","enum":["a"],"enumNames":["A ` + "\ufffd" + `B"]`)},
		{field(`"title":"t","oneOf":[{"const":"a","title":"A\nB","description":"x"}]`), made(`"title":"` + says + `t","oneOf":[{"const":"a","title":"A B"}]`)},
		{field(`"title":"t","type":"array","items":{"title":"x","anyOf":[{"const":"a","title":"A\nB"}]}`), made(`"title":"` + says + `t","type":"array","items":{"anyOf":[{"const":"a","title":"A B"}]}`)},
		{field(`"title":"t","default":"a\npermd asks"`), made(`"title":"` + says + `t"`)},
		{field(`"title":"t","default":["a","\u202eb"]`), made(`"title":"` + says + `t"`)},
		{field(`"title":"t","default":["a"]`), made(`"title":"` + says + `t","default":["a"]`)},
		{field(`"title":"t","enum":["a\npermd asks: x"]`), ""},
		{field(`"title":"t","enum":["a` + strings.Repeat(" ", 300) + `b"]`), ""},
		{field(`"title":"t","enum":["` + strings.Repeat("a", 257) + `"]`), ""},
		{field(`"title":"t","enum":[` + strings.Repeat(`"a",`, 256) + `"a"]`), ""},
		{field(`"title":"t","oneOf":[{"const":"a\u2028b","title":"A"}]`), ""},
		{field(`"title":"t","items":{"enum":["a\u202eb"]}`), ""},
		{field(`"title":"t","enum":["a"],"enumNames":["` + strings.Repeat("a", 257) + `"]`), made(`"title":"` + says + `t","enum":["a"],"enumNames":["` + strings.Repeat("a", 256) + `…"]`)},
		{field(`"title":"t","Title":"permd asks"`), ""},
		{field(`"Title":"permd asks"`), ""},
		{field(`"title":["permd asks"]`), ""},
		{field(`"enumNames":[["permd asks"]]`), ""},
		{field(`"oneOf":["permd asks"]`), ""},
		{`{"message":"m","requestedSchema":{"Properties":{}}}`, ""},
		{`{"message":"m","requestedSchema":"permd asks"}`, ""},
		{`{"message":"m","mode":"FORM"}`, ""},
		{`{"message":"m","mode":null}`, ""},
	} {
		got, why := signParams("s", []byte(tt.params))
		if got != tt.want || (why == "") != (tt.want != "") {
			t.Errorf("%.200s\n  is %s %s\nwant %s", tt.params, got, why, tt.want)
		}
	}
}

// TestSignError: an error of a server that has the person asked says who asks, and is only for
// clients that are capable of it.
func TestSignError(t *testing.T) {
	t.Parallel()
	const asks = `{"mode":"url","message":"permd asks: x","url":"u","elicitationId":"e"}`
	const signed = `{"mode":"url","message":"The server s asks: permd asks: x","url":"u","elicitationId":"e"}`
	const want = `{"code":-32042,"message":"The server s asks: permd asks","data":{"elicitations":[` + signed + `]}}`
	const none = "none"
	for _, tt := range []struct{ text, want string }{ // "" if it is passed on as it is
		{`{"code":-32042,"message":"permd asks","data":{"elicitations":[` + asks + `],"x":"permd asks"}}`, want},
		{`{"code":-3.2042e4,"message":"permd asks","data":{"elicitations":[` + asks + `]}}`, want},
		{`{"code":"-32042","message":"permd asks","data":{"elicitations":[` + asks + `]}}`, want},
		{`{"code":1,"message":"permd asks","data":{"elicitations":[` + asks + `]}}`, want},
		{`{"code":-32042,"message":"x"}`, none},
		{`{"code":-32042,"message":"x","data":{"Elicitations":[` + asks + `]}}`, none},
		{`{"code":1,"message":"x","data":{"Elicitations":[` + asks + `]}}`, none},
		{`{"code":1,"message":"x","Data":{"elicitations":[` + asks + `]}}`, none},
		{`{"code":-32042,"message":"x","data":{"elicitations":[{"message":"permd asks: x"}]}}`, none},
		{`{"code":-32042,"message":"x","data":{"elicitations":[` + strings.Repeat(asks+",", maxQuestions) + asks + `]}}`, none},
		{`{"code":-32602,"message":"x","data":{"a":[1]}}`, ""},
		{`{"code":-32602,"message":"x","data":"y"}`, ""},
		{`{"code":-32602,"message":"x"}`, ""},
	} {
		got, why := signError("s", []byte(tt.text), true)
		if why != "" {
			got = none
		}
		if got != tt.want {
			t.Errorf("%s\n  is %s %s\nwant %s", tt.text, got, why, tt.want)
		}
		if got, why := signError("s", []byte(tt.text), false); (got+why == "") != (tt.want == "") || got != "" {
			t.Errorf("%s for a client without addresses is %s %s", tt.text, got, why)
		}
	}
}

// TestServerMethods: requests and notifications of a server that the protocol does not have, and
// questions in errors for a client that cannot show them, do not reach the client.
func TestServerMethods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"elicitation":{"url":{}}}}}`)
	w.wantServer(t, `"initialize"`)
	const params = `"params":{"message":"permd asks: x","name":"yes"}}` + "\n"
	for _, method := range []string{"Elicitation/create", "elicitation/create2", "tools/call", "notifications/message"} {
		w.serve(t, `{"jsonrpc":"2.0","id":"`+method+`","method":"`+method+`",`+params)
		w.wantServer(t, `"id":"`+method+`","error":{"code":-32601`)
	}
	for _, method := range []string{methodElicit, methodSample, "notifications/x", "Notifications/message", "ping"} {
		w.serve(t, `{"jsonrpc":"2.0","method":"`+method+`",`+params)
	}
	const failed = `"error":{"code":-32042,"message":"x","data":{"elicitations":[{"mode":"url","message":"permd asks: x","url":"u","elicitationId":"e"}]}}}` + "\n"
	w.send(t, call("1", "yes"), stateless("2", methodCallTool, `"name":"yes"`, `"elicitation":{"form":{}}`))
	for _, id := range []string{"1", "2"} {
		w.wantServer(t, `"id":`+id+`,`)
		w.serve(t, `{"jsonrpc":"2.0","id":`+id+`,`+failed)
	}
	w.wantClient(t, `"id":1,"error":{"code":-32042`)
	if m := w.answerTo(t, "2"); m.Error.Code != codeInternal {
		t.Errorf("a client without addresses receives %+v", m)
	}
	if has(w, &w.client, `"permd asks`) || has(w, &w.client, `"method"`) {
		t.Errorf("the client received %s", w.client)
	}
}

// TestUnreadableOfClient: a request of the client that cannot be read is answered under its id
// where that is plain.
func TestUnreadableOfClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for id, text := range map[string]string{
		"11":   `{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"yes","arguments":{"a":"\ud800"}}}`,
		`"12"`: `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"yes","arguments":{"a":1,"a":2}},"id":"12"}`,
		"13":   `{"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"name":"yes","arguments":` + strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200) + `}}`,
	} {
		w.send(t, text)
		if m := w.answerTo(t, id); m.Error.Code != codeParse {
			t.Errorf("%s is answered with %+v", id, m)
		}
	}
	w.send(t, call("14", "yes"))
	w.wantServer(t, `"id":14,`)
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":14,"method":"ping","params":{"a":"\ud800"}}`, // would answer the call
		`{"jsonrpc":"2.0","id":21,"id":22,"method":"ping"}`, `{"jsonrpc":"2.0","id":21,"ID":22,"method":"ping"}`, `[{"jsonrpc":"2.0","id":21,"method":"ping"}]`,
		`{"jsonrpc":"2.0","id":21,"method":"ping","params":{"a":"\ud800"}`, `{"jsonrpc":"2.0","id":21,"result":{"a":"\ud800"}}`,
	} {
		w.send(t, text)
	}
	w.flush(t)
	if n := w.received(`"id":null,"error"`); n != 6 || w.received(`"id":14`) > 0 || w.received(`"id":21`)+w.received(`"id":22`) > 0 {
		t.Errorf("%d messages are answered without an id: %s", n, w.client)
	}
}
