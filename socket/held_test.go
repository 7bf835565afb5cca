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
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/internal/strictjson"
)

// TestLongAnswersShareABudget: a short question can have a long answer, and a
// client that does not read must not make permd keep many of them.
func TestLongAnswersShareABudget(t *testing.T) {
	const uid, long = 1000, 10 << 20 // one of them fits into a connection's share
	share := fairshare.New(fairshare.Options{Bytes: 64 << 20})
	c := &connection{server: &server{}, Conn: Conn{Peer: decisions.Peer{UID: uid}, member: share.Join(uid)}}
	first, second, short := new(request), new(request), new(request)
	if err := c.reserveAnswer(first, long); err != nil {
		t.Errorf("the first: %v", err)
	}
	refused, ok := errors.AsType[*Error](c.reserveAnswer(second, long))
	if !ok || refused.Code != CodeBusy {
		t.Errorf("the second: %v", refused)
	}
	if err := c.reserveAnswer(short, 1000); err != nil || short.reservedBytes != 1000 {
		t.Errorf("a short one: %v, %d bytes reserved", err, short.reservedBytes)
	}
	other := &connection{server: &server{}, Conn: Conn{Peer: decisions.Peer{UID: uid}, member: share.Join(uid)}}
	if err := other.reserveAnswer(new(request), long); err != nil {
		t.Errorf("another connection: %v", err)
	}
	c.member.Release(first.reservedBytes)
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
		go a.send(strictjson.Value("1"), "result", nullID)
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
