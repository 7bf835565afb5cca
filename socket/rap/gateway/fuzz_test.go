package gateway

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// FuzzInvocation: permd is asked about exactly the members that came, with the toolset and
// the session of the gateway, in one line that can be read in one way; and nothing is sent
// to an address that the configuration does not name.
func FuzzInvocation(f *testing.F) {
	c, err := parseConfig([]byte(good))
	if err != nil {
		f.Fatal(err)
	}
	g := &Gateway{Config: c}
	for _, seed := range []string{
		`{"operation":"list_bins","arguments":{},"id":"c","group_id":"g","callback_url":"http://127.0.0.1:9000/cb?t=x"}`,
		"{\"operation\":\"list_bins\",\"arguments\":{\"a\":\n[1, 2]},\"id\":\"c\",\"call_id\":null,\"group_id\":\"g\",\"callback_url\":\"https://agents.example.org\"}",
		`{"operation":"x","toolset":{"name":"y"},"sessionId":"s","width":"w2","id":"c","group_id":"g","callback_url":"HTTPS://AGENTS.example.org:443/a@b#c"}`,
		`{"id":"c","group_id":"g","callback_url":"http://127.0.0.1:9000@evil.example/"}`,
		`{"id":"c","group_id":"g","callback_url":"http://127.0.0.1:9000\\@evil.example/"}`,
		`{"id":"c","group_id":"g","callback_url":"//evil.example/x","Callback_url":"http://127.0.0.1:9000"}`,
		`[]`, `{"id":7}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if strictjson.Check(body) != nil {
			return
		}
		in, refused := g.readInvocation(body)
		if (in == nil) == (refused == nil) {
			t.Fatalf("%v, %v", in, refused)
		}
		if refused != nil {
			return
		}
		if !slices.Contains([]string{"https://agents.example.org", "http://127.0.0.1:9000", "http://localhost:9001"}, in.callback.Address()) ||
			in.path != "" && !strings.HasPrefix(in.path, "/") {
			t.Fatalf("it goes to %s%s", in.callback.Address(), in.path)
		}
		params, err := in.params(c.unknown, "own")
		if err != nil || strictjson.Check(params) != nil || strings.ContainsAny(string(params), "\r\n") {
			t.Fatalf("%v: %s", err, params)
		}
		var sent, came map[string]any
		if json.Unmarshal(params, &sent) != nil || json.Unmarshal(body, &came) != nil {
			t.Fatalf("%s of %s", params, body)
		}
		if sent["sessionId"] != "own" || sent["toolset"].(map[string]any)["name"] != "warehouse" {
			t.Fatalf("%s", params)
		}
		delete(sent, "sessionId")
		delete(sent, "toolset")
		for name := range sent {
			if _, ok := came[name]; !ok || !slices.Contains(invocationMembers[:], name) {
				t.Errorf("%q is added", name)
			}
		}
		for _, name := range invocationMembers {
			before, _ := json.Marshal(came[name])
			after, _ := json.Marshal(sent[name])
			if string(before) != string(after) {
				t.Errorf("%s is %s, and was %s", name, after, before)
			}
		}
	})
}

// FuzzConfig: a configuration that is read offers no tool and names no callback that cannot
// be used.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("name: x\ncallbacks: [http://[::1]:1]\ntools: [{name: a, description: b, inputSchema: {}, url: 'http://localhost:1'}]\n"))
	f.Add([]byte("name: &a x\ntools: *a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseConfig(data)
		if err != nil {
			return
		}
		for _, set := range []strictjson.Value{c.toolset, c.unknown} {
			if strictjson.Check(set) != nil {
				t.Errorf("the toolset is %s", set)
			}
		}
		for name, tool := range c.tools {
			if name == "" || strictjson.Check(tool.set) != nil || tool.server == nil {
				t.Errorf("%q: %+v", name, tool)
			}
		}
		if len(c.tools) == 0 || len(c.callbacks) == 0 {
			t.Errorf("%+v", c)
		}
	})
}
