package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/client"
)

// fakePermd decides each call by its tool's name: those that begin with yes are allowed, with
// ask a person is asked, all others are denied. It asks about a tool that has changed.
func fakePermd(t testing.TB) func(context.Context) (*client.Client, error) {
	t.Helper()
	return fakePermdAs(t, func(name string, changed bool) string {
		switch {
		case strings.HasPrefix(name, "yes") && !changed:
			return "allow"
		case strings.HasPrefix(name, "yes"), strings.HasPrefix(name, "ask"):
			return "ask"
		}
		return "deny"
	})
}

// fakePermdAs decides calls as verdict does.
func fakePermdAs(t testing.TB, verdict func(name string, changed bool) string) func(context.Context) (*client.Client, error) {
	t.Helper()
	dir, err := os.MkdirTemp("", "m")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go servePermd(c, verdict)
		}
	}()
	return func(ctx context.Context) (*client.Client, error) {
		return client.Dial(ctx, l.Addr().String(), client.Options{})
	}
}

func servePermd(c net.Conn, verdict func(name string, changed bool) string) {
	defer c.Close()
	in := bufio.NewScanner(c)
	in.Buffer(nil, 4<<20)
	for n := 0; in.Scan(); n++ {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Tools []struct{ Name string }
				Calls []struct {
					Tool struct {
						Name    string
						Changed bool
					}
				}
			}
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			return
		}
		result := `{"protocol":1}`
		switch m.Method {
		case "permd/decide":
			tool := m.Params.Calls[0].Tool
			result = fmt.Sprintf(`{"decisions":[{"decisionId":"d%d","callId":"1","verdict":%q,"reason":"so it is"}]}`, n, verdict(tool.Name, tool.Changed))
		case "permd/denied":
			denied := make([]bool, len(m.Params.Tools))
			for i, t := range m.Params.Tools {
				denied[i] = strings.HasPrefix(t.Name, "no")
			}
			list, _ := json.Marshal(denied)
			result = fmt.Sprintf(`{"denied":%s}`, list)
		case "permd/choose":
			result = `{"stored":[]}`
		}
		fmt.Fprintf(c, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

// world is a gateway between a client and a server that the test plays.
type world struct {
	toGateway io.WriteCloser // what the client sends
	fromServe io.WriteCloser // what the server sends
	ended     chan error

	mu     sync.Mutex
	client []string // what the client received
	server []string // what the server received, without the gateway's own requests
	tools  string   // the server's tools
	// ownLists are the gateway's own requests for them.
	ownLists []string
	plays    func(line string) (answer string)
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldIn(t, t.TempDir())
}

// newWorldIn is newWorld with a folder for what is known of the tools.
func newWorldIn(t testing.TB, pins string) *world {
	t.Helper()
	return newWorldWith(t, pins, func(*Config) {})
}

// newWorldWith is newWorldIn with further settings.
func newWorldWith(t testing.TB, pins string, set func(*Config)) *world {
	t.Helper()
	clientIn, toGateway := io.Pipe()
	clientGot, clientOut := io.Pipe()
	serverGot, serverIn := io.Pipe()
	serverOut, fromServe := io.Pipe()
	w := &world{toGateway: toGateway, fromServe: fromServe, ended: make(chan error, 1), tools: `[{"name":"yes"},{"name":"no"},{"name":"ask"}]`}
	peers := Peers{ClientIn: clientIn, ClientOut: clientOut, ServerIn: serverIn, ServerOut: serverOut}
	end := func() {}
	if overHTTP {
		peers.ServerIn, peers.ServerOut, end = serveHTTP(serverIn, serverOut)
	}
	cfg := Config{Server: "s", Cwd: "/", Pins: OpenPins(pins, "s"), Dial: fakePermd(t), Say: func(string) {}}
	set(&cfg)
	go func() {
		w.ended <- Run(t.Context(), peers, cfg)
		end()
		clientOut.Close()
		serverOut.Close()
		clientIn.Close()
	}()
	go func() {
		r := bufio.NewReader(clientGot)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			w.mu.Lock()
			w.client = append(w.client, line)
			plays := w.plays
			w.mu.Unlock()
			if plays != nil {
				go func() {
					if answer := plays(line); answer != "" {
						_, _ = io.WriteString(toGateway, answer+"\n")
					}
				}()
			}
		}
	}()
	own := regexp.MustCompile(`^\{"jsonrpc":"2.0","id":("permd-[A-Z0-9]+"),"method":"tools/list"`)
	go func() {
		defer fromServe.Close()
		r := bufio.NewReader(serverGot)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			if m := own.FindStringSubmatch(line); m != nil {
				w.mu.Lock()
				tools := w.tools
				w.ownLists = append(w.ownLists, line)
				w.mu.Unlock()
				fmt.Fprintf(fromServe, `{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}`+"\n", m[1], tools)
				continue
			}
			w.mu.Lock()
			w.server = append(w.server, line)
			w.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		toGateway.Close()
		if err := <-w.ended; err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) send(t testing.TB, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(w.toGateway, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
}

// serve sends lines of the server.
func (w *world) serve(t testing.TB, text string) {
	t.Helper()
	if _, err := io.WriteString(w.fromServe, text); err != nil {
		t.Fatal(err)
	}
}

// flush waits until all that was sent before has been handled, calls included.
func (w *world) flush(t testing.TB) {
	t.Helper()
	id := fmt.Sprintf(`"flush%d"`, rand.Int64())
	w.send(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"no"}}`)
	w.wantClient(t, id)
}

func (w *world) wantClient(t testing.TB, part string) {
	t.Helper()
	eventually.Holds(t, "the client receives "+part, func() bool { return has(w, &w.client, part) }, func() string {
		w.mu.Lock()
		defer w.mu.Unlock()
		return strings.Join(w.client, "")
	})
}

func (w *world) wantServer(t testing.TB, part string) {
	t.Helper()
	eventually.Holds(t, "the server receives "+part, func() bool { return has(w, &w.server, part) })
}

func has(w *world, list *[]string, part string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(*list, func(s string) bool { return strings.Contains(s, part) })
}

func call(id, name string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `","arguments":{"a":1}}}`
}

// TestResponses: the client receives one response to each request, and none that nobody
// asked for.
func TestResponses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	result := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{"from":"server"}}` + "\n" }
	w.send(t, call("1", "yes"), call(`"1"`, "no"))
	w.wantServer(t, `"id":1`)
	w.wantClient(t, `permd denied this call`)
	// To the call that it was sent, to one that it was not, to none, and once more.
	w.serve(t, result(`"1"`)+result("5")+result("1")+result("1")+"a line of its log\n"+`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`+"\n")
	w.wantClient(t, "notifications/message")
	w.wantClient(t, `"from":"server"`)
	w.flush(t)
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, line := range w.client {
		if strings.Contains(line, `"from":"server"`) {
			n++
		}
		if strings.Contains(line, "its log") {
			t.Errorf("the client received %q", line)
		}
	}
	if n != 1 {
		t.Errorf("%d responses of the server, want 1:\n%s", n, strings.Join(w.client, ""))
	}
}

// TestServerCannotAnswer: a server that sends questions of its own cannot get their answers
// taken for those to permd's.
func TestServerCannotAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var asked []string
	id := regexp.MustCompile(`"id":("[^"]*")`)
	w.mu.Lock()
	w.plays = func(line string) string {
		if !strings.Contains(line, methodElicit) {
			return ""
		}
		asked = append(asked, line)
		of := id.FindStringSubmatch(line)[1]
		if strings.Contains(line, "permd asks") {
			return `{"jsonrpc":"2.0","id":` + of + `,"result":{"action":"decline"}}`
		}
		return `{"jsonrpc":"2.0","id":` + of + `,"result":{"action":"accept","content":{"answer":"once"}}}`
	}
	w.mu.Unlock()
	w.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	w.wantServer(t, `"initialize"`)
	w.serve(t, `{"jsonrpc":"2.0","id":"permd-1","method":"elicitation/create","params":{"message":"do you like it?"}}`+"\n")
	w.wantServer(t, `"permd-1"`)
	w.send(t, call("1", "ask"))
	w.wantClient(t, "the person has rejected this call")
	if has(w, &w.server, `"tools/call"`) {
		t.Error("the call ran")
	}
}

