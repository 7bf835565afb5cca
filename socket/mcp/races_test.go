package mcp

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

var elicited = regexp.MustCompile(`"id":("[^"]*"),"method":"elicitation/create"`)

// asking is a world whose client can show forms. With each question it does what is said, and
// then says yes.
func asking(t *testing.T, first func(w *world) string) *world {
	t.Helper()
	w := newWorld(t)
	var asked atomic.Int64
	w.mu.Lock()
	w.plays = func(line string) string {
		m := elicited.FindStringSubmatch(line)
		if m == nil {
			return ""
		}
		before := ""
		if asked.Add(1) == 1 {
			before = first(w)
		}
		return before + `{"jsonrpc":"2.0","id":` + m[1] + `,"result":{"action":"accept","content":{"answer":"once"}}}`
	}
	w.mu.Unlock()
	w.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"elicitation":{}}}}`)
	w.wantServer(t, `"initialize"`)
	return w
}

// toolsChanged sends the notification, and returns when the gateway has read it: the client is
// told only then.
func (w *world) toolsChanged(t testing.TB) {
	t.Helper()
	before := w.received(notedToolsChanged)
	_, _ = io.WriteString(w.fromServe, `{"jsonrpc":"2.0","method":"`+notedToolsChanged+`"}`+"\n")
	eventually.Holds(t, "the client is told of the change", func() bool { return w.received(notedToolsChanged) > before })
}

func (w *world) questions() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range w.client {
		if elicited.MatchString(line) {
			n++
		}
	}
	return n
}

// TestChangedMeanwhile: the server says something else of the tool while the person is asked.
// They are asked about what it is now.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	w := asking(t, func(w *world) string {
		w.mu.Lock()
		w.tools = `[{"name":"ask","description":"another"}]`
		w.mu.Unlock()
		w.toolsChanged(t)
		return ""
	})
	w.send(t, call("1", "ask"))
	w.wantServer(t, `"id":1`)
	if n := w.questions(); n != 2 {
		t.Errorf("%d questions, want 2", n)
	}
}

// TestGoneMeanwhile: the tool is no longer there when the person has said yes.
func TestGoneMeanwhile(t *testing.T) {
	t.Parallel()
	w := asking(t, func(w *world) string {
		w.mu.Lock()
		w.tools = `[]`
		w.mu.Unlock()
		w.toolsChanged(t)
		return ""
	})
	w.send(t, call("1", "ask"))
	w.wantClient(t, "the server lists no tool of this name")
	if has(w, &w.server, `"tools/call"`) {
		t.Error("the call ran")
	}
}

// TestWithdrawnInTime: a call that the client withdraws before the server has it does not run,
// and its id can be used again. Requests that are withdrawn later take no room.
func TestWithdrawnInTime(t *testing.T) {
	t.Parallel()
	w := asking(t, func(w *world) string {
		return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n" + `{"jsonrpc":"2.0","id":7,"method":"ping"}` + "\n"
	})
	w.send(t, call("1", "ask"))
	w.wantServer(t, `"id":7`)
	w.flush(t)
	w.send(t, call("1", "yes"))
	w.wantServer(t, `"name":"yes"`)
	if has(w, &w.server, `"name":"ask"`) {
		t.Error("a call that was withdrawn ran")
	}
	for range maxRequests + 10 {
		w.send(t, `{"jsonrpc":"2.0","id":5,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
	}
	w.send(t, `{"jsonrpc":"2.0","id":6,"method":"ping"}`)
	w.wantServer(t, `"id":6`)
	if has(w, &w.client, "no response yet") {
		t.Error("requests that were withdrawn take room")
	}
}

// TestPinsNotWritten: where it cannot be noted what a tool is, calls that only a rule allows do
// not run.
func TestPinsNotWritten(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	if err := os.Symlink("nowhere", state); err != nil {
		t.Fatal(err)
	}
	w := newWorldIn(t, filepath.Join(state, "mcp"))
	w.send(t, call("1", "yes"))
	w.wantClient(t, "the tool's definition could not be noted")
	if has(w, &w.server, "tools/call") {
		t.Error("the call ran")
	}
	if !strings.Contains(strings.Join(w.client, ""), `"isError":true`) {
		t.Errorf("the client received %s", w.client)
	}
}

// TestOrder: calls that are allowed at once reach the server in the client's order, and do not
// wait for one that a person is asked about.
func TestOrder(t *testing.T) {
	t.Parallel()
	const calls = 60
	w := asking(t, func(w *world) string {
		w.wantServer(t, fmt.Sprintf(`"id":%d,`, calls))
		return ""
	})
	w.send(t, call(`"asked"`, "ask"))
	var lines []string
	for id := 1; id <= calls; id++ {
		lines = append(lines, call(strconv.Itoa(id), "yes"))
	}
	w.send(t, strings.Join(lines, "\n"))
	w.wantServer(t, `"asked"`)
	w.mu.Lock()
	defer w.mu.Unlock()
	next := 1
	for _, line := range w.server {
		if strings.Contains(line, `"yes"`) {
			if !strings.Contains(line, fmt.Sprintf(`"id":%d,`, next)) {
				t.Fatalf("the server received %s, want id %d", line, next)
			}
			next++
		}
	}
}
