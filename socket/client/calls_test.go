package client_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
)

// caller gives each call the same answer.
type caller struct {
	method string
	params string
	answer string
	err    error
}

func (c *caller) Call(_ context.Context, method string, params, result any) error {
	b, err := json.Marshal(params, json.Deterministic(true))
	if err != nil {
		return err
	}
	c.method, c.params = method, string(b)
	if c.err != nil || result == nil {
		return c.err
	}
	return strictjson.Unmarshal([]byte(c.answer), result)
}

func (*caller) Notify(context.Context, string, any) error { return nil }

// TestMissingDecisions: an answer that does not decide each call is an error: a
// call without a decision could be taken for allowed.
func TestMissingDecisions(t *testing.T) {
	t.Parallel()
	calls := []client.ToolCall{{ID: "1", Tool: client.Tool{Name: "x"}}, {ID: "2", Tool: client.Tool{Name: "x"}}}
	const params = `{"calls":[{"callId":"1"},{"callId":"2"}]}`
	for answer, ok := range map[string]bool{
		`{"decisions":[{"callId":"1","verdict":"allow"},{"callId":"2","verdict":"ask"}]}`:                                  true,
		`{"decisions":[{"callId":"1","verdict":"allow"}]}`:                                                                 false,
		`{"decisions":[{"callId":"1","verdict":"allow"},{"callId":"2","verdict":"ask"},{"callId":"3","verdict":"allow"}]}`: false,
		`{"decisions":[{"callId":"1","verdict":"allow"},null]}`:                                                            false,
		`{"decisions":[{"callId":"1","verdict":"allow"},{"callId":"2","verdict":"yes"}]}`:                                  false,
		`{"decisions":[{"callId":"1","verdict":"allow"},{"callId":"2"}]}`:                                                  false,
		`{}`: false,
	} {
		c := &caller{answer: answer}
		if _, err := client.Decide(t.Context(), c, "s", calls...); (err == nil) != ok {
			t.Errorf("%s: %v", answer, err)
		}
		if _, err := client.DecideJSON(t.Context(), c, strictjson.Value(params)); (err == nil) != ok {
			t.Errorf("JSON, %s: %v", answer, err)
		}
	}
	c := &caller{answer: `{"decisions":[{"callId":"2","verdict":"allow"},{"callId":"1","verdict":"deny"}]}`}
	if _, err := client.Decide(t.Context(), c, "s", calls...); err == nil {
		t.Error("the decisions are to other calls")
	}
}

// TestRequestPermission: the decision is found in an answer and in a question.
func TestRequestPermission(t *testing.T) {
	t.Parallel()
	question := &client.Error{Code: socket.CodeAsk, Message: "ask", Data: strictjson.Value(`{"id":"d2","verdict":"ask"}`)}
	for name, c := range map[string]struct {
		caller caller
		want   decisions.Verdict
	}{
		"allowed":     {caller{answer: `{"_meta":{"permd":{"id":"d1","verdict":"allow"}}}`}, decisions.Allow},
		"asked":       {caller{err: question}, decisions.Ask},
		"nothing":     {caller{answer: `{}`}, ""},
		"no verdict":  {caller{answer: `{"_meta":{"permd":{"id":"d1"}}}`}, ""},
		"other error": {caller{err: &client.Error{Code: socket.CodeParams, Data: question.Data}}, ""},
		"bad data":    {caller{err: &client.Error{Code: socket.CodeAsk, Data: strictjson.Value(`[]`)}}, ""},
	} {
		d, err := client.RequestPermission(t.Context(), &c.caller, strictjson.Value(`{}`))
		if (err == nil) != (c.want != "") || err == nil && d.Verdict != c.want {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

// TestMethods: the methods have the names that permd serves them by, and members
// that were not set are not sent.
func TestMethods(t *testing.T) {
	t.Parallel()
	c := &caller{answer: `{}`}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { _, _ = client.DeclareSession(t.Context(), c, &client.Session{ID: "s", Cwd: "/w"}) },
			native.MethodSession + ` {"sessionId":"s","cwd":"/w"}`},
		{func() {
			_, _ = client.Decide(t.Context(), c, "", client.ToolCall{ID: "1", Tool: client.Tool{Name: "x"}})
		},
			native.MethodDecide + ` {"calls":[{"callId":"1","tool":{"name":"x"}}]}`},
		{func() { _, _ = client.Choose(t.Context(), c, &client.Choice{DecisionID: "d", Verdict: decisions.Deny}) },
			native.MethodChoose + ` {"decisionId":"d","verdict":"deny"}`},
		{func() { _, _ = client.RequestPermission(t.Context(), c, strictjson.Value(`{}`)) }, acp.MethodRequestPermission + ` {}`},
	} {
		step.do()
		if got := strings.Join([]string{c.method, c.params}, " "); got != step.want {
			t.Errorf("%s, want %s", got, step.want)
		}
	}
}