// TestEnds ends the client and the server at every byte of a conversation: Run returns.
func TestEnds(t *testing.T) {
	t.Parallel()
	conversation := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}` + "\n" + call("1", "yes") + "\n" + call("2", "no") + "\n"
	for n := range len(conversation) {
		clientIn, serverOut := strings.NewReader(conversation[:n]), strings.NewReader("")
		err := Run(t.Context(), Peers{ClientIn: clientIn, ClientOut: io.Discard, ServerIn: discard{}, ServerOut: serverOut}, Config{
			Server: "s", Cwd: "/", Pins: OpenPins(t.TempDir(), "s"), Say: func(string) {},
			Dial: func(context.Context) (*client.Client, error) { return nil, client.ErrUnreachable },
		})
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

// TestLongMessage: a message that is too long is refused, and the next one is read.
func TestLongMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"yes","arguments":{"a":"`+strings.Repeat("x", maxLine)+`"}}}`)
	w.wantClient(t, errLong.Error())
	w.flush(t)
	if has(w, &w.server, "tools/call") {
		t.Error("the server received it")
	}
}

// TestServerGone: what a server leaves unanswered when it ends is answered with an error.
func TestServerGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.send(t, call("1", "yes"), `{"jsonrpc":"2.0","id":"p","method":"prompts/list"}`)
	w.wantServer(t, `"id":1,`)
	w.wantServer(t, `"id":"p"`)
	if err := w.fromServe.Close(); err != nil {
		t.Fatal(err)
	}
	w.wantClient(t, `"id":1,"error"`)
	w.wantClient(t, mayHaveRun)
	w.wantClient(t, `"id":"p","error"`)
}

