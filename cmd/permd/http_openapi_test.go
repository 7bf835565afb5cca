package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// openAPI is the document that the daemon serves.
type openAPI struct {
	compiler *jsonschema.Compiler
	paths    map[string]map[string]any
}

const openAPIURL = "mem:///openapi.json"

func (c *httpClient) openAPI(t *testing.T) *openAPI {
	t.Helper()
	got := c.send(t, "GET", "/openapi.json", "")
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(got.Body))
	if got.Status != 200 || err != nil {
		t.Fatalf("the document: status %d, %v", got.Status, err)
	}
	o := &openAPI{compiler: jsonschema.NewCompiler()}
	if err := o.compiler.AddResource(openAPIURL, doc); err != nil {
		t.Fatal(err)
	}
	var root struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal([]byte(got.Body), &root); err != nil {
		t.Fatal(err)
	}
	o.paths = root.Paths
	return o
}

// check compares a body with a schema of the document, and returns what does not fit.
func (o *openAPI) check(t *testing.T, at, body string) error {
	t.Helper()
	schema, err := o.compiler.Compile(openAPIURL + "#/paths/" + at + "/content/application~1json/schema")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// TestHTTPOpenAPI: requests that fit the document are decided, and all answers fit it.
func TestHTTPOpenAPI(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "otc.rego", otcBody)
	d.listensHTTP(t, "127.0.0.1:0")
	d.start(t)
	c := d.http(t)
	o := c.openAPI(t)
	session := `"session":` + encoded(t, httpSession(d.project(t, nil)))
	const tool = `"tool":{"id":"Sms.Send","input_schema":{"type":"object","required":["to"]},"requirements":{"secrets":[{"id":"KEY"}]}}`
	const secret = `"context":{"secrets":[{"id":"KEY","value":"x"}]}`
	const rap = `"id":"k1","group_id":"pick","thread_ancestors":["root"],"toolset":{"name":"warehouse","tools":[{"name":"move","inputSchema":{"type":"object"}}]}`
	const turn = `"agent":{"name":"helper"},"turn":{"events":[{"event":"turn_start"},{"event":"tool_call","toolCallId":"c4","name":"deploy","input":{}},{"event":"turn_stop","stopReason":"tool_use"}]}`
	seen := map[string]bool{}
	for _, tt := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"/v1/otc/call", `{"tool_id":"Clock.Now"}`, 200, `"outcome":"run"`},
		{"/v1/otc/call", `{` + session + `,"$schema":"urn:oxp:1.0","request":{"tool_id":"Clock.Now@1","call_id":"c","trace_id":"t"}}`, 200, `"outcome":"run"`},
		{"/v1/otc/call", `{"tool_id":"Sms.Send","input":{"to":"1"},` + secret + `,` + tool + `}`, 200, `"outcome":"ask"`},
		{"/v1/otc/call", `{"tool_id":"Sms.Send","input":{"to":"1"},` + tool + `}`, 200, `"outcome":"unmet"`},
		{"/v1/otc/call", `{"tool_id":"Sms.Send","input":{},` + secret + `,` + tool + `}`, 200, `"outcome":"invalid"`},
		{"/v1/otc/call", `{"tool_id":"Sms.Wipe"}`, 200, `"outcome":"denied"`},
		{"/v1/otc/call", `{"tool_id":"Sms"}`, 400, "tool_id must be"},
		{"/v1/otc/call", `{"tool_id":"Clock.Now","sessionId":"s1"}`, 400, "over HTTP each request declares it"},
		{"/v1/otc/call", `{"tool_id":"Clock.Now","SessionId":"s1"}`, 400, "almost like"},
		{"/v1/otc/call", `{"tool_id":"Clock.Now","tool_id":"Sms.Wipe"}`, 400, "reading the body"},
		{"/v1/otc/call", `{"tool_id":"Clock.Now","session":{"sessionId":"s1","cwd":"here"}}`, 400, ""},
		{"/v1/otc/call", `{"tool_id":"Clock.Now","session":{"sessionId":"s1","cwd":"/","harness":"claude"}}`, 400, "harness"},
		{"/v1/otc/call", `[]`, 400, "must be an object"},
		{"/v1/otc/call", `{"tool_id":"Clock.Now","call_id":7}`, 400, "call_id"},
		{"/v1/otc/call", `{"tool_id":7}`, 400, "tool_id"},
		{"/v1/otc/call", `null`, 400, "must be an object"},
		{"/v1/otc/call", `{"tool_id":`, 400, "reading the body"},
		{"/v1/rap/invoke", `{"operation":"move","arguments":{},` + rap + `}`, 200, `"outcome":"ask"`},
		{"/v1/rap/invoke", `{` + session + `,"operation":"move","arguments":{},` + rap + `}`, 200, `"outcome":"ask"`},
		{"/v1/rap/invoke", `{}`, 400, ""},
		{"/v1/rap/invoke", `{"arguments":{},"id":"k","group_id":"g"}`, 400, `"result":{"type":"tool_result","group_id":"g","id":"k","text":"Error: `},
		{"/v1/rap/invoke", `{"operation":"move","arguments":{},"id":1,"group_id":"g"}`, 400, "id"},
		{"/v1/rap/invoke", `{"operation":"move","arguments":{},"id":"k","group_id":["g"]}`, 400, "group_id"},
		{"/v1/rap/invoke", `{"operation":"move","operation":"wipe","arguments":{},"id":"k","group_id":"g"}`, 400, "reading the body"},
		{"/v1/rap/invoke", `{"operation":"move","id":"k","group_id":"g"`, 400, "reading the body"},
		{"/v1/rap/invoke", `null`, 400, "must be an object"},
		{"/v1/aap/permissions", `{` + session + `,` + turn + `}`, 200, "c4"},
		{"/v1/aap/permissions", `{` + session + `,` + strings.Replace(turn, `"c4"`, `4`, 1) + `}`, 400, "toolCallId"},
		{"/v1/aap/permissions", `{` + session + `,` + strings.Replace(turn, `"c4"`, `null`, 1) + `}`, 400, "toolCallId"},
		{"/v1/aap/permissions", `{` + session + `,` + strings.Replace(turn, `"name":"deploy"`, `"name":"page","name":"deploy"`, 1) + `}`, 400, "reading the body"},
		{"/v1/aap/permissions", `{` + session + `,` + turn, 400, "reading the body"},
		{"/v1/aap/permissions", `null`, 400, "must be an object"},
		{"/v1/aap/permissions", `{` + turn + `}`, 400, "sessionId is missing"},
		{"/v1/calls", `{"calls":[{"callId":"c","tool":{"name":"x"},"input":{}}],` + session + `}`, 200, `"decisions"`},
		{"/v1/calls", `{}`, 400, "calls is missing"},
		{"/v1/data/permd/decision", `{"input":{"tool":{"name":"x"},"args":{}}}`, 200, `"requires-approval"`},
		{"/v1/data/permd/decision", `{"input":{}}`, 400, "tool is missing"},
		{"/health", "", 200, `"ok"`},
	} {
		method := map[bool]string{true: "GET", false: "POST"}[tt.body == ""]
		got := c.send(t, method, tt.path, tt.body)
		if got.Status != tt.status || !strings.Contains(got.Body, tt.says) {
			t.Errorf("%s %s: status %d, want %d: %s", tt.path, tt.body, got.Status, tt.status, got.Body)
		}
		at := strings.ReplaceAll(tt.path, "/", "~1") + "/" + strings.ToLower(method)
		if tt.status == 200 && tt.body != "" {
			if err := o.check(t, at+"/requestBody", tt.body); err != nil {
				t.Errorf("%s %s: the document does not describe the request: %v", tt.path, tt.body, err)
			}
		}
		if err := o.check(t, fmt.Sprintf("%s/responses/%d", at, got.Status), got.Body); err != nil {
			t.Errorf("%s %s: the document does not describe the answer %s: %v", tt.path, tt.body, got.Body, err)
		}
		seen[tt.path] = true
	}
	for path := range o.paths {
		if !seen[path] && path != "/metrics" && path != "/openapi.json" {
			t.Errorf("no request to %s", path)
		}
		if got := c.send(t, "PUT", path, "{}"); got.Status != 405 {
			t.Errorf("PUT %s: %+v", path, got)
		}
	}
	if err := o.check(t, "~1health/get/responses/200", `{"status":"ok","more":1}`); err == nil {
		t.Error("the document describes every answer")
	}
	// Nothing of a request is kept for the next one: its id is not in use.
	for range 2 {
		if got := c.send(t, "POST", "/v1/otc/call", `{"tool_id":"Clock.Now","call_id":"again"}`); !strings.Contains(got.Body, `"outcome":"run"`) {
			t.Errorf("again: %+v", got)
		}
	}
	for _, path := range []string{"/v1/otc/call", "/v1/rap/invoke", "/v1/aap/permissions", "/openapi.json"} {
		without := *c
		without.token = ""
		if got := without.send(t, "POST", path, `{"tool_id":"Clock.Now"}`); got.Status != 401 {
			t.Errorf("%s without the token: %+v", path, got)
		}
	}
}

const otcBody = `allow contains "the time is no secret" if { input.effect.kind == "use"; input.effect.server == "Clock" }
deny contains "never" if { input.effect.kind == "use"; input.effect.tool == "Wipe" }
`
