package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
)

const knownSession = `{"sessionId":"s","agent":{"name":"a"}}`

// turnOf is the request of a turn, as bytes.
func turnOf(at, stream string) string {
	body := `{"messages":[{"role":"user","content":"go"}],"stream":"` + stream + `"}`
	return fmt.Sprintf("POST /sessions/s/turns HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer t0ken\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", at, len(body), body)
}

// exchange sends bytes to a gateway, ends its side of the connection if they are not all, and returns
// the status and the body of the answer, 0 for none.
func exchange(t *testing.T, at, text string, whole bool) (int, string) {
	t.Helper()
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(eventually.Limit))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	if !whole {
		_ = c.(*net.TCPConn).CloseWrite()
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// TestClientCut: of a turn that is cut off at any byte, the server receives nothing.
func TestClientCut(t *testing.T) {
	t.Parallel()
	var turns atomic.Int32
	at := serveTo(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, knownSession)
			return
		}
		turns.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: turn_start\ndata: {}\n\nevent: turn_stop\ndata: {\"stopReason\":\"end_turn\"}\n\n")
	})
	whole := turnOf(at, "message")
	chunked := strings.Replace(whole, "Content-Length: "+fmt.Sprint(len(whole)-strings.Index(whole, "\r\n\r\n")-4), "Transfer-Encoding: chunked", 1)
	head, body, _ := strings.Cut(chunked, "\r\n\r\n")
	chunked = head + fmt.Sprintf("\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	for i, request := range []string{whole, chunked} {
		for _, n := range testload.Cuts(len(request)) {
			if status, text := exchange(t, at, request[:n], false); status != 0 && status != http.StatusBadRequest || turns.Load() != int32(i) {
				t.Fatalf("%d of %d bytes: %d %s, %d turns", n, len(request), status, text, turns.Load())
			}
		}
		if status, text := exchange(t, at, request, true); status != http.StatusOK || turns.Load() != int32(i+1) {
			t.Errorf("control: %d %s, %d turns", status, text, turns.Load())
		}
	}
}

// TestServerCut: a turn of the server that is cut off at any byte, of the header too, ends with an
// error. The client is shown no call of it, and it is posted once.
func TestServerCut(t *testing.T) {
	t.Parallel()
	const events = "event: turn_start\ndata: {}\n\nevent: text\ndata: {\"text\":\"x\"}\n\n" +
		"event: tool_call\ndata: {\"toolCallId\":\"a\",\"name\":\"read_note\",\"input\":{}}\n\nevent: turn_stop\ndata: {\"stopReason\":\"tool_use\"}\n\n"
	const message = `{"stopReason":"tool_use","messages":[{"role":"assistant","content":[{"type":"tool_use","toolCallId":"a","name":"read_note","input":{}}]}]}`
	var answer atomic.Pointer[string]
	var turns atomic.Int32
	at := serveTo(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, knownSession)
			return
		}
		turns.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(c, *answer.Load())
		c.Close()
	})
	for stream, whole := range map[string]string{
		"message": fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(events), events),
		"delta":   fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(events), events),
		"none":    fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(message), message),
	} {
		for _, n := range testload.Cuts(len(whole)) {
			part := whole[:n]
			answer.Store(&part)
			before := turns.Load()
			status, text := exchange(t, at, turnOf(at, stream), true)
			begun := status == http.StatusOK && strings.Contains(text, `"stopReason":"error"`)
			if status < http.StatusInternalServerError && !begun || strings.Contains(text, "read_note") {
				t.Fatalf("%s, %d of %d bytes: %d %s", stream, n, len(whole), status, text)
			}
			if turns.Load() != before+1 {
				t.Fatalf("%s, %d of %d bytes: %d turns", stream, n, len(whole), turns.Load()-before)
			}
		}
	}
}
