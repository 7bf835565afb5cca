package otc

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/sockettest"
)

// TestSamples has every sample of the protocol, with what is read from it or
// written in its form.
func TestSamples(t *testing.T) {
	names, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]func(t *testing.T, text string){
		"01-tool-definition.json": func(t *testing.T, text string) {
			got, err := readDefinition(strictjson.Value(text), toolID{"Ledger", "PostEntry", "2.1.0"})
			if err != nil {
				t.Fatal(err)
			}
			sockettest.Diff(t, "authorizations", []effects.Authorization{{ID: "books-idp", Scopes: []string{"ledger.write"}}}, got.authorizations)
			sockettest.Diff(t, "secrets", []string{"LEDGER_HMAC_KEY"}, got.secrets)
			sockettest.Diff(t, "user_id", true, got.userID)
		},
		"02-call-tool.request.enveloped.json": func(t *testing.T, text string) {
			d := newDaemon(t)
			d.verdicts["PostEntry"] = decisions.Allow
			a := d.call(t, with(text, `"sessionId":"s","endpoint":"https://user:pw@Tools.example:443/v1/?key=1","tool":`+sockettest.Sample(t, "01-tool-definition.json")))
			sockettest.Diff(t, "outcome", Run, a.Outcome)
			c := d.got[0].Call
			sockettest.Diff(t, "tool", effects.Tool{Name: "PostEntry", Server: "Ledger", Source: "https://tools.example/v1", Version: "2.1.0"}, c.Tool)
			sockettest.Diff(t, "given", effects.Credentials{
				Secrets: []string{"LEDGER_HMAC_KEY"}, Authorizations: []effects.Authorization{{ID: "books-idp", Scopes: []string{"ledger.write"}}},
			}, c.Credentials)
			sockettest.Diff(t, "claims", effects.Claims{User: "dana@example.org", TraceID: "tr-51"}, c.Claims)
			sockettest.Diff(t, "facts", []string{"0190c8de-5a0e-7c44-9d55-2f0c3b7f1a10", "otc", "input", "runtime", "/home/ana/shop", "/home/ana"},
				[]string{c.ID, c.Protocol, c.InputFrom, c.Agent.Name, c.Cwd, c.User.Home})
		},
		"03-call-tool.request.bare-as-in-seed.json": func(t *testing.T, text string) {
			d := newDaemon(t)
			sockettest.Diff(t, "outcome", Ask, d.call(t, text).Outcome)
			c := d.got[0].Call
			sockettest.Diff(t, "tool", effects.Tool{Name: "Now", Server: "Clock"}, c.Tool)
			if c.Input != nil || d.got[0].Session.ID != "" {
				t.Errorf("%+v", d.got[0])
			}
		},
		"04-call-tool.request.prose-variant-inputs.json": func(t *testing.T, text string) {
			d := newDaemon(t)
			d.call(t, text)
			c := d.got[0].Call
			sockettest.Diff(t, "version", "2.0.0", c.Tool.Version)
			sockettest.Diff(t, "from", "inputs", c.InputFrom)
			if c.Input == nil {
				t.Error("there is no input")
			}
		},
		"05-call-tool.request.hostile-input-and-inputs.json": func(t *testing.T, text string) {
			d := newDaemon(t)
			d.verdicts["PostEntry"] = decisions.Allow
			if v, err := d.Call(t, MethodCall, text); err == nil || err.Error() != "input and inputs say different things" || d.got != nil {
				t.Errorf("%s, %v", v, err)
			}
		},
		"06-call-tool.response.success.json": nil, // the tool's own
		"07-call-tool.response.tool-error.json": func(t *testing.T, text string) {
			d := newDaemon(t)
			d.verdicts["PostEntry"] = decisions.Deny
			var want struct {
				Result map[string]any `json:"result"`
			}
			decode(t, text, &want)
			var got struct {
				Result map[string]any `json:"result"`
			}
			decode(t, d.Must(t, MethodCall, sockettest.Sample(t, "02-call-tool.request.enveloped.json")), &got)
			for _, r := range []map[string]any{want.Result, got.Result} {
				delete(r, "duration") // it did not run
				e := r["error"].(map[string]any)
				e["message"], e["developer_message"] = "", ""
			}
			sockettest.Diff(t, "result", want.Result, got.Result)
		},
		"08-call-tool.response.400-policy-denied.json": func(t *testing.T, text string) {
			d := newDaemon(t)
			d.verdicts["PostEntry"], d.message = decisions.Deny, "amounts above 1000.00 need a second approver."
			a := d.call(t, sockettest.Sample(t, "02-call-tool.request.enveloped.json"))
			var want Body
			decode(t, text, &want)
			want.DeveloperMessage = "permd decision_id=d1 rule=org.limit"
			sockettest.Diff(t, "response", &Response{Status: 400, Body: want}, a.Response)
		},
		"09-call-tool.response.400-missing-authorization.json": func(t *testing.T, text string) {
			d := newDaemon(t)
			a := d.call(t, with(sockettest.Sample(t, "02-call-tool.request.enveloped.json"),
				`"approval":{"url":"http://127.0.0.1:8787/approve/{decisionId}","checkUrl":"http://127.0.0.1:8787/approve/{decisionId}/status"}`))
			var want Body
			decode(t, text, &want)
			want.Message, want.DeveloperMessage = sayAsk, "permd decision_id=d1"
			want.Missing.Authorization[0] = Challenge{
				ID: "permd-approval-d1", URL: "http://127.0.0.1:8787/approve/d1", CheckURL: "http://127.0.0.1:8787/approve/d1/status",
			}
			sockettest.Diff(t, "response", &Response{Status: 400, Body: want}, a.Response)
			if a.Outcome != Ask || a.Result != nil {
				t.Errorf("%+v", a)
			}
		},
		"10-call-tool.response.422-validation.json": func(t *testing.T, text string) {
			d := newDaemon(t)
			d.verdicts["PostEntry"] = decisions.Allow
			a := d.call(t, `{"$schema":"urn:oxp:1.0","tool_id":"Ledger.PostEntry","input":{"account":"4711","amount_cents":"1"},`+
				`"context":{"authorization":[{"id":"books-idp","token":"x"}],"secrets":[{"id":"LEDGER_HMAC_KEY","value":"x"}],"user_id":"dana"},"tool":`+sockettest.Sample(t, "01-tool-definition.json")+`}`)
			var want Body
			decode(t, text, &want)
			want.DeveloperMessage = "permd decision_id=d1"
			sockettest.Diff(t, "outcome", outcomeInvalid, a.Outcome)
			if len(a.Response.Body.ParameterErrors) != 1 || a.Response.Body.ParameterErrors["amount_cents"] == "" {
				t.Errorf("%+v", a.Response.Body)
			}
			want.ParameterErrors = a.Response.Body.ParameterErrors // in other words
			sockettest.Diff(t, "response", &Response{Status: 422, Body: want}, a.Response)
		},
	}
	var all []string
	for _, path := range names {
		name := filepath.Base(path)
		all = append(all, name)
		if test := tested[name]; test != nil {
			t.Run(name, func(t *testing.T) { test(t, sockettest.Sample(t, name)) })
		}
	}
	for name := range tested {
		if !slices.Contains(all, name) {
			t.Errorf("%s is missing", name)
		}
	}
	for _, name := range all {
		if _, ok := tested[name]; !ok {
			t.Errorf("%s is not tested", name)
		}
	}
}
