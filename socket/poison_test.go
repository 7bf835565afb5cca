package socket

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// selfEncoded is a result that encodes itself.
type selfEncoded string

func (s selfEncoded) AppendJSON(b []byte) ([]byte, error) {
	return fmt.Appendf(b, "%q", string(s)), nil
}

// TestPoisonedBuffers overwrites each answer's buffer when it is released, so that a use
// after its release shows: in what is still to be written, or in an answer that waits.
func TestPoisonedBuffers(t *testing.T) {
	var poisoned atomic.Int64
	r := serve(t, Methods{"m": func(_ *Conn, params strictjson.Value) (func(context.Context) (any, error), error) {
		x, _ := strictjson.ParseString(strictjson.Find(params, "x"))
		return func(context.Context) (any, error) { return selfEncoded(x), nil }, nil
	}}, Options{poison: func(b []byte) {
		poisoned.Add(1)
		for i := range b {
			b[i] = 0xff
		}
	}})
	const clients, rounds, requests = 4, 5, 8
	var all sync.WaitGroup
	for client := range clients {
		c := r.dial()
		all.Go(func() {
			for round := range rounds {
				var lines strings.Builder
				want := map[string]bool{}
				for id := range requests {
					// Some are longer than what is queued, and than what is kept.
					text := strings.Repeat(string(rune('a'+client)), []int{1, 100, 5 << 10, 70 << 10}[(round+id)%4])
					fmt.Fprintf(&lines, `{"jsonrpc":"2.0","id":%d,"method":"m","params":{"x":"%s"}}`+"\n", id, text)
					want[fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"%s"}`, id, text)] = true
				}
				go c.write(lines.String())
				for range requests {
					if got := strings.TrimSpace(c.line()); !want[got] {
						t.Errorf("an answer of %d bytes that nobody asked for: %.100s", len(got), got)
					} else {
						delete(want, got)
					}
				}
			}
		})
	}
	all.Wait()
	if n := poisoned.Load(); n < clients*rounds*requests/2 {
		t.Errorf("%d buffers were given back", n)
	}
}
