package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAAPUnshown has a server that runs what it is permitted, and sends no result of it: the
// client sees each such call once, with a text that says so, and the server runs it once.
func TestAAPUnshown(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts the gateway once more; TestAAPGateway is the quick one")
	}
	t.Parallel()
	d := aapDaemon(t)
	const text = `"(permd allowed this call; the server has not shown its result)"`
	for _, stream := range []string{"message", "none"} {
		for name, row := range map[string]struct {
			script  []aapStep
			results map[string]string
			ran     []string
		}{
			"alone": {[]aapStep{calls(`a1 deploy ` + staging), says("done")}, map[string]string{"a1": text}, []string{`deploy ` + staging}},
			"and another stop": {
				[]aapStep{calls(`a1 deploy ` + staging), calls(`b1 deploy `+staging, `b2 deploy `+production), says("done")},
				map[string]string{"a1": text, "b1": text, "b2": `"Tool call denied: production is frozen, use staging"`},
				[]string{`deploy ` + staging, `deploy ` + staging},
			},
			"and a call of the client": {
				[]aapStep{calls(`a1 deploy ` + staging), calls(`b1 read_note {"n":1}`), says("done")},
				map[string]string{"a1": text}, []string{`deploy ` + staging},
			},
		} {
			t.Run(stream+" "+name, func(t *testing.T) {
				s := newAAPServer(t, row.script...)
				s.unshown = true
				url, key := d.startGateway(t, s.URL)
				c := newPlainAAP(t, url, key, stream)
				got := map[string]string{}
				seen := c.post(aapUser("go"))
				for {
					for id, result := range seen.results {
						if got[id] != "" {
							t.Errorf("%s has the results %s and %s", id, got[id], result)
						}
						got[id] = result
					}
					messages := c.answer(seen)
					if len(messages) == 0 {
						break
					}
					seen = c.post(messages)
				}
				if seen.stop != "end_turn" {
					t.Errorf("it has stopped with %s", seen.stop)
				}
				want(t, "the client sees", row.results, got)
				want(t, "the server ran", row.ran, s.executed)
				want(t, "the person is asked about", []string(nil), c.asked)
			})
		}
	}
}

// TestAAPUnixSocket has a conversation by way of a gateway on a Unix socket, which has no key of
// its own: what the client sends as Authorization reaches the server, and nobody needs a token.
func TestAAPUnixSocket(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it is a conversation over another transport; TestAAPConversation is the quick one")
	}
	t.Parallel()
	d := aapDaemon(t)
	s := newAAPServer(t, calls(aapTwo...), says("done"))
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "aap.sock")
	cmd := d.command("aap", "--upstream", s.URL, "--listen", "unix:"+path)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	lines := bufio.NewReader(said)
	line, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(line, "unix:"+path) {
		t.Fatalf("%q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	c := newPlainAAPOver(t, "http://localhost", aapKey, "message", &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	})
	c.open()
	c.say("go")
	want(t, "the client ran", []string{"a1"}, c.ran)
	want(t, "the server ran", []string{`deploy ` + staging}, s.executed)
	c.key = "another"
	if status, text := c.do("GET", "/meta", nil); status != http.StatusUnauthorized {
		t.Errorf("with another key: %d %s", status, text)
	}
}
