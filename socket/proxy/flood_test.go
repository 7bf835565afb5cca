package proxy

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestSlowGates: while permd is reachable but does not answer, the person is asked,
// because an agent may be keeping permd busy.
func TestSlowGates(t *testing.T) {
	const timeout = 50 * time.Millisecond
	first := make(chan struct{})
	var once sync.Once
	d := newPermd(t, func(string) string {
		once.Do(func() { time.AfterFunc(timeout/2, func() { close(first) }) })
		return ""
	})
	e := startWith(t, Config{Dial: d.dial, Timeout: timeout, Retry: time.Hour})
	hears := bufio.NewReader(e.clientHears)
	// The second still has time when the first has timed out, and the third comes
	// while the proxy does not wait for permd.
	fmt.Fprintln(e.agentSays, numbered(1))
	<-first
	fmt.Fprintln(e.agentSays, numbered(2))
	for n := 1; n <= 3; n++ {
		line, err := hears.ReadString('\n')
		if !strings.Contains(line, "session/request_permission") || !strings.Contains(line, errSlow.Error()) {
			t.Fatalf("in the place of %d the client was sent %q, %v", n, line, err)
		}
		if n == 2 {
			fmt.Fprintln(e.agentSays, numbered(3))
		}
	}
	e.agentSays.Close()
	if err := e.wait(t); err != nil {
		t.Error(err)
	}
}

func numbered(id int) string {
	return strings.Replace(writeLine, `"id":3`, fmt.Sprintf(`"id":%d`, id), 1)
}

// TestAllRecorded: calls that an agent runs without a request are recorded, even if
// it sends more at once than permd can take, and if it ends right after.
func TestAllRecorded(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"some": 1000, "more than is kept": maxActs} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && n > 1000 {
				t.Skip("long: as many calls as are kept; some are the quick one")
			}
			answers := make(chan struct{})
			d := newPermd(t, func(line string) string {
				if strings.Contains(line, "permd/session") {
					<-answers
				}
				if strings.Contains(line, `"id"`) {
					return `"result":{}`
				}
				return ""
			})
			e := start(t, d.dial)
			hears := bufio.NewReader(e.clientHears)
			fmt.Fprintln(e.clientSays, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/p"}}`)
			if _, err := bufio.NewReader(e.agentHears).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			var says sync.WaitGroup
			says.Go(func() {
				w := bufio.NewWriter(e.agentSays)
				fmt.Fprintln(w, `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}`)
				for i := range n {
					fmt.Fprintln(w, update("s1", "tool_call", fmt.Sprint("c", i), `,"title":"x","status":"completed"`))
				}
				if err := w.Flush(); err != nil {
					t.Error(err)
				}
				e.agentSays.Close()
			})
			for range 1000 { // permd does not answer for this long
				if _, err := hears.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			close(answers)
			says.Go(func() { _, _ = io.Copy(io.Discard, hears) })
			if err := e.wait(t); err != nil {
				t.Error(err)
			}
			says.Wait()
			ran := 0
			d.mu.Lock()
			for _, method := range d.received {
				if method == "permd/ran" {
					ran++
				}
			}
			d.mu.Unlock()
			if ran != n {
				t.Errorf("%d of %d calls were recorded", ran, n)
			}
			select {
			case said := <-e.says:
				t.Errorf("the person was shown %q", said)
			default:
			}
		})
	}
}

// TestUnrecorded: the number of calls that could not be recorded is reported at the
// end.
func TestUnrecorded(t *testing.T) {
	e := start(t, nil)
	fmt.Fprintln(e.agentSays, update("s1", "tool_call", "c", `,"title":"x","status":"completed"`))
	e.agentSays.Close()
	if _, err := io.Copy(io.Discard, e.clientHears); err != nil {
		t.Error(err)
	}
	if err := e.wait(t); err != nil {
		t.Error(err)
	}
	for {
		select {
		case said := <-e.says:
			if strings.HasSuffix(said, "could not be told of: 1") {
				return
			}
			continue
		default:
		}
		t.Fatal("the person was not told of it")
	}
}
