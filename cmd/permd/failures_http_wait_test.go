package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// heldRequest is a request that is held for a person.
type heldRequest struct {
	answer chan httpAnswer
	leave  context.CancelFunc
}

// hold sends a request with the header Prefer.
func (c *httpClient) hold(t *testing.T, prefer, path, body string) *heldRequest {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Prefer", prefer)
	h := &heldRequest{answer: make(chan httpAnswer, 1), leave: cancel}
	go func() {
		resp, err := c.client.Do(req)
		if err != nil {
			h.answer <- httpAnswer{}
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		h.answer <- httpAnswer{Status: resp.StatusCode, Body: string(text), Reason: resp.Header.Get("Preference-Applied")}
	}()
	t.Cleanup(cancel)
	return h
}

// Requests that ask.
const (
	waitOTC  = `{"tool_id":"Sms.Send","call_id":"c1","input":{"to":"1"}}`
	waitOTC2 = `{"tool_id":"Sms.Send","input":{"to":"1"},"approval":{"url":"https://approve.example/{decisionId}"}}`
	waitOTC3 = `{"tool_id":"Sms.Send","call_id":"c1","input":{"to":"1"},"approval":{"url":"https://approve.example/{decisionId}"}}`
	waitRAP  = `{"operation":"move","arguments":{},"id":"k1","group_id":"pick","thread_ancestors":["root"],"toolset":{"name":"warehouse","tools":[{"name":"move","inputSchema":{"type":"object"}}]}}`
)

func waitAAP(session string, calls int) string {
	var b strings.Builder
	for i := range calls {
		fmt.Fprintf(&b, `{"event":"tool_call","toolCallId":"c%d","name":"deploy","input":{"n":%d}},`, i, i)
	}
	return `{` + session + `,"agent":{"name":"helper"},"turn":{"events":[{"event":"turn_start"},` + b.String() + `{"event":"turn_stop","stopReason":"tool_use"}]}}`
}

// httpWaits: a request waits for permd allow as long as its client wants, and whatever happens
// meanwhile allows nothing.
func httpWaits(t *testing.T) {
	d := newTestDaemon(t)
	d.policy(t, "otc.rego", otcBody)
	d.listensHTTP(t, "127.0.0.1:0")
	d.start(t)
	c := d.http(t)
	o := c.openAPI(t)
	session := `"session":` + encoded(t, httpSession(d.project(t, nil)))
	refuses := func(what, verb, id string) {
		t.Helper()
		if out, err := d.command(verb, id).CombinedOutput(); err == nil {
			t.Errorf("%s: permd %s says %s", what, verb, out)
		}
	}
	is := func(what, path string, got httpAnswer, part string) {
		t.Helper()
		if got.Status != 200 || !strings.Contains(got.Body, part) {
			t.Errorf("%s: %s has the answer %+v, want %s", what, path, got, part)
		}
		if err := o.check(t, strings.ReplaceAll(path, "/", "~1")+"/post/responses/200", got.Body); err != nil {
			t.Errorf("%s: the document does not describe the answer %s: %v", what, got.Body, err)
		}
	}
	const asks, runs, denied = `"outcome":"ask"`, `"outcome":"run"`, `"outcome":"denied"`
	for _, tt := range []struct{ path, body, runs string }{
		{"/v1/otc/call", waitOTC, runs},
		{"/v1/otc/call", waitOTC2, runs},
		{"/v1/otc/call", waitOTC3, runs},
		{"/v1/otc/call", `{` + session + `,` + waitOTC[1:], runs},
		{"/v1/rap/invoke", waitRAP, runs},
		{"/v1/rap/invoke", `{` + session + `,` + waitRAP[1:], runs},
		{"/v1/aap/permissions", waitAAP(session, 1), `"outcome":"granted"`},
	} {
		h := c.hold(t, "wait=600", tt.path, tt.body)
		id := d.waiting(t, 1)[0]
		d.permd(t, "allow", id)
		got := <-h.answer
		is("allowed", tt.path, got, tt.runs)
		want(t, "the header Preference-Applied", "wait=600", got.Reason)
		refuses("once more", "allow", id)

		h = c.hold(t, "wait=600", tt.path, tt.body)
		id = d.waiting(t, 1)[0]
		d.permd(t, "deny", id)
		is("denied", tt.path, <-h.answer, denied)

		begin := time.Now()
		is("nobody answers", tt.path, <-c.hold(t, "wait=1", tt.path, tt.body).answer, asks)
		if took := time.Since(begin); took < time.Second {
			t.Errorf("after %v", took)
		}
		h = c.hold(t, "wait=600", tt.path, tt.body)
		id = d.waiting(t, 1)[0]
		h.leave()
		d.waiting(t, 0)
		refuses("the client is gone", "allow", id)

		h = c.hold(t, "wait=600", tt.path, tt.body)
		d.waiting(t, 1)
		d.policy(t, "now.rego", `allow contains "by now" if { input.effect.kind == "use" }`)
		d.reload(t)
		is("allowed by now", tt.path, <-h.answer, tt.runs)
		d.policy(t, "now.rego", `deny contains "frob" if { input.effect.tool == "frob" }`)
		d.reload(t)
		h = c.hold(t, "wait=600", tt.path, tt.body)
		d.waiting(t, 1)
		d.policy(t, "now.rego", `deny contains "by now" if { input.effect.kind == "use" }`)
		d.reload(t)
		is("denied by now", tt.path, <-h.answer, denied)
		d.policy(t, "now.rego", `deny contains "frob" if { input.effect.tool == "frob" }`)
		d.reload(t)

		is("a client that does not wait", tt.path, <-c.hold(t, "respond-async, wait=0", tt.path, tt.body).answer, asks)
		if got := <-c.hold(t, "wait=long", tt.path, tt.body).answer; got.Status != 400 {
			t.Errorf("a wait that is no number: %+v", got)
		}
	}
	// What a rule decides is not held.
	is("a rule", "/v1/otc/call", <-c.hold(t, "wait=600", "/v1/otc/call", `{"tool_id":"Clock.Now","call_id":"c"}`).answer, runs)

	// A turn with more questions than permd waits for at a time; one of its calls is denied.
	const all = 20
	h := c.hold(t, "wait=600", "/v1/aap/permissions", waitAAP(session, all))
	d.permd(t, "deny", d.waiting(t, -1)[0])
	for range all - 1 {
		d.allow(t, d.waiting(t, -1)[0])
	}
	got := <-h.answer
	is("many", "/v1/aap/permissions", got, `"messages":`)
	want(t, "calls that are granted", all-1, strings.Count(got.Body, `"outcome":"granted"`))

	// Many answers at once, each with a denial at the same time: one of them counts.
	var list []*heldRequest
	for i := range 12 {
		list = append(list, c.hold(t, "wait=600", "/v1/otc/call", strings.Replace(waitOTC, "c1", fmt.Sprint("r", i), 1)))
	}
	var mu sync.Mutex
	var both sync.WaitGroup
	counted := map[string]int{}
	for _, id := range d.waiting(t, len(list)) {
		for _, verb := range []string{"allow", "deny"} {
			both.Go(func() {
				if d.command(verb, id).Run() == nil {
					mu.Lock()
					defer mu.Unlock()
					counted[verb]++
				}
			})
		}
	}
	both.Wait()
	told := map[string]int{}
	for _, h := range list {
		switch got := <-h.answer; {
		case strings.Contains(got.Body, runs):
			told["allow"]++
		case strings.Contains(got.Body, denied):
			told["deny"]++
		default:
			t.Errorf("%+v", got)
		}
	}
	want(t, "answers that counted", counted, told)

	// Rules that change meanwhile.
	h = c.hold(t, "wait=600", "/v1/otc/call", waitOTC)
	id := d.waiting(t, 1)[0]
	d.policy(t, "never.rego", `deny contains "never" if { input.effect.kind == "use"; input.effect.tool == "Send" }`+"\n")
	d.reload(t)
	refuses("under other rules", "allow", id)
	// The yes may end the question before it is decided again.
	late := <-h.answer
	is("under other rules", "/v1/otc/call", late, map[bool]string{true: denied, false: asks}[strings.Contains(late.Body, denied)])
	d.policy(t, "never.rego", "")
	d.reload(t)

	// The daemon ends.
	h = c.hold(t, "wait=600", "/v1/rap/invoke", waitRAP)
	d.waiting(t, 1)
	d.kill()
	if got := <-h.answer; strings.Contains(got.Body, runs) {
		t.Errorf("the daemon has ended: %+v", got)
	}
	d.start(t)
	c = d.http(t)
	h = c.hold(t, "wait=600", "/v1/rap/invoke", waitRAP)
	d.waiting(t, 1)
	if err := d.stop(t); err != nil {
		t.Errorf("the daemon ends with %v", err)
	}
	if got := <-h.answer; strings.Contains(got.Body, runs) || got.Status != 200 && got.Status != 503 {
		t.Errorf("the daemon was told to end: %+v", got)
	}
}
