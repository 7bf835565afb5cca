package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/permd/permd/internal/testload"
)

// TestOneRequestSessions: a session over HTTP that ends with its request is no scope that permd
// allow offers or takes; what is remembered for more than it holds for the next request.
func TestOneRequestSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for sessions alone; TestHTTPOpenAPI is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "otc.rego", otcBody)
	d.listensHTTP(t, "127.0.0.1:0")
	d.start(t)
	c := d.http(t)
	session := `{"session":` + encoded(t, httpSession("/")) + `,`
	for _, tt := range testload.WithShort(t, 1, []struct{ path, body string }{
		{"/v1/otc/call", session + waitOTC[1:]},
		{"/v1/rap/invoke", session + waitRAP[1:]},
		{"/v1/rap/invoke", waitRAP},
		{"/v1/aap/permissions", waitAAP(session[1:len(session)-1], 1)},
	}) {
		h := c.hold(t, "wait=600", tt.path, tt.body)
		id := d.waiting(t, 1)[0]
		var q struct {
			Widths []struct{ ID, Label, Scope string }
		}
		if err := json.Unmarshal([]byte(d.permd(t, "allow", "--json")), &q); err != nil || len(q.Widths) == 0 {
			t.Fatalf("%s: %v, %+v", tt.path, err, q)
		}
		for _, w := range q.Widths {
			if w.Scope != "" || strings.Contains(w.Label, "session") {
				t.Errorf("%s: a width is offered for the scope %q: %s", tt.path, w.Scope, w.Label)
			}
		}
		for _, args := range [][]string{nil, {"--scope", "session"}, {"--scope", "session+children"}} {
			if out, err := d.command(append([]string{"allow", id, "--width", "w1"}, args...)...).CombinedOutput(); err == nil {
				t.Errorf("%s: %q is taken: %s", tt.path, args, out)
			}
		}
		if out := d.permd(t, "allow", id, "--width", "w1", "--scope", "user"); !strings.Contains(out, "(user)") {
			t.Errorf("%s: %s", tt.path, out)
		}
		<-h.answer
		if got := <-c.hold(t, "wait=1", tt.path, tt.body).answer; strings.Contains(got.Body, `"outcome":"ask"`) {
			t.Errorf("%s asks again: %s", tt.path, got.Body)
		}
		for _, choice := range strings.Split(strings.TrimSpace(d.permd(t, "remember", "list", "--json")), "\n") {
			var k struct{ ChoiceID string }
			if err := json.Unmarshal([]byte(choice), &k); err != nil {
				t.Fatal(err)
			}
			d.permd(t, "remember", "forget", k.ChoiceID)
		}
	}
}
