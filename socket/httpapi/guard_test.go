package httpapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/permd/permd/socket"
)

// TestRefused: each invalid request gets its status and an error in JSON, and is
// not decided. The same request without the fault is decided.
func TestRefused(t *testing.T) {
	s := serveLoopback(t, Options{Socket: socket.Options{MaxMessage: 64 << 10}})
	_, port, _ := net.SplitHostPort(s.address)
	post := func(headers ...string) string { return s.post(PathDecision, okInput, headers...) }
	long := `{"input":{"tool":{"name":"deploy"},"args":"` + strings.Repeat("x", 64<<10) + `"}}`
	for _, tt := range []struct {
		name, raw string
		status    int
	}{
		{"HTTP/1.0", strings.Replace(post(), "HTTP/1.1", "HTTP/1.0", 1), 505},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
		{"no host", post("Host", ""), 400},
		{"two hosts", post("X", "y\r\nHost: "+s.address), 400},
		{"another host", post("Host", "evil.example"), 403},
		{"another host with our port", post("Host", "evil.example:"+port), 403},
		{"our address as part of a host", post("Host", "127.0.0.1.evil.example:"+port), 403},
		{"another port", post("Host", "127.0.0.1:1"), 403},
		{"no port", post("Host", "localhost"), 403},
		{"the unix socket's host", post("Host", "permd:"+port), 403},
		{"another host in the request's line", strings.Replace(post(), " /v1", " http://evil.example/v1", 1), 403},
		{"a browser", post("Origin", "http://localhost:"+port), 403},
		{"a browser without an origin", post("Origin", "null"), 403},
		{"a preflight", s.request("OPTIONS", PathDecision, "", "Origin", "https://evil.example"), 403},
		{"no token", post("Authorization", ""), 401},
		{"another token", post("Authorization", "Bearer "+strings.Repeat("x", len(testToken))), 401},
		{"a part of the token", post("Authorization", "Bearer "+testToken[:10]), 401},
		{"more than the token", post("Authorization", "Bearer "+testToken+"x"), 401},
		{"an empty token", post("Authorization", "Bearer "), 401},
		{"the token by another scheme", post("Authorization", "Basic "+testToken), 401},
		{"the token alone", post("Authorization", testToken), 401},
		{"the token twice", post("X", "y\r\nAuthorization: Bearer "+testToken), 401},
		{"the token in the query", s.post(PathDecision+"?token="+testToken, okInput, "Authorization", ""), 401},
		{"no token for the health", s.request("GET", PathHealth, "", "Authorization", ""), 401},
		{"no token for the metrics", s.request("GET", pathMetrics, "", "Authorization", ""), 401},
		{"no token for a path that does not exist", s.request("GET", "/x", "", "Authorization", ""), 401},
		{"another path", s.post("/v1/data/permd", okInput), 404},
		{"a path with more", s.post(PathDecision+"/x", okInput), 404},
		{"a slash at the end", s.post(PathDecision+"/", okInput), 404},
		{"two slashes", s.post("/"+PathDecision, okInput), 404},
		{"a way back", s.post("/v1/x/../data/permd/decision", okInput), 404},
		{"escaped", s.post("/v1/data/permd%2Fdecision", okInput), 404},
		{"in other letters", s.post("/v1/DATA/permd/decision", okInput), 404},
		{"a query", s.post(PathDecision+"?pretty=true", okInput), 404},
		{"the old API", s.post("/v0/data/permd/decision", okInput), 404},
		{"the default policy", s.post("/", okInput), 404},
		{"a batch", s.post("/v1/batch/data/permd/decision", okInput), 404},
		{"no path", s.request("OPTIONS", "*", ""), 404},
		{"GET", s.request("GET", PathDecision, ""), 405},
		{"GET with an input", s.request("GET", PathDecision, okInput, "Content-Length", fmt.Sprint(len(okInput))), 405},
		{"PUT", strings.Replace(post(), "POST", "PUT", 1), 405},
		{"a method in small letters", strings.Replace(post(), "POST", "post", 1), 405},
		{"HEAD of the health", s.request("HEAD", PathHealth, ""), 405},
		{"POST of the metrics", s.post(pathMetrics, okInput), 405},
		{"the method in a header", s.request("GET", PathDecision, "", "X-HTTP-Method-Override", "POST"), 405},
		{"no type", post("Content-Type", ""), 415},
		{"a form", post("Content-Type", "application/x-www-form-urlencoded"), 415},
		{"text, which browsers may send", post("Content-Type", "text/plain"), 415},
		{"nearly the type", post("Content-Type", "application/json-patch+json"), 415},
		{"another charset", post("Content-Type", "application/json; charset=utf-16"), 415},
		{"two types", post("X", "y\r\nContent-Type: text/plain"), 415},
		{"compressed", post("Content-Encoding", "gzip"), 415},
		{"not compressed, it says", post("Content-Encoding", "identity"), 415},
		{"too long", s.post(PathDecision, long), 413},
		{"too long, it says", post("Content-Length", "99999999999"), 413},
		{"too long, in pieces", s.request("POST", PathDecision, fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(long), long),
			"Content-Type", "application/json", "Transfer-Encoding", "chunked"), 413},
		{"too long, in many pieces", s.request("POST", PathDecision, strings.Repeat("1000\r\n"+strings.Repeat(" ", 4096)+"\r\n", 17)+"0\r\n\r\n",
			"Content-Type", "application/json", "Transfer-Encoding", "chunked"), 413},
		{"another transfer encoding", post("Transfer-Encoding", "gzip"), 501},
		{"two lengths", post("X", "y\r\nContent-Length: 3"), 400},
		{"a length that is none", post("Content-Length", "+3"), 400},
		{"pieces that are none", s.request("POST", PathDecision, "zz\r\n", "Content-Type", "application/json", "Transfer-Encoding", "chunked"), 400},
		{"a header that is none", post("X", "y\r\nno header"), 400},
		{"a long header", post("X", strings.Repeat("y", 64<<10)), 431},
		{"many headers", post("X", "y"+strings.Repeat("\r\nX: y", 10000)), 431},
		{"no body", s.post(PathDecision, ""), 400},
		{"a length that is too short", post("Content-Length", "20"), 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := len(s.requests())
			got := s.send(t, tt.raw)
			if got.status != tt.status {
				t.Errorf("status %d, want %d: %s", got.status, tt.status, got.body)
			}
			if n := len(s.requests()); n != before {
				t.Errorf("%d calls were decided", n-before)
			}
			if strings.Contains(got.body, `"result"`) || strings.Contains(got.body, testToken) {
				t.Errorf("the answer is %s", got.body)
			}
			// What net/http refuses by itself is text; an answer to HEAD has no body.
			if got.header.Get("Content-Type") == "application/json" && !strings.HasPrefix(tt.raw, "HEAD") {
				var e struct{ Code, Message string }
				if err := json.Unmarshal([]byte(got.body), &e); err != nil || e.Code == "" || e.Message == "" {
					t.Errorf("the error is %s", got.body)
				}
			} else if got.status == 401 || got.status == 403 || got.status == 404 {
				t.Errorf("the error is no JSON: %s", got.body)
			}
		})
	}
	for name, raw := range map[string]string{
		"as it should be": post(), "localhost": post("Host", "localhost:"+port), "a charset": post("Content-Type", "application/json; charset=UTF-8"),
		"the scheme in other letters": post("Authorization", "bEARER "+testToken),
		"in pieces": s.request("POST", PathDecision, fmt.Sprintf("5\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", okInput[:5], len(okInput)-5, okInput[5:]),
			"Content-Type", "application/json", "Transfer-Encoding", "chunked"),
		"a full body": s.post(PathDecision, okInput+strings.Repeat(" ", 64<<10-len(okInput))),
	} {
		if got := s.send(t, raw); got.status != 200 || !strings.Contains(got.body, `"decision":"allow"`) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if log := s.log.String(); strings.Contains(log, testToken) || strings.Contains(log, "staging") {
		t.Errorf("the log holds what it must not:\n%s", log)
	}
}