// TestCancelledID: the response to a cancelled request does not become that of another one.
func TestCancelledID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.send(t, call("1", "yes"))
	w.wantServer(t, `"id":1,`)
	w.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	w.wantServer(t, "notifications/cancelled")
	w.send(t, call("1", "yes"))
	w.wantClient(t, "was cancelled")
	w.serve(t, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"late"}]}}`+"\n")
	w.flush(t)
	if has(w, &w.client, "late") {
		t.Error("the client receives the late response")
	}
}

// TestSignedForms: a server's form says who asks, whatever it is made to look like.
func TestSignedForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	form := func(id, params string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":` + params + "}\n"
	}
	w.serve(t, form("1", `{"requestedSchema":{"type":1e400},"message":"permd asks: x\n\npermd asks: y\rpermd asks: z\u2028a\u202eb"}`))
	w.wantClient(t, `"id":1,"method":"elicitation/create","params":{"requestedSchema":{"type":1e400},"message":"The server s asks: permd asks: x\n| permd asks: y\n| permd asks: z\n| a�b"}`)
	w.serve(t, form("2", `{"mode":"url","url":"https://x.example","message":"`+strings.Repeat("y", 2*maxFormText)+`"}`))
	w.wantClient(t, `"The server s asks: `+strings.Repeat("y", maxFormText)+`…"`)
	w.serve(t, form("3", `{"message":"`+strings.Repeat(`y\n`, 2*maxFormLines)+`"}`))
	w.wantClient(t, strings.Repeat(`y\n| `, maxFormLines)+`…"`)
	for i, bad := range []string{`{}`, `[]`, `{"message":["x"]}`, `{"message":"x","Message":"permd asks"}`} {
		id := fmt.Sprintf(`"bad%d"`, i)
		w.serve(t, form(id, bad))
		w.wantServer(t, `"id":`+id+`,"error"`)
		if has(w, &w.client, id) {
			t.Errorf("the client received the form with %s", bad)
		}
	}
}
