package gateway

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/socket/gatehttp"
)

// TestHeldForCallback: while a runtime is tried that is gone, the answer of a tool holds what
// its result needs, and no more.
func TestHeldForCallback(t *testing.T) {
	gone, err := gatehttp.NewUpstream("http://127.0.0.1:1", gatehttp.UpstreamOptions{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		result string
		room   int // for another one
	}{
		"an error":      {textWithheld, 36 << 20},
		"a long result": {strings.Repeat("x", maxToolAnswer), 30 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			var said []string
			g := &Gateway{o: Options{Say: func(s string) { said = append(said, s) }}, ending: make(chan struct{})}
			c := &call{invocation: &invocation{callback: gone, path: "/"}, held: g.memory.Begin("runtime")}
			if err := c.held.Wait(t.Context(), 2*maxToolAnswer+maxToolAnswer/2); err != nil {
				t.Fatal(err)
			}
			done := make(chan bool)
			go func() {
				defer close(done)
				defer c.held.Free()
				g.deliver(c, []byte(row.result))
			}()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second/2) // it is tried for longer
			defer cancel()
			for i, n := range []int{row.room / 2, 24 << 20} {
				h := g.memory.Begin(string(rune('a' + i)))
				defer h.Free()
				if err := h.Wait(ctx, n); err != nil {
					t.Errorf("%d MiB for another one: %v", n>>20, err)
				}
			}
			close(g.ending)
			<-done
			if len(said) != 1 {
				t.Errorf("it was delivered: %q", said)
			}
		})
	}
}