// TestUnixHosts: a program that speaks HTTP over a Unix socket names any host;
// one that forwards a browser names its own.
func TestUnixHosts(t *testing.T) {
	s := serveUnix(t, Options{})
	for host, want := range map[string]int{
		"localhost": 200, "permd": 200, "127.0.0.1": 200, "[::1]": 200, "localhost:80": 200, "[::1]:8181": 200,
		"evil.example": 403, "localhost.evil.example": 403, "LOCALHOST.": 403, "10.0.0.1": 403,
	} {
		if got := s.send(t, s.post(PathDecision, okInput, "Host", host)); got.status != want {
			t.Errorf("%s: status %d, want %d", host, got.status, want)
		}
	}
	if got := s.send(t, s.post(PathDecision, okInput, "Origin", "https://evil.example")); got.status != 403 {
		t.Errorf("a browser: %d", got.status)
	}
}

// TestFollowing: requests on one connection are answered in order, even if all were
// sent before the first answer, and a refused one does not affect later ones.
func TestFollowing(t *testing.T) {
	s := serveUnix(t, Options{})
	c := s.dial(t)
	plan := []struct {
		raw    string
		status int
	}{
		{s.post(PathDecision, okInput), 200},
		{s.post("/x", okInput), 404},
		{s.post(PathDecision, `{"input":`), 400},
		{s.request("GET", PathHealth, ""), 200},
		{s.post(pathCalls, okCalls), 200},
	}
	go func() {
		for _, p := range plan {
			_, _ = io.WriteString(c, p.raw)
		}
	}()
	answers := bufio.NewReader(c)
	for i, p := range plan {
		if got := readAnswer(t, answers); got.status != p.status {
			t.Fatalf("answer %d: %+v, want status %d", i, got, p.status)
		}
	}
	if n, ok := s.statuses.Load(PathDecision + " 200"); !ok || *n.(*int) != 1 {
		t.Error("the requests were not counted")
	}
}
