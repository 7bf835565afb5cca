package main

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// TestHTTPFailures has the failures between a program that asks over HTTP and its
// answer, as TestFailures has for the socket.
func TestHTTPFailures(t *testing.T) {
	failures(t, append([]failure{
		{"body cannot be read in one way", httpUnreadable},
		{"call not understood", httpNotUnderstood},
		{"policy fails", httpPolicyFails},
		{"organisation denies on failure", httpPolicyFailsDenied},
		{"nobody can be asked", httpUnattended},
		{"decision cannot be logged", httpJournalGone},
		{"not the token, or a browser", httpStrangers},
		{"too many connections", httpTooMany},
		{"client that does not go on", httpHalfRequests},
		{"framing or header is not as it must be", httpBrokenFraming},
		{"body of another protocol is too long, or cut at any byte", httpBrokenMethods},
		{"strangers that hold connections", httpStrangersHold},
		{"client gone at any byte of the answer", httpGoneAtAnyByte},
		{"client waits for a person", httpWaits},
		{"client of a held request sends more, and is gone", httpWaitsPipelined},
		{"client of a held request does not read the answer, or is gone when it comes", httpWaitsUnread},
		{"more clients wait than there are places", httpManyWaits},
		{"shutting down", httpShutdown},
		{"daemon not reachable", httpNotReachable},
		{"token that others may have", httpBadToken},
		{"address that is in use", httpAddressInUse},
		{"socket that is something else", httpSocketTaken},
		{"address that others reach", httpEverybody},
	}, longRows(t, failure{"clients do not read their answers", httpDeaf})...), "not the token, or a browser")
}

// wantHTTPAllowed is the control.
func wantHTTPAllowed(t *testing.T, c *httpClient, project string) {
	t.Helper()
	if got := c.shell(t, project, probe); got.Decision != "allow" {
		t.Fatalf("control: the answer is %+v, want allow", got)
	}
}

// wantHTTP checks that a decision is not allow.
func wantHTTP(t *testing.T, got httpAnswer, decision, reason string) {
	t.Helper()
	if got.Status != 200 || got.Decision != decision || !strings.Contains(got.Reason, reason) {
		t.Errorf("the answer is %+v, want %s with %q in the reason", got, decision, reason)
	}
}

// httpUnreadable: status 400, no decision, and the next request is answered.
func httpUnreadable(t *testing.T) {
	d, c := startHTTP(t, "unix")
	project := d.project(t, nil)
	good := encoded(t, map[string]any{"input": map[string]any{
		"args": map[string]any{"command": probe}, "tool": map[string]any{"name": "Bash"}, "session": httpSession(project),
	}})
	swap := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%s is not part of %s", old, good)
		}
		return strings.Replace(good, old, with, 1)
	}
	for name, body := range map[string]string{
		"half":                    good[:len(good)/2],
		"more behind it":          good + "{}",
		"two commands":            swap(`"command":`, `"command":"rm -rf /","command":`),
		"two commands, escaped":   swap(`"command":`, `"c\u006fmmand":"rm -rf /","command":`),
		"two tools":               swap(`"tool":`, `"tool":{"name":"x"},"tool":`),
		"tool in another case":    swap(`"tool":`, `"Tool":{"name":"x"},"tool":`),
		"session in another case": swap(`"cwd":`, `"Cwd":"/","cwd":`),
		"no UTF-8":                swap(probe, "git \xff"),
		"too deep":                swap(`{"command":"`+probe+`"}`, strings.Repeat("[", 200)+strings.Repeat("]", 200)),
		"no tool":                 swap(`"tool":`, `"x":`),
		"no arguments":            swap(`"args":`, `"x":`),
		"another's session":       swap(`"cwd":`, `"harness":"claude","cwd":`),
		"a long one":              swap(probe, strings.Repeat("x", 5<<20)),
	} {
		wantHTTPAllowed(t, c, project)
		if got := c.send(t, "POST", "/v1/data/permd/decision", body); got.Status != 400 && got.Status != 413 || got.Decision != "" {
			t.Errorf("%s: the answer is %+v", name, got)
		}
	}
	if n := len(d.records(t)); n != 13 {
		t.Errorf("%d decisions were logged, want those of the controls", n)
	}
	if got := d.output.String(); strings.Contains(got, "rm -rf") {
		t.Errorf("the log repeats what a body held:\n%s", got)
	}
}

