package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
)

// rawHTTP is a daemon on a loopback address, and a request that it allows, as bytes.
type rawHTTP struct {
	d       *testDaemon
	c       *httpClient
	host    string
	path    string
	project string
	body    string
}

func newRawHTTP(t *testing.T, settings string) *rawHTTP {
	t.Helper()
	d := newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "permd.toml"), settings+"[http]\nlisten = \"127.0.0.1:0\"\n")
	d.start(t)
	r := &rawHTTP{d: d, c: d.http(t), path: "/v1/data/permd/decision", project: d.project(t, nil)}
	r.host = strings.TrimPrefix(r.c.url, "http://")
	r.body = encoded(t, map[string]any{"input": map[string]any{
		"args": map[string]any{"command": probe}, "tool": map[string]any{"name": "Bash"}, "session": httpSession(r.project),
	}})
	return r
}

// head returns the beginning of a request, without the line that ends its header.
func (r *rawHTTP) head(more ...string) string {
	return "POST " + r.path + " HTTP/1.1\r\nHost: " + r.host + "\r\nAuthorization: Bearer " + r.c.token +
		"\r\nContent-Type: application/json\r\n" + strings.Join(more, "")
}

func (r *rawHTTP) sized(body string) string {
	return r.head(fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))) + body
}

// chunked returns the request with its body in chunks of so many bytes.
func (r *rawHTTP) chunked(body string, size int) string {
	var b strings.Builder
	b.WriteString(r.head("Transfer-Encoding: chunked\r\n\r\n"))
	for body != "" {
		n := min(size, len(body))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return b.String() + "0\r\n\r\n"
}

func (r *rawHTTP) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", r.host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// exchange sends bytes, ends its side of the connection after so many answers, and returns the
// statuses and bodies of all answers until the daemon closes it.
func (r *rawHTTP) exchange(t *testing.T, text string, answers int) (statuses []int, bodies string) {
	t.Helper()
	c := r.dial(t)
	if err := c.SetDeadline(time.Now().Add(eventually.Limit)); err != nil {
		t.Fatal(err)
	}
	sent, answered := make(chan struct{}), make(chan struct{})
	defer func() { <-sent }()
	go func() {
		defer close(sent)
		_, _ = io.WriteString(c, text)
		<-answered
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	in := bufio.NewReader(c)
	for n := 0; ; n++ {
		if n == answers {
			close(answered)
		}
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			if n < answers {
				close(answered)
			}
			return statuses, bodies
		}
		if res.StatusCode == http.StatusContinue {
			n--
			continue
		}
		b, _ := io.ReadAll(res.Body)
		res.Body.Close()
		statuses, bodies = append(statuses, res.StatusCode), bodies+string(b)
	}
}

// logged returns how many decisions were logged since the last call.
func (r *rawHTTP) logged(t *testing.T, before *int) int {
	t.Helper()
	all := len(r.d.records(t))
	n := all - *before
	*before = all
	return n
}

// httpBrokenFraming has requests that end early at any byte, in both framings, and others whose
// framing or header is not as it must be: each is an error or one complete decision, and the log
// has the decisions that were answered and no others.
func httpBrokenFraming(t *testing.T) {
	r := newRawHTTP(t, "")
	wantHTTPAllowed(t, r.c, r.project)
	before := 0
	r.logged(t, &before)
	good := r.sized(r.body)
	allows := func(text string) int { return strings.Count(text, `"decision":"allow"`) }
	for name, whole := range map[string]string{"sized": good, "chunked": r.chunked(r.body, 50)} {
		// The body is cut at each byte, the header here and there.
		for n := 0; n < len(whole); n++ {
			if n < strings.Index(whole, "\r\n\r\n") && n%17 != 0 {
				continue
			}
			statuses, bodies := r.exchange(t, whole[:n], 0)
			if allows(bodies) > 0 || len(statuses) > 1 || len(statuses) == 1 && statuses[0] != 400 {
				t.Fatalf("%s, cut at byte %d of %d: %v %s", name, n, len(whole), statuses, bodies)
			}
		}
		if n := r.logged(t, &before); n != 0 {
			t.Errorf("%s, cut: %d decisions were logged", name, n)
		}
		statuses, bodies := r.exchange(t, whole, 1)
		if n := r.logged(t, &before); len(statuses) != 1 || statuses[0] != 200 || allows(bodies) != 1 || n != 1 {
			t.Errorf("%s: %v %s, %d logged", name, statuses, bodies, n)
		}
	}
	length := fmt.Sprintf("Content-Length: %d\r\n", len(r.body))
	big := strings.Repeat(" ", 10<<20)
	swap := func(old, with string) string { return strings.Replace(good, old, with, 1) }
	alsoSized := func(whole, more string) string {
		return strings.Replace(whole, "Transfer-Encoding:", more+"Transfer-Encoding:", 1)
	}
	host := "Host: " + r.host + "\r\n"
	for name, tt := range map[string]struct {
		text   string
		allows int // how many decisions there may be
		status int // of the first answer; 0 for none
	}{
		"a good one":                  {good, 1, 200},
		"two behind each other":       {good + good, 2, 200},
		"five, in both framings":      {good + r.chunked(r.body, 7) + good + r.chunked(r.body, 1<<20) + good, 5, 200},
		"a good one behind a bad one": {r.sized("{}") + good, 1, 400},
		"a bad one behind a good one": {good + "POST\r\n\r\n", 1, 200},
		"a longer body than it says":  {swap(length, fmt.Sprintf("Content-Length: %d\r\n", len(r.body)-1)), 0, 400},
		"a shorter body than it says": {swap(length, fmt.Sprintf("Content-Length: %d\r\n", len(r.body)+1)), 0, 400},
		"two lengths":                 {swap(length, length+"Content-Length: 2\r\n"), 0, 400},
		"the same length twice":       {swap(length, length+length), 1, 200},
		"a list of lengths":           {swap(length, fmt.Sprintf("Content-Length: %d, %[1]d\r\n", len(r.body))), 0, 400},
		"a negative length":           {swap(length, "Content-Length: -1\r\n"), 0, 400},
		"a length with a sign":        {swap(length, fmt.Sprintf("Content-Length: +%d\r\n", len(r.body))), 0, 400},
		"a length beyond all":         {swap(length, "Content-Length: 99999999999999999999\r\n"), 0, 400},
		"no length":                   {swap(length, ""), 0, 400},
		"another coding":              {swap(length, "Transfer-Encoding: gzip\r\n"), 0, 501},
		"two codings":                 {swap(length, "Transfer-Encoding: gzip, chunked\r\n"), 0, 501},
		"chunked, spelled otherwise":  {swap(length, "Transfer-Encoding: chunked\v\r\n"), 0, 400},
		// The chunks determine the body; none of it is parsed as another request.
		"a length and chunks":             {alsoSized(r.chunked(r.body, 50), length), 1, 200},
		"chunks and a length":             {strings.Replace(r.chunked(r.body, 50), "chunked\r\n", "chunked\r\n"+length, 1), 1, 200},
		"a short length and chunks":       {alsoSized(r.chunked(r.body, 50), "Content-Length: 5\r\n") + good, 2, 200},
		"a long length and chunks":        {alsoSized(r.chunked(r.body, 50), fmt.Sprintf("Content-Length: %d\r\n", len(good)+len(r.body)+50)) + good, 2, 200},
		"a request within the chunks":     {alsoSized(r.chunked("{}"+good, 1<<20), "Content-Length: 2\r\n"), 0, 400},
		"a length and a bad chunk":        {r.head("Transfer-Encoding: chunked\r\n"+length+"\r\n") + r.body + "\r\n", 0, 400},
		"a bad size of a chunk":           {r.head("Transfer-Encoding: chunked\r\n\r\n") + "zz\r\n" + r.body, 0, 400},
		"a size of a chunk beyond all":    {r.head("Transfer-Encoding: chunked\r\n\r\n") + "fffffffffffffffff\r\n" + r.body, 0, 400},
		"a negative size of a chunk":      {r.head("Transfer-Encoding: chunked\r\n\r\n") + "-1\r\n" + r.body, 0, 400},
		"a chunk without its end":         {r.head("Transfer-Encoding: chunked\r\n\r\n") + fmt.Sprintf("%x\r\n%sxx0\r\n\r\n", len(r.body), r.body), 0, 400},
		"no last chunk":                   {r.head("Transfer-Encoding: chunked\r\n\r\n") + fmt.Sprintf("%x\r\n%s\r\n", len(r.body), r.body), 0, 400},
		"10 MiB":                          {r.sized(r.body[:len(r.body)-1] + big + "}"), 0, 413},
		"10 MiB in chunks":                {r.chunked(r.body[:len(r.body)-1]+big+"}", 64<<10), 0, 413},
		"10 MiB of header":                {r.head("X: "+big+"\r\n", length, "\r\n") + r.body, 0, 431},
		"many lines of header":            {r.head(strings.Repeat("X: y\r\n", 1<<20), length, "\r\n") + r.body, 0, 431},
		"no host":                         {swap(host, ""), 0, 400},
		"two hosts":                       {swap(host, host+"Host: evil.example\r\n"), 0, 400},
		"the same host twice":             {swap(host, host+host), 0, 400},
		"another host":                    {swap(host, "Host: evil.example\r\n"), 0, 403},
		"two tokens":                      {swap(length, "Authorization: Bearer x\r\n"+length), 0, 401},
		"the same token twice":            {swap(length, "Authorization: Bearer "+r.c.token+"\r\n"+length), 0, 401},
		"a folded header":                 {swap(length, "X: y\r\n z\r\n"+length), 1, 200},
		"a folded token":                  {swap("Bearer ", "Bearer\r\n "), 1, 200},
		"a blank before the colon":        {swap("Content-Length:", "Content-Length :"), 0, 400},
		"an absolute target":              {swap("POST /v1", "POST http://"+r.host+"/v1"), 0, 404},
		"an absolute target of others":    {swap("POST /v1", "POST http://evil.example/v1"), 0, 403},
		"a target with a query":           {swap("permd/decision", "permd/decision?pretty"), 0, 404},
		"a target to clean":               {swap("/v1/data", "/v1/../v1/data"), 0, 404},
		"CONNECT":                         {swap("POST /v1/data/permd/decision", "CONNECT "+r.host), 0, 404},
		"OPTIONS *":                       {swap("POST /v1/data/permd/decision", "OPTIONS *"), 0, 404},
		"HTTP/2":                          {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\x00", 64), 0, 505},
		"HTTP/1.0":                        {swap("HTTP/1.1", "HTTP/1.0"), 0, 505},
		"HTTP/0.9":                        {swap(" HTTP/1.1", ""), 0, 400},
		"an upgrade":                      {swap(length, "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"+length), 1, 200},
		"100-continue":                    {swap(length, "Expect: 100-continue\r\n"+length), 1, 200},
		"another expectation":             {swap(length, "Expect: 200-maybe\r\n"+length), 0, 417},
		"100-continue, too long":          {r.head("Expect: 100-continue\r\nContent-Length: 10485760\r\n\r\n"), 0, 413},
		"100-continue, without the token": {strings.Replace(r.head("Expect: 100-continue\r\n"+length+"\r\n"), r.c.token, "x", 1), 0, 401},
		"TLS":                             {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 512), 0, 400},
		"NUL":                             {strings.Repeat("\x00", 4096), 0, 0},
		"a message of the socket":         {`{"jsonrpc":"2.0","id":1,"method":"permd/decide","params":{}}` + "\n", 0, 400},
	} {
		answers := max(1, tt.allows)
		switch name {
		case "a good one behind a bad one", "a bad one behind a good one":
			answers = 2
		case "a shorter body than it says", "no last chunk", "NUL", "TLS":
			answers = 0 // the daemon waits for more
		}
		statuses, bodies := r.exchange(t, tt.text, answers)
		first := 0
		if len(statuses) > 0 {
			first = statuses[0]
		}
		n := r.logged(t, &before)
		if first != tt.status || allows(bodies) != tt.allows || n != tt.allows {
			t.Errorf("%s: statuses %v, want %d first; %d allows and %d logged, want %d: %.300s", name, statuses, tt.status, allows(bodies), n, tt.allows, bodies)
		}
	}
	wantHTTPAllowed(t, r.c, r.project)
}

// httpBrokenMethods has bodies of the other protocols that are too long, or end early: none is
// decided.
func httpBrokenMethods(t *testing.T) {
	r := newRawHTTP(t, "")
	wantHTTPAllowed(t, r.c, r.project)
	session := `{"session":` + encoded(t, httpSession(r.project)) + `,`
	before := 0
	r.logged(t, &before)
	for path, body := range map[string]string{
		"/v1/otc/call":        session + `"request":{"tool_id":"Clock.Now","call_id":"c"}}`,
		"/v1/rap/invoke":      session + `"operation":"move","arguments":{},"id":"k","group_id":"g"}`,
		"/v1/aap/permissions": session + `"agent":{"name":"helper"},"turn":{"events":[{"event":"turn_start"},{"event":"tool_call","toolCallId":"c","name":"deploy","input":{}},{"event":"turn_stop","stopReason":"tool_use"}]}}`,
	} {
		r.path = path
		long := body[:len(body)-1] + strings.Repeat(" ", 10<<20) + "}"
		for name, text := range map[string]string{"10 MiB": r.sized(long), "10 MiB in chunks": r.chunked(long, 64<<10)} {
			if statuses, bodies := r.exchange(t, text, 1); len(statuses) != 1 || statuses[0] != 413 || !strings.Contains(bodies, `"too_large"`) {
				t.Errorf("%s, %s: %v %s", path, name, statuses, bodies)
			}
		}
		for name, whole := range map[string]string{"sized": r.sized(body), "chunked": r.chunked(body, 50)} {
			cuts := make([]int, len(whole))
			for n := range cuts {
				cuts[n] = n
			}
			for _, n := range testload.Sample(t, 150, cuts) {
				statuses, bodies := r.exchange(t, whole[:n], 0)
				if strings.Contains(bodies, "outcome") || len(statuses) > 1 || len(statuses) == 1 && statuses[0] != 400 {
					t.Fatalf("%s, %s, cut at byte %d of %d: %v %s", path, name, n, len(whole), statuses, bodies)
				}
			}
			if n := r.logged(t, &before); n != 0 {
				t.Errorf("%s, %s, cut: %d decisions were logged", path, name, n)
			}
			statuses, bodies := r.exchange(t, whole, 1)
			if n := r.logged(t, &before); len(statuses) != 1 || statuses[0] != 200 || !strings.Contains(bodies, `"outcome":"ask"`) || n != 1 {
				t.Errorf("%s, %s: %v %s, %d logged", path, name, statuses, bodies, n)
			}
		}
	}
	wantHTTPAllowed(t, r.c, r.project)
}

// httpStrangersHold: connections without the token, that send nothing, half a request or one byte
// after the other, hold nobody up who has it, however many there are.
func httpStrangersHold(t *testing.T) {
	r := newRawHTTP(t, "[limits]\nconnections = 4\n")
	good := r.sized(r.body)
	served := func() {
		t.Helper()
		// A connection counts until the daemon has seen that it was closed.
		eventually.Holds(t, "who has the token is served", func() bool { return r.c.shell(t, r.project, probe).Decision == "allow" })
	}
	for _, part := range []string{"", "POST", r.head()[:40], strings.Replace(good[:len(good)-1], r.c.token, "x", 1)} {
		for range 40 {
			if _, err := io.WriteString(r.dial(t), part); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			served()
			r.c.client.CloseIdleConnections()
		}
	}
	// Who has it is held up by nobody but themselves.
	slow := make([]net.Conn, 3)
	for i := range slow {
		slow[i] = r.dial(t)
		if _, err := io.WriteString(slow[i], r.chunked(r.body, 1)[:len(r.head())+200]); err != nil {
			t.Fatal(err)
		}
	}
	served()
	for _, c := range slow {
		c.Close()
	}
	served()
}

// httpGoneAtAnyByte: peers that send a whole request and go away after any number of bytes of its
// answer. Each is decided at most once, and others are served.
func httpGoneAtAnyByte(t *testing.T) {
	r := newRawHTTP(t, "")
	_, whole := r.exchange(t, r.sized(r.body), 1)
	before, tries := 0, 0
	eventually.Holds(t, "the first one is logged", func() bool { return r.logged(t, &before) == 1 || before > 0 })
	for n := 0; n < len(whole)+200; n += 7 {
		c := r.dial(t)
		if _, err := io.WriteString(c, r.sized(r.body)); err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 { // it may not even have been read
			_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)) // the answer may be shorter
			_, _ = io.CopyN(io.Discard, c, int64(n))
		}
		if n%4 == 0 {
			_ = c.(*net.TCPConn).SetLinger(0) // a reset
		}
		c.Close()
		tries++
	}
	wantHTTPAllowed(t, r.c, r.project)
	if n := len(r.d.records(t)) - before; n > tries+1 {
		t.Errorf("%d decisions were logged of %d requests", n, tries+1)
	}
}
