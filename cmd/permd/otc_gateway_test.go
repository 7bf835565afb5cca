package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/admin"
)

// otcGate is permd otc in front of an upstream, and a runtime that calls it.
type otcGate struct {
	d        *testDaemon
	upstream *gateUpstream
	cmd      *exec.Cmd
	said     *lockedBuffer
	at       string // host and port
	listen   string // "" for any port
	token    string
	auth     string // in the configuration, "" for a bearer's token
}

// gateRules let Clock run, ask about Sms.Send, and deny premium numbers.
const gateRules = `allow contains "the time is no secret" if { input.effect.kind == "use"; input.effect.server == "Clock" }
ask contains "messages cost money" if { input.effect.kind == "use"; input.effect.server == "Sms" }
deny contains {"reason": "premium", "message": "premium numbers are blocked"} if {
	input.effect.kind == "use"; startswith(input.effect.arguments.to, "+900"); "SMS_KEY" in input.effect.secrets
}
`

func startOTCGate(t *testing.T) *otcGate {
	t.Helper()
	d := newTestDaemon(t)
	d.policy(t, "gate.rego", gateRules)
	d.start(t)
	g := &otcGate{d: d, upstream: newGateUpstream(t)}
	g.start(t)
	return g
}

// start starts permd otc.
func (g *otcGate) start(t *testing.T) {
	t.Helper()
	dir := filepath.Join(g.d.home, "gate")
	for name, text := range map[string]string{"token": gateToken, "grant": gateGrant, "secret": gateSecret} {
		writeFile(t, filepath.Join(dir, name), text+"\n")
		if err := os.Chmod(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(dir, "tools.yaml"), fmt.Sprintf(`wait: 60s
upstreams:
  - address: %s/v1
    toolkits: [Sms, Clock]
    timeout: 2s
    user_id: ana@example.org
    %[3]s
    secrets:
      SMS_KEY: {credential: secret}
    authorization:
      sms-idp: {file: "%[2]s/grant"}
`, g.upstream.URL, dir, cmp.Or(g.auth, `token: {file: "`+dir+`/token"}`)))
	g.cmd = g.d.command("otc", "--config", filepath.Join(dir, "tools.yaml"), "--listen", cmp.Or(g.listen, "127.0.0.1:0"))
	g.cmd.Dir = g.d.project(t, nil)
	g.cmd.Env = append(g.cmd.Env, "CREDENTIALS_DIRECTORY="+dir)
	g.said = new(lockedBuffer)
	g.cmd.Stderr = g.said
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.stop(t) })
	eventually.Holds(t, "permd otc serves", func() bool {
		_, rest, ok := strings.Cut(g.said.String(), "listening on ")
		at, _, whole := strings.Cut(rest, "\n")
		g.at = at
		return ok && whole
	}, g.said.String)
	token, err := os.ReadFile(filepath.Join(g.d.home, ".local/state/permd/otc/token"))
	if err != nil {
		t.Fatal(err)
	}
	g.token = strings.TrimSpace(string(token))
}

// stop ends permd otc, and wants that no credential is in what it has said.
func (g *otcGate) stop(t *testing.T) {
	t.Helper()
	if g.cmd == nil {
		return
	}
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	if err := g.cmd.Wait(); err != nil {
		t.Errorf("permd otc: %v\n%s", err, g.said.String())
	}
	g.cmd = nil
	clean(t, "standard error", g.said.String())
}

// clean wants that a text holds none of the gateway's credentials.
func clean(t *testing.T, what, text string) {
	t.Helper()
	for _, c := range []string{gateToken, gateGrant, gateSecret} {
		if strings.Contains(text, c) {
			t.Errorf("%s holds a credential: %s", what, text)
		}
	}
}