// httpNotUnderstood: the person is asked.
func httpNotUnderstood(t *testing.T) {
	d, c := startHTTP(t, "unix")
	project := d.project(t, nil)
	wantHTTPAllowed(t, c, project)
	session := httpSession(project)
	for name, input := range map[string]map[string]any{
		"no session":       {"tool": map[string]any{"name": "Bash"}, "args": map[string]any{"command": probe}},
		"no command":       {"tool": map[string]any{"name": "Bash"}, "args": map[string]any{}, "session": session},
		"a list":           {"tool": map[string]any{"name": "Bash"}, "args": []string{probe}, "session": session},
		"text":             {"tool": map[string]any{"name": "Bash"}, "args": probe, "session": session},
		"a near miss":      {"tool": map[string]any{"name": "Bash"}, "args": map[string]any{"command": probe, "Command": "ls"}, "session": session},
		"half a command":   {"tool": map[string]any{"name": "Bash"}, "args": map[string]any{"command": "git status 'x"}, "session": session},
		"an unknown tool":  {"tool": map[string]any{"name": "go_on"}, "args": map[string]any{"command": probe}, "session": session},
		"a server's shell": {"tool": map[string]any{"name": "Bash", "server": "x"}, "args": map[string]any{"command": probe}, "session": session},
	} {
		if got := c.decide(t, input); got.Status != 200 || got.Decision != "requires-approval" {
			t.Errorf("%s: the answer is %+v", name, got)
		}
	}
}

func httpPolicyFails(t *testing.T) {
	d, c := startHTTP(t, "unix")
	project := d.project(t, nil)
	for _, tt := range brokenPolicies {
		wantHTTPAllowed(t, c, project)
		d.policy(t, "broken.rego", tt.rego)
		d.reload(t)
		wantHTTP(t, c.shell(t, project, probe), "requires-approval", tt.reason)
		d.policy(t, "broken.rego", "")
		d.reload(t)
	}
	wantHTTPAllowed(t, c, project)
}

func httpPolicyFailsDenied(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.listensHTTP(t, "unix")
	root := filepath.Join(d.home, "root")
	writeFile(t, filepath.Join(root, "etc", "permd", "permd.toml"), `on_failure = "deny"`)
	d.start(t, "--root", root)
	c := d.http(t)
	wantHTTPAllowed(t, c, project)
	d.policy(t, "broken.rego", brokenPolicies[0].rego)
	d.reload(t)
	wantHTTP(t, c.shell(t, project, probe), "deny", "")
}

func httpUnattended(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "permd.toml"), "profile = \"unattended\"\n[http]\nlisten = \"unix\"\n")
	d.start(t)
	c := d.http(t)
	wantHTTPAllowed(t, c, project)
	wantHTTP(t, c.shell(t, project, "make install"), "deny", "")
}

// httpJournalGone: what cannot be logged is not allowed, and what was allowed is
// in the journal.
func httpJournalGone(t *testing.T) {
	d, c := startHTTP(t, "unix")
	project := d.project(t, nil)
	wantHTTPAllowed(t, c, project)
	var allowed []answer
	for n := range 200 {
		switch got := c.shell(t, project, probe); {
		case got.Decision == "allow":
			allowed = append(allowed, answer{Verdict: "allow", ID: got.ID})
		case got.Decision != "requires-approval" || !strings.Contains(got.Reason, "could not be logged"):
			t.Fatalf("the answer is %+v", got)
		}
		if n%50 == 10 {
			for _, segment := range []string{"0", "1"} {
				if err := os.Remove(d.data("decisions.db.spool-" + segment)); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
			}
		}
	}
	if n := len(allowed); n == 200 || n == 0 {
		t.Errorf("%d of 200 were allowed, want some and not all", n)
	}
	d.kill()
	d.start(t)
	d.wantLogged(t, allowed...)
}

