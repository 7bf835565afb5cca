package proxy

import (
	"bufio"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
)

// TestOtherVersion: while permd uses another version of its protocol, requests
// go to the person whatever it answers, and this is reported once. With a permd
// of this version everything is as before.
func TestOtherVersion(t *testing.T) {
	var newer atomic.Bool
	newer.Store(true)
	d := newPermd(t, func(line string) string {
		if strings.Contains(line, `"permd/session"`) && newer.Load() {
			return `"result":{"protocol":2}`
		}
		return allows(line)
	})
	e := startWith(t, Config{Dial: d.dial, Timeout: eventually.Limit, Retry: time.Millisecond})
	agent, person := bufio.NewReader(e.agentHears), bufio.NewReader(e.clientHears)
	read := func(from *bufio.Reader) string {
		t.Helper()
		line, err := from.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(line, "\n")
	}
	resume := `{"jsonrpc":"2.0","id":1,"method":"session/resume","params":{"sessionId":"s1","cwd":"/p"}}`
	fmt.Fprintln(e.clientSays, resume)
	if line := read(agent); line != resume {
		t.Fatalf("the agent was sent %q", line)
	}
	said := ""
	for !strings.Contains(said, "yours to answer") {
		said = <-e.says
	}
	if !strings.Contains(said, "speaks version 2") || !strings.Contains(said, "update this program") {
		t.Errorf("it said %q", said)
	}
	tries := func() (n int) {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, method := range d.received {
			if method == "permd/session" {
				n++
			}
		}
		return n
	}
	for i := range 5 {
		fmt.Fprintln(e.agentSays, request(fmt.Sprint(i), "c"))
		if line := read(person); line != request(fmt.Sprint(i), "c") {
			t.Fatalf("the client was sent %q", line)
		}
		before := tries()
		eventually.Holds(t, "it tries again", func() bool { return tries() > before })
	}
	newer.Store(false)
	if said = <-e.says; !strings.Contains(said, "there again") {
		t.Errorf("it said %q", said)
	}
	fmt.Fprintln(e.agentSays, request("9", "c"))
	if line := read(agent); !strings.Contains(line, "outcome") {
		t.Errorf("the agent was sent %q", line)
	}
	e.agentSays.Close()
	if err := e.wait(t); err != nil {
		t.Error(err)
	}
}