// request sends a request and returns the answer; status is 0 for none.
func (g *otcGate) request(t *testing.T, method, path, body string, headers ...string) (status int, answer string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), eventually.Limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+g.at+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+g.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if req.Header.Set(headers[i], headers[i+1]); headers[i+1] == "" {
			req.Header.Del(headers[i])
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	clean(t, method+" "+path, string(b)+fmt.Sprint(resp.Header))
	return resp.StatusCode, strings.TrimSpace(string(b))
}

// wantCall calls a tool and compares status, a part of the answer and what the upstream got.
func (g *otcGate) wantCall(t *testing.T, what, body string, status int, says, ran string, headers ...string) string {
	t.Helper()
	got, answer := g.request(t, "POST", "/tools/call", body, headers...)
	if got != status || !strings.Contains(answer, says) {
		t.Errorf("%s: %d %s, want %d with %q\n%s", what, got, answer, status, says, g.said.String())
	}
	if runs := g.upstream.runs(); runs != ran {
		t.Errorf("%s: the upstream got %q, want %q", what, runs, ran)
	}
	return answer
}

// decisionOf returns the id of the decision in an answer that asks.
func decisionOf(t *testing.T, answer string) string {
	t.Helper()
	var a struct {
		Missing struct {
			Authorization []struct {
				ID, URL  string
				CheckURL string `json:"check_url"`
			}
			UserID *bool `json:"user_id"`
		} `json:"missing_requirements"`
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil || len(a.Missing.Authorization) != 1 {
		t.Fatalf("no question: %s", answer)
	}
	id, ok := strings.CutPrefix(a.Missing.Authorization[0].ID, "permd-approval-")
	if !ok || !strings.HasSuffix(a.Missing.Authorization[0].URL, "/approvals/"+id) {
		t.Fatalf("the question is %s", answer)
	}
	return id
}

// allow answers a question as a person does; verb is allow or deny.
func (g *otcGate) person(t *testing.T, verb, id string) {
	t.Helper()
	eventually.Holds(t, "permd "+verb+" takes the answer", func() bool {
		return g.d.command(verb, id).Run() == nil
	})
}

// answerNext answers the one question that is waiting or comes next.
func (g *otcGate) answerNext(t *testing.T, verb, before string) (id string) {
	t.Helper()
	eventually.Holds(t, "a question waits", func() bool {
		var list admin.Questions
		if err := g.d.manage(t, admin.MethodQuestionsList, struct{}{}, &list); err != nil {
			return false
		}
		for _, q := range list.Questions {
			if !strings.Contains(before, q.DecisionID) {
				id = q.DecisionID
			}
		}
		return id != ""
	})
	g.person(t, verb, id)
	return id
}

// TestOTCGateway: a runtime lists and calls tools through permd otc, which decides, adds
// credentials, and waits for a person.
func TestOTCGateway(t *testing.T) {
	t.Parallel()
	g := startOTCGate(t)

	status, list := g.request(t, "GET", "/tools", "")
	wantHas(t, "the list", list, `"id":"Sms.Send@1.2.0"`, `"id":"Clock.Now@1.0.0"`, `"$schema":"urn:oxp:1.0"`, `"items":[`, `"tools":[`)
	if status != 200 || strings.Contains(list, "Other.Tool") || strings.Contains(list, "SMS_KEY") || strings.Contains(list, "sms-idp") {
		t.Errorf("the list: %d %s", status, list)
	}
	if status, body := g.request(t, "GET", "/health", "", "Authorization", ""); status != 200 {
		t.Errorf("health: %d %s", status, body)
	}

	g.wantCall(t, "allowed by a rule", `{"tool_id":"Clock.Now","call_id":"c1"}`, 200, `{"call_id":"c1","duration":2,"success":true,"value":"Clock.Now@1.0.0 is done"}`, "Clock.Now@1.0.0 c1")
	g.wantCall(t, "the same again", `{"tool_id":"Clock.Now","call_id":"c1","trace_id":"other"}`, 200, `"value":"Clock.Now@1.0.0 is done"`, "")
	g.wantCall(t, "another call with its id", `{"tool_id":"Clock.Now","call_id":"c1","input":{"zone":"UTC"}}`, 400, "The call_id was used for another call", "")
	if a := g.wantCall(t, "in an envelope", `{"$schema":"urn:oxp:1.0","request":{"tool_id":"Clock.Now@1","call_id":"c2"}}`, 200, `{"$schema":"urn:oxp:1.0","result":{`, "Clock.Now@1.0.0 c2"); strings.Count(a, "result") != 1 {
		t.Errorf("the envelope: %s", a)
	}
	if status, a := g.request(t, "POST", "/tools/call", `{"tool_id":"Clock.Now"}`); status != 200 || !strings.Contains(a, `"call_id":"permd-`) || !strings.HasPrefix(g.upstream.runs(), "Clock.Now@1.0.0 permd-") {
		t.Errorf("without an id: %d %s", status, a)
	}

	// Denials and requirements are in the protocol's words.
	g.wantCall(t, "denied", `{"tool_id":"Sms.Send","call_id":"d1","input":{"to":"+900"}}`, 400, `"message":"This tool call is not permitted: premium numbers are blocked"`, "")
	g.wantCall(t, "invalid", `{"$schema":"urn:oxp:1.0","request":{"tool_id":"Sms.Send","call_id":"d2","input":{"to":7}}}`, 422, `"parameter_errors":{"to":`, "")

	// A person answers: the call runs when it is repeated, once.
	const send = `{"tool_id":"Sms.Send","call_id":"s1","input":{"to":"+1202"},"context":{"user_id":"mallory"}}`
	id := decisionOf(t, g.wantCall(t, "asked", send, 400, "A person must approve this tool call", ""))
	if _, a := g.request(t, "GET", "/approvals/"+id, "", "Authorization", ""); a != `{"message":"Answer with: permd allow `+id+`","status":"pending"}` {
		t.Errorf("the question's address: %s", a)
	}
	g.wantCall(t, "asked again", send, 400, id, "")
	g.person(t, "allow", id)
	eventually.Holds(t, "the address says so", func() bool {
		_, a := g.request(t, "GET", "/approvals/"+id, "")
		return a == `{"status":"approved"}`
	})
	g.wantCall(t, "approved", send, 200, `"value":"Sms.Send@1.10.0 is done"`, "Sms.Send@1.10.0 s1")
	context, _ := json.Marshal(g.upstream.last()["context"])
	want(t, "what the upstream got", `{"authorization":[{"id":"sms-idp","token":"`+gateGrant+`"}],"secrets":[{"id":"SMS_KEY","value":"`+gateSecret+`"}],"user_id":"ana@example.org"}`, string(context))
	g.wantCall(t, "approved, again", send, 200, `"value":"Sms.Send@1.10.0 is done"`, "")
	open := decisionOf(t, g.wantCall(t, "another one", strings.Replace(send, "s1", "s2", 1), 400, "A person must approve", ""))

	// A caller that waits gets the answer itself.
	done := make(chan string, 1)
	go func() {
		_, a := g.request(t, "POST", "/tools/call", strings.Replace(send, "s1", "s3", 1), "Prefer", "wait=60")
		done <- a
	}()
	g.answerNext(t, "deny", open)
	wantHas(t, "denied while the caller waits", <-done, "This tool call is not permitted: denied by the user")
	go func() {
		_, a := g.request(t, "POST", "/tools/call", strings.Replace(send, "s1", "s4", 1), "Prefer", "wait=60")
		done <- a
	}()
	g.answerNext(t, "allow", open)
	wantHas(t, "allowed while the caller waits", <-done, `"success":true`)
	want(t, "ran", "Sms.Send@1.10.0 s4", g.upstream.runs())

	// Neither the daemon's files nor its log have a credential.
	g.stop(t)
	if err := g.d.stop(t); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{gateToken, gateGrant, gateSecret} {
		g.d.wantNowhere(t, c)
	}
}
