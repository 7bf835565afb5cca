package main

import (
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/admin"
)

// asksOwn is a turn with a call of the client that nobody has allowed.
var asksOwn = []string{`a1 show_diff {"n":1}`, `a2 deploy ` + staging}

// aapAskedGone: a client goes away while its call waits for a person. The person is asked again
// when it comes back, and their answer counts once.
func aapAskedGone(t *testing.T) {
	d := aapDaemon(t)
	s := newFaultyAAP(t, calls(asksOwn...), says("done"))
	gateway, key := d.startGateway(t, s.front.URL, "--wait", "60s")
	for _, answeredBefore := range []bool{false, true} {
		s.executed = nil
		c := newPlainAAP(t, gateway, key, "message")
		at, _ := url.Parse(c.url)
		conn, err := net.Dial("tcp", at.Host)
		if err != nil {
			t.Fatal(err)
		}
		body := `{"messages":[{"role":"user","content":"go"}],"stream":"message"}`
		if _, err := conn.Write([]byte("POST /sessions/" + c.session + "/turns HTTP/1.1\r\nHost: " + at.Host + "\r\nAuthorization: Bearer " + key +
			"\r\nContent-Type: application/json\r\nContent-Length: 64\r\n\r\n" + body)); err != nil || len(body) != 64 {
			t.Fatal(err, len(body))
		}
		id := d.question(t)
		if answeredBefore {
			d.permd(t, "allow", id)
			conn.Close()
		} else {
			conn.Close()
			eventually.Holds(t, "nobody waits", func() bool {
				var list admin.Questions
				return d.manage(t, admin.MethodQuestionsList, struct{}{}, &list) == nil && len(list.Questions) == 0
			})
			done := make(chan struct{})
			go func() {
				defer close(done)
				d.permd(t, "allow", d.question(t))
			}()
			c.past() // waits
			<-done
		}
		c.resume()
		want(t, "the client ran", []string{"a1"}, c.ran)
		want(t, "the server ran", []string{`deploy ` + staging}, s.executed)
	}
}

// aapAskedPipelined: a client that sends more while its call waits for a person, and goes away.
// Nobody is asked for it any more.
func aapAskedPipelined(t *testing.T) {
	d := aapDaemon(t)
	s := newFaultyAAP(t, calls(asksOwn...), says("done"))
	gateway, key := d.startGateway(t, s.front.URL, "--wait", "1h")
	for _, more := range []string{"\r\n", "G", "GET /meta HTTP/1.1\r\n", strings.Repeat("x", 9000)} {
		s.executed = nil
		c := newPlainAAP(t, gateway, key, "message")
		at, _ := url.Parse(c.url)
		conn, err := net.Dial("tcp", at.Host)
		if err != nil {
			t.Fatal(err)
		}
		const body = `{"messages":[{"role":"user","content":"go"}],"stream":"message"}`
		if _, err := conn.Write([]byte("POST /sessions/" + c.session + "/turns HTTP/1.1\r\nHost: " + at.Host + "\r\nAuthorization: Bearer " + key +
			"\r\nContent-Type: application/json\r\nContent-Length: 64\r\n\r\n" + body)); err != nil {
			t.Fatal(err)
		}
		id := d.question(t)
		if _, err := conn.Write([]byte(more)); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		eventually.Holds(t, "nobody waits", func() bool {
			var list admin.Questions
			return d.manage(t, admin.MethodQuestionsList, struct{}{}, &list) == nil && len(list.Questions) == 0
		})
		if out, err := d.command("allow", id).CombinedOutput(); err == nil {
			t.Errorf("permd allow for a client that is gone: %s", out)
		}
		if len(s.executed) > 0 {
			t.Errorf("the server ran %q", s.executed)
		}
	}
	c := newPlainAAP(t, gateway, key, "message")
	for range 200 { // one request after the other on one connection
		if status, text := c.do("GET", "/sessions/"+c.session+"/history?type=full", nil); status != 200 {
			t.Fatalf("a good request: %d %s", status, text)
		}
	}
}

// aapDaemonGone: without a daemon no call runs, and with a new one the session goes on.
func aapDaemonGone(t *testing.T) {
	d := aapDaemon(t)
	s := newFaultyAAP(t, calls(aapTwo...), says("done"))
	gateway, key := d.startGateway(t, s.front.URL)
	c := newPlainAAP(t, gateway, key, "message")
	messages := c.answer(c.post(aapUser("go")))
	d.kill()
	code, text := c.sends(messages)
	c.leaksNothing("answers without a daemon", code, text)
	other := newPlainAAP(t, gateway, key, "message")
	code, text = other.sends(aapUser("go"))
	other.leaksNothing("a turn without a daemon", code, text)
	if code, text = other.do("GET", "/sessions/"+other.session+"/history?type=full", nil); code == 200 {
		t.Errorf("a history without a daemon: %s", text)
	}
	want(t, "the server ran", []string(nil), s.executed)
	d.start(t)
	if s := c.post(messages); s.stop != "end_turn" {
		t.Errorf("with a daemon: %+v", s)
	}
	other.resume()
	want(t, "the server ran", []string{`deploy ` + staging, `deploy ` + staging}, s.executed)
}

// aapNobody: a call that nobody allows in time is denied, in the protocol's words.
func aapNobody(t *testing.T) {
	d := aapDaemon(t)
	s := newFaultyAAP(t, calls(asksOwn...), calls(`b1 page {"who":"ana"}`), says("done"))
	gateway, key := d.startGateway(t, s.front.URL, "--wait", "1s", "--no-client-answers")
	c := newPlainAAP(t, gateway, key, "message")
	c.say("go")
	want(t, "the client ran", []string(nil), c.ran)
	want(t, "asked", []string(nil), c.asked)
	told := s.told(c.session)
	if len(told) != 3 || !strings.HasPrefix(told[0], `a1 "Tool call denied: a person must allow this call, and nobody did in time`) ||
		!strings.HasPrefix(told[2], `b1 "Tool call denied: a person must allow this call, and nobody did in time`) {
		t.Errorf("the model was told %q", told)
	}
	want(t, "the server ran", []string{`deploy ` + staging}, s.executed)
}
