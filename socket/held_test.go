package socket

import (
	"bufio"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// TestLongAnswersShareABudget: a short question can have a long answer, and a
// client that does not read must not make permd keep many of them.
func TestLongAnswersShareABudget(t *testing.T) {
	const uid, long = 1000, 20 << 20 // one of them fits into a user's half
	s := &server{limits: connLimits{maxConns: 1, maxConnsPerUID: 1, maxBytes: 64 << 20}}
	if err := s.limits.enter(uid); err != nil {
		t.Fatal(err)
	}
	c := &connection{server: s, Conn: Conn{Peer: decisions.Peer{UID: uid}}}
	first, second, short := new(call), new(call), new(call)
	if err := c.reserveAnswer(first, long); err != nil {
		t.Errorf("the first: %v", err)
	}
	refused, ok := errors.AsType[*Error](c.reserveAnswer(second, long))
	if !ok || refused.Code != CodeBusy {
		t.Errorf("the second: %v", refused)
	}
	if err := c.reserveAnswer(short, keepBuffer); err != nil || short.reserved != 0 {
		t.Errorf("a short one: %v, %d bytes reserved", err, short.reserved)
	}
	s.limits.release(uid, first.reserved)
	if err := c.reserveAnswer(second, long); err != nil {
		t.Errorf("the second, with room again: %v", err)
	}
}

// TestLongAnswerIsWrittenWhenSent: send returns only after a long answer is
// written. Otherwise its bytes would be returned to the budget while it still waits
// for another answer.
func TestLongAnswerIsWrittenWhenSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer here.Close()
		defer there.Close()
		a := newAnswers(here, time.Minute, func(err error) { t.Error(err) })
		go a.send(strictjson.Value("1"), "result", null)
		r := bufio.NewReaderSize(there, 16)
		if _, err := r.Peek(1); err != nil { // the first is being written
			t.Fatal(err)
		}
		long := []byte(`"` + strings.Repeat("x", keepBuffer) + `"`)
		var sent atomic.Bool
		done := make(chan struct{})
		go func() {
			a.send(strictjson.Value("2"), "result", long)
			sent.Store(true)
			close(done)
		}()
		synctest.Wait()
		if sent.Load() {
			t.Error("the long answer was left to another writer")
		}
		for _, want := range []int{len(`{"jsonrpc":"2.0","id":1,"result":null}`), len(`{"jsonrpc":"2.0","id":2,"result":}`) + len(long)} {
			line, err := r.ReadString('\n')
			if err != nil || len(line)-1 != want {
				t.Errorf("an answer of %d bytes, %v; want %d", len(line)-1, err, want)
			}
		}
		<-done
	})
}
