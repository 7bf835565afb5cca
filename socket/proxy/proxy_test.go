package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/client"
)

// ends are the two peers' ends of the pipes.
type ends struct {
	clientSays  *os.File // the client writes here
	clientHears *os.File
	agentSays   *os.File
	agentHears  *os.File
	done        chan error
	stop        context.CancelFunc
	says        chan string
}

// start runs a proxy between two peers that a test plays.
func start(t testing.TB, dial func(context.Context) (*client.Client, error)) *ends {
	t.Helper()
	return startWith(t, Config{Dial: dial, Timeout: eventually.Limit, Retry: 20 * time.Millisecond})
}

func startWith(t testing.TB, cfg Config) *ends {
	t.Helper()
	pipe := func() (*os.File, *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		return r, w
	}
	var e ends
	var p Peers
	p.ClientIn, e.clientSays = pipe()
	e.clientHears, p.ClientOut = swap(pipe())
	if !cfg.Conducted {
		e.agentHears, p.AgentIn = swap(pipe())
		p.AgentOut, e.agentSays = pipe()
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.done, e.stop, e.says = make(chan error, 1), cancel, make(chan string, 64)
	if cfg.Dial == nil {
		cfg.Dial = func(context.Context) (*client.Client, error) { return nil, client.ErrUnreachable }
	}
	cfg.Say = func(s string) {
		select {
		case e.says <- s:
		default:
		}
	}
	go func() { e.done <- Run(ctx, p, cfg) }()
	t.Cleanup(func() { cancel() })
	return &e
}

func swap(r, w *os.File) (*os.File, io.WriteCloser) { return r, w }

func (e *ends) wait(t testing.TB) error {
	t.Helper()
	select {
	case err := <-e.done:
		return err
	case <-time.After(eventually.Limit):
		t.Fatal("the proxy does not end")
		return nil
	}
}

// stream returns what a peer sends in tests: numbered lines of all lengths, some
// longer than the queue.
func stream(seed, n int) []byte {
	var b bytes.Buffer
	for i := range n {
		size := (i*7919 + seed*104729) % 3000
		if i%97 == 0 {
			size = 200_000
		}
		fmt.Fprintf(&b, `{"jsonrpc":"2.0","method":"_n","params":{"n":%d,"s":"%s"}}`+"\n", i, strings.Repeat("é", size/2))
	}
	return b.Bytes()
}

// TestRun moves much in both directions at once: every byte arrives, in order.
func TestRun(t *testing.T) {
	e := start(t, nil)
	var wait sync.WaitGroup
	received := make(chan struct{})
	move := func(w io.WriteCloser, r io.Reader, data []byte, chunk int, after <-chan struct{}, done func()) {
		wait.Go(func() {
			defer w.Close()
			defer func() { <-after }()
			for rest := data; len(rest) > 0; {
				n := min(chunk, len(rest))
				if _, err := w.Write(rest[:n]); err != nil {
					t.Error(err)
					return
				}
				rest = rest[n:]
			}
		})
		wait.Go(func() {
			got, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes of %d came, %v", len(got), len(data), err)
			}
			done()
		})
	}
	now := make(chan struct{})
	close(now)
	move(e.clientSays, e.agentHears, stream(1, 1500), 1000, now, func() { close(received) })
	move(e.agentSays, e.clientHears, stream(2, 1500), 65537, received, func() {}) // after its last message everything ends
	wait.Wait()
	if err := e.wait(t); err != nil {
		t.Error(err)
	}
}

// TestLongLines passes on a line of the maximum length and refuses a longer
// one, telling its sender.
func TestLongLines(t *testing.T) {
	if testing.Short() {
		t.Skip("long: lines as long as they may be, through the whole proxy; TestLines is the quick one")
	}
	line := func(n int) []byte {
		head := `{"jsonrpc":"2.0","method":"_n","params":"`
		return []byte(head + strings.Repeat("x", n-len(head)-2) + `"}` + "\n")
	}
	e := start(t, nil)
	go func() {
		defer e.agentSays.Close()
		for _, n := range []int{maxLine, maxLine + 1, 100} {
			if _, err := e.agentSays.Write(line(n)); err != nil {
				t.Error(err)
			}
		}
		told, err := bufio.NewReader(e.agentHears).ReadString('\n')
		if !strings.Contains(told, errLong.Error()) {
			t.Errorf("the agent got %q, %v", told, err)
		}
	}()
	got, err := io.ReadAll(e.clientHears)
	if want := append(line(maxLine), line(100)...); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came, want %d: %v", len(got), len(want), err)
	}
	if err := e.wait(t); err != nil {
		t.Error(err)
	}
}

// TestSlowClient: the client does not read for a while: the agent is slowed down,
// and nothing is lost.
func TestSlowClient(t *testing.T) {
	e := start(t, nil)
	data := stream(3, 3000)
	wrote := make(chan struct{})
	go func() {
		if _, err := e.agentSays.Write(data); err != nil {
			t.Error(err)
		}
		e.agentSays.Close()
		close(wrote)
	}()
	// Messages in the other direction still arrive.
	fmt.Fprintln(e.clientSays, "hello")
	if line, err := bufio.NewReader(e.agentHears).ReadString('\n'); line != "hello\n" {
		t.Error(line, err)
	}
	select {
	case <-wrote:
		t.Error("all was taken though nobody reads it")
	default:
	}
	got, err := io.ReadAll(e.clientHears)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes of %d came, %v", len(got), len(data), err)
	}
	<-wrote
	if err := e.wait(t); err != nil {
		t.Error(err)
	}
}

// TestDeath ends a peer after every byte that it sends: its complete lines arrive,
// an incomplete one does not count, and nothing is left running.
func TestDeath(t *testing.T) {
	said := `{"jsonrpc":"2.0","id":1,"method":"_a","params":"é"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"_b"}` + "\n"
	for n := 0; n <= len(said); n++ {
		for _, who := range []peerSide{clientSide, agentSide} {
			e := start(t, nil)
			from, to := e.agentSays, e.clientHears
			if who == clientSide {
				from, to = e.clientSays, e.agentHears
			}
			if _, err := io.WriteString(from, said[:n]); err != nil {
				t.Error(err)
			}
			from.Close()
			got, err := io.ReadAll(to)
			want := said[:n]
			if whole := strings.LastIndexByte(want, '\n') + 1; who == agentSide && !strings.HasSuffix(want, "}") {
				want = want[:whole] // the start of a message is none
			}
			if err != nil || string(got) != want {
				t.Errorf("the %s died at byte %d: %q arrived, want %q, %v", who, n, got, want, err)
			}
			e.agentSays.Close()
			if err := e.wait(t); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestClientGone: the client stops reading, and the agent finds its output closed,
// as it would without a proxy.
func TestClientGone(t *testing.T) {
	e := start(t, nil)
	e.clientHears.Close()
	for deadline := time.Now().Add(eventually.Limit); ; {
		if _, err := fmt.Fprintln(e.agentSays, "still here"); err != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the agent goes on and on")
		}
	}
	if err := e.wait(t); err != nil {
		t.Error(err)
	}
}

// TestStop stops a conversation in which nobody sends anything.
func TestStop(t *testing.T) {
	e := start(t, nil)
	e.stop()
	if err := e.wait(t); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
