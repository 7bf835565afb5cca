package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// permd is a daemon that a test plays.
type permd struct {
	t    testing.TB
	path string
	// reply answers a line; "" for not at all.
	reply func(line string) string

	mu       sync.Mutex
	l        net.Listener
	conns    []net.Conn
	received []string
}

func newPermd(t testing.TB, reply func(line string) string) *permd {
	t.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &permd{t: t, path: filepath.Join(dir, "s"), reply: reply}
	d.listen()
	t.Cleanup(d.die)
	return d
}

func (d *permd) dial(ctx context.Context) (*client.Client, error) {
	return client.Dial(ctx, d.path, client.Options{})
}

func (d *permd) listen() {
	d.t.Helper()
	l, err := net.Listen("unix", d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	d.mu.Lock()
	d.l = l
	d.mu.Unlock()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			d.mu.Lock()
			if d.l == l {
				d.conns = append(d.conns, c)
			} else {
				c.Close() // it has died just now
			}
			d.mu.Unlock()
			go d.serve(c)
		}
	}()
}

func (d *permd) serve(c net.Conn) {
	r := bufio.NewReaderSize(c, 1<<20)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		d.mu.Lock()
		d.received = append(d.received, text(strictjson.Value(line), "method"))
		d.mu.Unlock()
		if answer := d.reply(line); answer != "" {
			id := strictjson.Find(strictjson.Value(line), "id")
			fmt.Fprintf(c, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", id, answer)
		}
	}
}

// die stops the daemon and closes all its connections.
func (d *permd) die() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.l == nil {
		return
	}
	d.l.Close()
	for _, c := range d.conns {
		c.Close()
	}
	d.l, d.conns = nil, nil
}

func allows(line string) string {
	if strings.Contains(line, "request_permission") {
		return `"result":` + picks("yes")
	}
	return `"result":{}`
}

// TestRestarts restarts permd again and again: no request is lost, doubled or
// reordered, each is answered by permd or left to the client.
func TestRestarts(t *testing.T) {
	d := newPermd(t, allows)
	e := start(t, d.dial)
	const n = 300
	answered := make(chan string, n)
	go func() { // the agent hears its answers
		for lines := bufio.NewScanner(e.agentHears); lines.Scan(); {
			answered <- string(strictjson.Find(strictjson.Value(lines.Bytes()), "id"))
		}
		close(answered)
	}()
	last := 0
	go func() { // the client answers everything it gets, in order
		lines := bufio.NewReader(e.clientHears)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				e.clientSays.Close()
				return
			}
			id := string(strictjson.Find(strictjson.Value(line), "id"))
			var number int
			if _, err := fmt.Sscan(id, &number); err != nil {
				t.Error(err)
			}
			if number <= last {
				t.Errorf("request %d came after %d", number, last)
			}
			last = number
			fmt.Fprintf(e.clientSays, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, picks("no"))
		}
	}()
	got := map[string]int{}
	for i := 1; i <= n; i++ {
		fmt.Fprintln(e.agentSays, request(fmt.Sprint(i), "c"))
		switch i % 50 {
		case 20:
			d.die()
		case 30:
			d.listen()
		}
		if i%10 == 0 { // in step, so that every state occurs
			for len(got) < i {
				got[<-answered]++
			}
		}
	}
	e.agentSays.Close()
	for id := range answered {
		got[id]++
	}
	for i := 1; i <= n; i++ {
		if got[fmt.Sprint(i)] != 1 {
			t.Errorf("request %d was answered %d times", i, got[fmt.Sprint(i)])
		}
	}
	if err := e.wait(t); err != nil {
		t.Error(err)
	}
}

