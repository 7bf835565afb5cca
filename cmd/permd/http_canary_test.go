package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// httpSamples are messages of the AI SDK, with every text replaced by a canary.
func httpSamples(t *testing.T, canary string) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../socket/httpapi/testdata/vercel-ai-sdk/*.json")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	samples := map[string]string{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		n := 0
		samples[filepath.Base(f)] = encoded(t, withCanaries(v, canary, &n))
		if n == 0 {
			t.Errorf("%s has no text", f)
		}
	}
	return samples
}

func withCanaries(v any, canary string, n *int) any {
	switch v := v.(type) {
	case string:
		*n++
		return fmt.Sprintf("%s-%d https://u:%s@h.example/?token=%s", canary, *n, canary, canary)
	case map[string]any:
		for name := range v {
			v[name] = withCanaries(v[name], canary, n)
		}
	case []any:
		for i := range v {
			v[i] = withCanaries(v[i], canary, n)
		}
	}
	return v
}

// mutations are damages of a body: truncated, doubled, with an added or changed
// character.
func mutations(body string) []string {
	list := []string{body, body + body, body + "}", strings.ToUpper(body), strings.Replace(body, ":", ":{", 1)}
	for i := range 24 {
		at := (i + 1) * len(body) / 26
		list = append(list, body[:at], body[:at]+`"`+body[at:], body[:at]+"\xff"+body[at:], body[:at]+"}"+body[at+1:])
	}
	return list
}

// TestHTTPCanaries: what does not belong to the call is in no file, log or answer
// and not visible to rules; nothing of a malformed body is.
func TestHTTPCanaries(t *testing.T) {
	if testing.Short() {
		t.Skip("long: messages with a credential in each place")
	}
	t.Parallel()
	const canary, token = "canaryOfTheConversation", "ghp_canary0123456789abcdefghijklmnopqrst"
	d := newTestDaemon(t)
	d.listensHTTP(t, "127.0.0.1:0")
	// The rules put everything that they see into their reason.
	d.policy(t, "all.rego", `ask contains {"reason": json.marshal(input)} if input.effect.tool == "seen"`)
	d.start(t)
	c := d.http(t)
	sent, decided := 0, 0
	send := func(path, body, what string) {
		t.Helper()
		got := c.send(t, "POST", path, body)
		if sent++; got.Status == 200 {
			decided++
		} else if got.Status != 400 {
			t.Errorf("%s: the answer is %+v", what, got)
		}
		if strings.Contains(got.Body, canary) || strings.Contains(got.Body, token) || strings.Contains(got.Body, c.token) {
			t.Errorf("%s: the answer is %s", what, got.Body)
		}
	}
	for name, sample := range httpSamples(t, canary) {
		body := fmt.Sprintf(`{"more":%[1]s,"input":{"messages":[%[1]s],"runtimeContext":%[1]s,"tools":%[1]s,"tool":{"name":"seen","more":%[1]s},"args":{"n":1}}}`, sample)
		send("/v1/data/permd/decision", body, name)
		for _, m := range mutations(body) {
			send("/v1/data/permd/decision", m, name+", mutated")
		}
		calls := fmt.Sprintf(`{"more":%[1]s,"calls":[{"callId":"c","tool":{"name":"seen"},"input":{},"more":%[1]s}]}`, sample)
		for _, m := range mutations(calls) {
			send("/v1/calls", m, name+" in calls, mutated")
		}
	}
	if decided < 16 || sent-decided < 500 {
		t.Errorf("of %d bodies %d were decided", sent, decided)
	}
	// What is the call's own is shown without its secrets, and of a body that
	// cannot be read not at all.
	project := d.project(t, nil)
	for _, command := range []string{"curl -H 'Authorization: Bearer " + token + "' https://h.example/", "curl https://u:" + canary + "@h.example/"} {
		body := encoded(t, map[string]any{"input": map[string]any{
			"tool": map[string]any{"name": "Bash"}, "args": map[string]any{"command": command}, "session": httpSession(project),
		}})
		send("/v1/data/permd/decision", body, "a secret in a command")
		for _, broken := range []string{body[:len(body)-1], body + "x", strings.Replace(body, `"tool"`, `"Tool"`, 1), strings.Replace(body, `"cwd"`, `"roots":7,"cwd"`, 1)} {
			send("/v1/data/permd/decision", broken, "a secret in a broken body")
		}
	}
	for path, want := range map[string]string{"/health": "ok", "/metrics": ""} {
		got := c.send(t, "GET", path, "")
		if !strings.Contains(got.Body, want) || strings.Contains(got.Body, canary) || strings.Contains(got.Body, token) || strings.Contains(got.Body, c.token) {
			t.Errorf("%s: %+v", path, got)
		}
	}
	// The whole text of the database.
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	d.wantNowhere(t, canary)
	d.wantNowhere(t, token)
	d.wantNowhereBut(t, c.token, "http.token")
}