// httpStrangers: a client without the token learns nothing, and nothing is decided.
func httpStrangers(t *testing.T) {
	d, c := startHTTP(t, "127.0.0.1:0")
	project := d.project(t, nil)
	wantHTTPAllowed(t, c, project)
	for name, change := range map[string]func(*http.Request){
		"no token":      func(r *http.Request) { r.Header.Del("Authorization") },
		"another token": func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.Repeat("0", 64)) },
		"a browser":     func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"another name":  func(r *http.Request) { r.Host = "evil.example" },
	} {
		for _, path := range []string{"/v1/data/permd/decision", "/v1/calls", "/health", "/metrics", "/"} {
			req, err := http.NewRequest("POST", c.url+path, strings.NewReader(`{"input":{"tool":{"name":"x"},"args":{}}}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+c.token)
			change(req)
			resp, err := c.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != 401 && resp.StatusCode != 403 || strings.Contains(string(body), "decision") {
				t.Errorf("%s, %s: %d %s %v", name, path, resp.StatusCode, body, err)
			}
		}
	}
	if n := len(d.records(t)); n != 1 {
		t.Errorf("%d decisions were logged, want that of the control", n)
	}
}

// httpTooMany: connections above the limit get no decision, and the other sockets
// are still served.
func httpTooMany(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "permd.toml"), "[limits]\nconnections = 4\n[http]\nlisten = \"unix\"\n")
	d.start(t)
	at := d.status(t).HTTP
	var taken []net.Conn
	for range 4 {
		c, err := net.Dial("unix", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET /health HTTP/1.1\r\nHost: permd\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 200 {
			t.Fatalf("%+v, %v", resp, err)
		}
		taken = append(taken, c)
	}
	c := d.http(t)
	if got := c.shell(t, project, probe); got.Status == 200 || got.Decision != "" {
		t.Errorf("above the limit: %+v", got)
	}
	wantAllowed(t, d.session(t, project))
	for _, c := range taken {
		c.Close()
	}
	eventually.Holds(t, "there is room again", func() bool { return c.shell(t, project, probe).Decision == "allow" })
}

// httpHalfRequests: incomplete requests get no answer, and do not affect others.
func httpHalfRequests(t *testing.T) {
	d, c := startHTTP(t, "unix")
	project := d.project(t, nil)
	for _, part := range []string{"", "POST", "POST /v1/data/permd/decision HTTP/1.1\r\nHost: permd\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"input\":"} {
		half, err := net.Dial("unix", d.status(t).HTTP)
		if err != nil {
			t.Fatal(err)
		}
		defer half.Close()
		if _, err := io.WriteString(half, part); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		wantHTTPAllowed(t, c, project)
	}
	if n := len(d.records(t)); n != 10 {
		t.Errorf("%d decisions were logged", n)
	}
}

// httpShutdown: each request that is sent while the daemon ends gets a logged
// decision, or none.
func httpShutdown(t *testing.T) {
	d, c := startHTTP(t, "unix")
	project := d.project(t, nil)
	wantHTTPAllowed(t, c, project)
	answers := make(chan []httpAnswer, 4)
	for range cap(answers) {
		go func() {
			var got []httpAnswer
			for {
				a := c.shell(t, project, probe)
				if got = append(got, a); a.Status != 200 {
					answers <- got
					return
				}
			}
		}()
	}
	d.waitStored(t, 20)
	if err := d.stop(t); err != nil {
		t.Errorf("the daemon ended with %v", err)
	}
	var logged []answer
	for range cap(answers) {
		for _, a := range <-answers {
			switch {
			case a.Status == 200:
				logged = append(logged, answer{Verdict: a.Decision, ID: a.ID})
			case a.Status != 0 && a.Status != 503, a.Decision != "":
				t.Errorf("the last answer is %+v", a)
			}
		}
	}
	d.start(t)
	d.wantLogged(t, logged...)
}