// TestSilentPermd leaves requests to the person when permd does not answer, and
// does not wait for it again soon.
func TestSilentPermd(t *testing.T) {
	d := newPermd(t, func(string) string { return "" })
	e := startWith(t, Config{Dial: d.dial, Timeout: 50 * time.Millisecond, Retry: time.Hour})
	hears := bufio.NewReader(e.clientHears)
	for i := range 20 {
		fmt.Fprintln(e.agentSays, request(fmt.Sprint(i), "c"))
		fmt.Fprintln(e.agentSays, "after")
		for _, want := range []string{request(fmt.Sprint(i), "c"), "after"} {
			if line, err := hears.ReadString('\n'); line != want+"\n" {
				t.Fatalf("the client was sent %q, %v; want %q", line, err, want)
			}
		}
	}
	e.agentSays.Close()
	if err := e.wait(t); err != nil {
		t.Error(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.received) > 1 { // none if the time was over before it was sent
		t.Errorf("permd received %q, want one request", d.received)
	}
}

// TestMissed starts permd late: after the sessions, the first thing it is sent is
// that it has missed messages.
func TestMissed(t *testing.T) {
	d := newPermd(t, allows)
	d.die()
	e := start(t, d.dial)
	fmt.Fprintln(e.clientSays, `{"jsonrpc":"2.0","id":1,"method":"session/resume","params":{"sessionId":"s1","cwd":"/p"}}`)
	fmt.Fprintln(e.agentSays, update("s1", "tool_call", "c", `,"rawInput":{"command":"ls"}`))
	hears := bufio.NewReader(e.clientHears)
	if _, err := hears.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for said := ""; !strings.Contains(said, "yours to answer"); {
		said = <-e.says
	}
	d.listen()
	for said := ""; !strings.Contains(said, "there again"); {
		said = <-e.says
	}
	fmt.Fprintln(e.agentSays, request("1", "c"))
	agentHears := bufio.NewReader(e.agentHears)
	for line := ""; !strings.Contains(line, "outcome"); {
		var err error
		if line, err = agentHears.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	e.agentSays.Close()
	if err := e.wait(t); err != nil {
		t.Error(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	received := slices.DeleteFunc(slices.Clone(d.received), func(method string) bool { return method == "permd/session" })
	if d := cmp.Diff([]string{"permd/unheard", "session/request_permission"}, received); d != "" {
		t.Errorf("permd received (-want +got):\n%s", d)
	}
}

// TestRequired stops a permd that is required: what needs it fails until it is
// running again, everything else continues, and the person is not asked instead.
func TestRequired(t *testing.T) {
	d := newPermd(t, allows)
	e := startWith(t, Config{Rules: Rules{Require: true}, Dial: d.dial, Timeout: eventually.Limit, Retry: 20 * time.Millisecond, Grace: time.Hour})
	agent, person := bufio.NewReader(e.agentHears), bufio.NewReader(e.clientHears)
	ask := func(id, want string) {
		t.Helper()
		fmt.Fprintln(e.agentSays, request(id, "c"))
		fmt.Fprintln(e.agentSays, "after "+id)
		if line, err := agent.ReadString('\n'); err != nil || !strings.Contains(line, want) {
			t.Fatalf("request %s was answered %q, %v; want %s", id, line, err, want)
		}
		if line, err := person.ReadString('\n'); line != "after "+id+"\n" {
			t.Fatalf("the client was sent %q, %v", line, err)
		}
	}
	ask("1", "outcome")
	d.die()
	ask("2", `"error"`)
	for said := ""; !strings.Contains(said, "fails until permd is there"); {
		said = <-e.says
	}
	d.listen()
	for said := ""; !strings.Contains(said, "there again"); {
		said = <-e.says
	}
	ask("3", "outcome")
	e.agentSays.Close()
	if err := e.wait(t); err != nil {
		t.Error(err)
	}
}

// TestRequiredGone: the conversation ends if a permd that is required does not come
// back, or connects and disconnects without an answer.
func TestRequiredGone(t *testing.T) {
	t.Parallel()
	t.Run("gone", func(t *testing.T) {
		d := newPermd(t, allows)
		e := startWith(t, Config{Rules: Rules{Require: true}, Dial: d.dial, Retry: time.Millisecond, Grace: 50 * time.Millisecond})
		d.die()
		if err := e.wait(t); !errors.Is(err, client.ErrUnreachable) {
			t.Error(err)
		}
	})
	t.Run("silent", func(t *testing.T) {
		d := newPermd(t, func(string) string { return "" })
		e := startWith(t, Config{Rules: Rules{Require: true}, Dial: d.dial, Timeout: time.Millisecond, Retry: time.Millisecond, Grace: 100 * time.Millisecond})
		go func() {
			for i := 0; ; i++ {
				if _, err := fmt.Fprintln(e.agentSays, request(fmt.Sprint(i), "c")); err != nil {
					return
				}
			}
		}()
		go func() { _, _ = io.Copy(io.Discard, e.agentHears) }()
		if err := e.wait(t); !errors.Is(err, client.ErrUnreachable) {
			t.Error(err)
		}
	})
}
