package mcp

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/socket/client"
)

// peers are a client and a server that do nothing by themselves. They have the other ends of
// the gateway's pipes, whose writes can be interrupted as those of permd mcp can.
type peers struct {
	toClient, fromClient, toServer, fromServer net.Conn
	ended                                      chan error
}

// runBetween runs a gateway on the clock of a bubble. Its daemon never answers.
func runBetween(t *testing.T) *peers {
	t.Helper()
	var p peers
	var gateway Peers
	p.fromClient, gateway.ClientIn = net.Pipe()
	p.toClient, gateway.ClientOut = net.Pipe()
	p.toServer, gateway.ServerIn = net.Pipe()
	p.fromServer, gateway.ServerOut = net.Pipe()
	p.ended = make(chan error, 1)
	dir := t.TempDir()
	go func() {
		p.ended <- Run(t.Context(), gateway, Config{
			Server: "s", Cwd: "/", Pins: OpenPins(dir, "s"), Say: func(string) {},
			Dial: func(ctx context.Context) (*client.Client, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			},
		})
	}()
	t.Cleanup(func() {
		for _, c := range []net.Conn{p.toClient, p.fromClient, p.toServer, p.fromServer} {
			c.Close()
		}
	})
	return &p
}

func (p *peers) send(t *testing.T, lines ...string) {
	t.Helper()
	if _, err := io.WriteString(p.fromClient, strings.Join(lines, "\n")+"\n"); err != nil {
		t.Fatal(err)
	}
}

// discardAll reads until the end.
func discardAll(r io.Reader) { _, _ = io.Copy(io.Discard, r) }

// TestSlowServer: a server that does not read its input, or does not end with it, does not
// keep the gateway, and nobody waits for ever.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for name, tt := range map[string]struct {
		play func(t *testing.T, p *peers)
		want string
		took time.Duration
	}{
		"does not end": {func(t *testing.T, p *peers) {
			go discardAll(p.toServer)
			p.fromClient.Close()
		}, "the server has not ended", EndTimeout},
		"says something when its client is gone, and ends": {func(t *testing.T, p *peers) {
			p.send(t, call("1", "yes"))
			p.toClient.Close()
			p.fromClient.Close()
			if _, err := io.Copy(io.Discard, p.toServer); err != nil {
				t.Error(err)
			}
			for range 2 {
				if _, err := io.WriteString(p.fromServer, `{"jsonrpc":"2.0","method":"notifications/message"}`+"\n"); err != nil {
					t.Error(err)
				}
			}
			p.fromServer.Close()
		}, "", 0},
		"does not read, and its client has ended": {func(t *testing.T, p *peers) {
			p.send(t, ping)
			p.fromClient.Close()
		}, "passing on a message", writeTimeout},
		"does not read what it is asked for a call": {func(t *testing.T, p *peers) {
			p.send(t, call("1", "yes"))
		}, "passing on a message", writeTimeout},
		"ends its output alone": {func(t *testing.T, p *peers) {
			p.fromServer.Close()
			if _, err := io.Copy(io.Discard, p.toServer); err != nil { // until its input is closed
				t.Error(err)
			}
		}, "", 0},
		"does not read, and ends": {func(t *testing.T, p *peers) {
			p.send(t, call("1", "yes"), call("2", "yes"))
			synctest.Wait()
			p.fromServer.Close()
		}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := runBetween(t)
				start := time.Now()
				tt.play(t, p)
				err := <-p.ended
				switch {
				case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
					t.Errorf("%v, want %q", err, tt.want)
				case time.Since(start) > tt.took+lastTimeout:
					t.Errorf("after %v", time.Since(start))
				}
			})
		})
	}
}

// TestSlowClient tests that the gateway ends although its client does not read.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		play func(t *testing.T, p *peers)
		want string
	}{
		"and ends": {func(t *testing.T, p *peers) {
			p.send(t, call("1", "yes"))
			synctest.Wait()
			go discardAll(p.toServer)
			p.fromClient.Close()
			p.fromServer.Close()
		}, ""},
		"does not read answers": {func(t *testing.T, p *peers) {
			p.send(t, "nonsense")
		}, "passing on a message"},
		"does not read the server's messages": {func(t *testing.T, p *peers) {
			if _, err := io.WriteString(p.fromServer, `{"jsonrpc":"2.0","method":"notifications/message"}`+"\n"); err != nil {
				t.Fatal(err)
			}
		}, "passing on a message"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := runBetween(t)
				tt.play(t, p)
				if err := <-p.ended; tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("%v, want %q", err, tt.want)
				}
			})
		})
	}
}

// TestSilentDaemon: calls wait a minute for a daemon that does not answer, all of them the
// same one, and can be withdrawn meanwhile.
func TestSilentDaemon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := runBetween(t)
		said := make(chan string, 16)
		go func() {
			defer close(said)
			for r := bufio.NewReader(p.toClient); ; {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				said <- line
			}
		}()
		go discardAll(p.toServer)
		p.send(t, `{"jsonrpc":"2.0","id":0,"method":"tools/list"}`)
		synctest.Wait()
		if _, err := io.WriteString(p.fromServer, `{"jsonrpc":"2.0","id":0,"result":{"tools":[{"name":"yes"}]}}`+"\n"); err != nil {
			t.Fatal(err)
		}
		<-said
		start := time.Now()
		for _, id := range []string{"1", "2", "3", "4"} {
			p.send(t, call(id, "yes"))
		}
		synctest.Wait()
		p.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
		synctest.Wait()
		p.send(t, `{"jsonrpc":"2.0","id":3,"method":"ping"}`) // its id is free again
		for range 3 {
			if line := <-said; !strings.Contains(line, client.ErrConnectTimeout.Error()) {
				t.Errorf("the client received %s", line)
			}
		}
		if took := time.Since(start); took > connectTimeout {
			t.Errorf("after %v", took)
		}
		p.fromServer.Close()
		if err := <-p.ended; err != nil {
			t.Error(err)
		}
	})
}

// torn writes a part of the first message.
type torn struct{ got strings.Builder }

func (w *torn) Write(b []byte) (int, error) {
	n := len(b)
	if w.got.Len() == 0 {
		n = len(b) / 2
	}
	w.got.Write(b[:n])
	if n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// TestTorn: after a part of a message there is no other one.
func TestTorn(t *testing.T) {
	t.Parallel()
	var to torn
	w := newWriter(&to, func(error) {})
	if w.write([]byte("aaaa\n")) == nil || w.write([]byte("bbbb\n")) == nil || strings.Contains(to.got.String(), "b") {
		t.Errorf("the peer received %q", to.got.String())
	}
}
