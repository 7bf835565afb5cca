package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/aap"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/sockettest"
)

// newHeldGateway returns a gateway whose permd decides each stop as calls and has questions
// answered by wait, in front of a server with this history and these turns.
func newHeldGateway(t *testing.T, calls []aap.Call, wait func(context.Context), history string, turns ...string) *Gateway {
	t.Helper()
	always := func(f func(context.Context) any) socket.Method {
		return func(*socket.Conn, strictjson.Value) (func(context.Context) (any, error), error) {
			return func(ctx context.Context) (any, error) { return f(ctx), nil }, nil
		}
	}
	stop := always(func(context.Context) any {
		r := map[string]any{"batchId": "b", "calls": calls, "messages": []any{}}
		if calls[0].Outcome == aap.Granted {
			r["messages"] = []any{map[string]any{"role": "tool_permission", "toolCallId": calls[0].ToolCallID, "granted": true}}
		}
		return r
	})
	path := sockettest.Serve(t, socket.Methods{
		"permd/session": always(func(context.Context) any { return map[string]int{"protocol": client.Protocol} }),
		"permd/wait": always(func(ctx context.Context) any {
			wait(ctx)
			return map[string]string{"answer": "none"}
		}),
		aap.MethodPermissions: stop, aap.MethodAnswer: stop,
	})
	g, err := New(Config{
		Upstream: &url.URL{Scheme: "http", Host: "server"}, NoClientAnswers: true, Wait: time.Minute, Say: func(string) {},
		Dial: func(ctx context.Context) (*client.Client, error) { return client.Dial(ctx, path, client.Options{}) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	g.http.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		text := `{"sessionId":"s","agent":{"name":"a"}}`
		switch {
		case strings.HasSuffix(r.URL.Path, "/history"):
			text = history
		case strings.HasSuffix(r.URL.Path, "/turns") && len(turns) > 0:
			text, turns = turns[0], turns[1:]
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text))}, nil
	})
	return g
}

// TestHeldForPerson: while a person is waited for, a long history does not take the room that
// there is for the longest of the other answers.
func TestHeldForPerson(t *testing.T) {
	const call = `{"role":"assistant","content":[{"type":"tool_use","toolCallId":"%[1]s","name":"%[1]s"}]}`
	full := `{"role":"user","content":"` + strings.Repeat("x", maxBody-1<<10) + `"},` + fmt.Sprintf(call, "c") + "," + fmt.Sprintf(call, "d") + "," + fmt.Sprintf(call, "e")
	const denied = `,{"role":"tool","toolCallId":"e","content":"Tool call denied: no"}`
	for name, row := range map[string]struct{ method, path, body string }{
		"history": {http.MethodGet, "/sessions/s/history?type=full", ""},
		"answer":  {http.MethodPost, "/sessions/s/turns", `{"messages":[{"role":"tool","toolCallId":"c","content":"x"}],"stream":"none"}`},
	} {
		t.Run(name, func(t *testing.T) {
			asks, answered := make(chan bool, 1), make(chan bool)
			g := newHeldGateway(t, []aap.Call{
				{ToolCallID: "c", Name: "c", Side: "client", Outcome: aap.Execute},
				{ToolCallID: "e", Name: "e", Side: "client", Outcome: aap.Denied, Reason: "no"},
				{ToolCallID: "d", Name: "d", Side: "server", Outcome: aap.Ask, Decision: &decisions.Decision{ID: "d", Verdict: decisions.Ask}},
			}, func(ctx context.Context) {
				select {
				case asks <- true:
				default:
				}
				select {
				case <-answered:
				case <-ctx.Done():
				}
			}, `{"history":{"full":[`+full+`]}}`)
			w, done := httptest.NewRecorder(), make(chan bool)
			go func() {
				defer close(done)
				r := httptest.NewRequest(row.method, "http://localhost"+row.path, strings.NewReader(row.body))
				r.Header.Set("Content-Type", "application/json")
				g.ServeHTTP(w, r)
			}()
			select {
			case <-asks:
			case <-done:
				t.Fatalf("no person is asked: %d %.200s", w.Code, w.Body)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			other := g.memory.Begin("other")
			if err := other.Wait(ctx, heldTimes*maxBody); err != nil {
				t.Error("another answer waits for the person:", err)
			}
			other.Free()
			close(answered)
			<-done
			if name != "history" {
				return
			}
			got, err := readObject(w.Body.Bytes())
			if v, _ := got.Get("history"); w.Code != http.StatusOK || err != nil || !bytes.Equal(v, []byte(`{"full":[`+full+denied+`]}`)) {
				t.Errorf("the history has become another: %d, %v, %d bytes", w.Code, err, len(v))
			}
		})
	}
}

// TestLongTurnAfterCalls: the turn after one with calls can be as long as any.
func TestLongTurnAfterCalls(t *testing.T) {
	const turn = `{"stopReason":%q,"messages":[{"role":"assistant","content":%s}]}`
	x := strings.Repeat("x", maxBody)
	g := newHeldGateway(t, []aap.Call{{ToolCallID: "d", Name: "d", Side: "server", Outcome: aap.Granted}}, nil, "",
		fmt.Sprintf(turn, stopToolUse, `[{"type":"tool_use","toolCallId":"d","name":"d","input":{"x":"`+x[:1<<20]+`"}}]`),
		fmt.Sprintf(turn, "end_turn", `"`+x[:maxBody-1<<10]+`"`))
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "http://localhost/sessions/s/turns", strings.NewReader(userTurn("none")))
	r.Header.Set("Content-Type", "application/json")
	g.ServeHTTP(w, r)
	if w.Code != http.StatusOK || w.Body.Len() < maxBody-1<<10 {
		t.Errorf("%d, %d bytes: %.200s", w.Code, w.Body.Len(), w.Body)
	}
}
