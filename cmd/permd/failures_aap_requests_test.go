package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// aapSeed is a request for a session that begins with a call and a message.
func aapSeed(message string) string {
	return `{"agent":{"name":"helper"},"messages":[{"role":"user","content":"go"},` +
		`{"role":"assistant","content":[{"type":"tool_use","toolCallId":"h1","name":"deploy","input":{}}]},` + message + `]}`
}

func aapBadRequests(t *testing.T) {
	d := aapDaemon(t)
	s := newFaultyAAP(t, calls(aapTwo...), says("done"))
	url, key := d.startGateway(t, s.front.URL)
	c := newPlainAAP(t, url, key, "message")
	good := c.answer(c.post(aapUser("go")))
	const result = `{"role":"tool","toolCallId":"a1","content":"x"}`
	turn := "/sessions/" + c.session + "/turns"
	for name, r := range map[string]struct {
		method, path, body string
		header             map[string]string
		want               int
	}{
		"half a message":       {"POST", turn, `{"messages":[` + result, nil, 400},
		"a member twice":       {"POST", turn, `{"messages":[` + result + `],"messages":[]}`, nil, 400},
		"a member twice, deep": {"POST", turn, `{"messages":[{"role":"tool","toolCallId":"a1","toolCallId":"a2","content":"x"}]}`, nil, 400},
		"another case":         {"POST", turn, `{"messages":[` + strings.Replace(result, "role", "Role", 1) + `]}`, nil, 400},
		"an answer twice":      {"POST", turn, `{"messages":[` + result + `,` + result + `]}`, nil, 400},
		"a number as id":       {"POST", turn, `{"messages":[` + strings.Replace(result, `"a1"`, `1`, 1) + `]}`, nil, 400},
		"no such call":         {"POST", turn, `{"messages":[` + result + `,` + strings.Replace(result, `"a1"`, `"a9"`, 1) + `]}`, nil, 400},
		"a permission for it":  {"POST", turn, `{"messages":[{"role":"tool_permission","toolCallId":"a1","granted":true}]}`, nil, 400},
		"a result of theirs":   {"POST", turn, `{"messages":[` + result + `,` + strings.Replace(result, `"a1"`, `"a2"`, 1) + `]}`, nil, 400},
		"not all":              {"POST", turn, `{"messages":[{"role":"tool_permission","toolCallId":"a2","granted":true}]}`, nil, 400},
		"granted as text":      {"POST", turn, `{"messages":[{"role":"tool_permission","toolCallId":"a2","granted":"true"}]}`, nil, 400},
		"mixed with a user's":  {"POST", turn, `{"messages":[` + result + `,{"role":"user","content":"x"}]}`, nil, 400},
		"no messages":          {"POST", turn, `{"messages":[]}`, nil, 400},
		"another stream":       {"POST", turn, `{"messages":[` + result + `],"stream":"Message"}`, nil, 400},
		"another agent":        {"POST", turn, `{"messages":[` + result + `],"agent":{"name":"other"}}`, nil, 400},
		"trust as text":        {"POST", turn, `{"messages":[` + result + `],"agent":{"tools":[{"name":"deploy","trust":"true"}]}}`, nil, 400},
		"10 MiB":               {"POST", turn, `{"messages":[` + strings.Repeat(" ", 10<<20) + result + `]}`, nil, 413},
		"no JSON's type":       {"POST", turn, `{"messages":[` + result + `]}`, map[string]string{"Content-Type": "text/plain"}, 415},
		"compressed":           {"POST", turn, `{"messages":[` + result + `]}`, map[string]string{"Content-Encoding": "gzip"}, 415},
		"no token":             {"POST", turn, `{"messages":[` + result + `]}`, map[string]string{"Authorization": ""}, 401},
		"the server's key":     {"POST", turn, `{"messages":[` + result + `]}`, map[string]string{"Authorization": "Bearer " + aapKey}, 401},
		"a page":               {"POST", turn, `{"messages":[` + result + `]}`, map[string]string{"Origin": "https://evil.example"}, 403},
		"another host":         {"POST", turn, `{"messages":[` + result + `]}`, map[string]string{"Host": "evil.example"}, 403},
		"another path":         {"POST", turn + "/", `{"messages":[` + result + `]}`, nil, 404},
		"another method":       {"PUT", turn, `{"messages":[` + result + `]}`, nil, 404},
		"above the server":     {"GET", "/sessions/..%2f..%2fadmin/history", ``, nil, 404},
		"no session":           {"POST", "/sessions/none/turns", `{"messages":[` + result + `]}`, nil, 404},
		"a seed's permission":  {"POST", "/sessions", aapSeed(`{"role":"tool_permission","toolCallId":"h1","granted":true}`), nil, 400},
		"a seed's call":        {"POST", "/sessions", aapSeed(`{"role":"user","content":"go on"}`), nil, 400},
		"a seed's result":      {"POST", "/sessions", aapSeed(strings.Replace(result, "a1", "h2", 1)), nil, 400},
		"no such member":       {"POST", turn, `{"messages":[` + result + `],"approveAll":true}`, nil, 400},
		"no such block":        {"POST", turn, `{"messages":[{"role":"user","content":[{"type":"tool_permission","toolCallId":"a2","granted":true}]}]}`, nil, 400},
		"a call of the user":   {"POST", turn, `{"messages":[{"role":"user","content":[{"type":"tool_use","toolCallId":"a3","name":"deploy","input":{}}]}]}`, nil, 400},
		"no agent":             {"POST", "/sessions", `{"tools":[]}`, nil, 400},
	} {
		req, err := http.NewRequestWithContext(t.Context(), r.method, url+r.path, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
		for k, v := range r.header {
			req.Header.Set(k, v)
		}
		req.Host = r.header["Host"]
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var e struct{ Error string }
		err = json.NewDecoder(res.Body).Decode(&e)
		res.Body.Close()
		if res.StatusCode != r.want || err != nil || e.Error == "" {
			t.Errorf("%s: %s %q, want %d", name, res.Status, e.Error, r.want)
		}
	}
	if len(s.executed) > 0 {
		t.Errorf("the server ran %q", s.executed)
	}
	if s := c.post(good); s.stop != "end_turn" {
		t.Errorf("the good answers: %+v", s)
	}
	want(t, "the server ran", []string{`deploy ` + staging}, s.executed)
}
