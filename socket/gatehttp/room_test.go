package gatehttp

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/internal/strictjson"
)

// TestRoom: many answers that grow at the same time are all read to their ends, and what is held
// at a time is bounded.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(Room)
		most := 0
		for i := range 200 {
			go func() {
				h := r.Begin(string(rune('a' + i%3)))
				defer h.Free()
				for n := 64 << 10; n <= firstBytes/2; n *= 2 {
					if err := h.Wait(context.Background(), n); err != nil {
						t.Error(err)
					}
					r.mu.Lock()
					held := r.used
					if r.first != nil {
						held += r.first.counted
					}
					most = max(most, held)
					r.mu.Unlock()
					if rand.N(2) == 0 {
						runtime.Gosched()
					}
				}
			}()
		}
		synctest.Wait()
		if most > roomBytes || most < roomBytes/2 {
			t.Errorf("%d bytes were held", most)
		}
		if r.used != 0 || r.first != nil || len(r.by) != 0 || len(r.waiting) != 0 {
			t.Errorf("something is left: %+v", r)
		}
	})
}

// TestRoomShares: a caller whose answers are held leaves room for others, short answers wait for
// nobody, and waiting in vain is an error.
func TestRoomShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(Room)
		var held []*Held
		for len(held) < 100 {
			h := r.Begin("greedy")
			if !h.Try(2 << 20) {
				break
			}
			held = append(held, h)
		}
		if len(held) != 10 {
			t.Errorf("%d answers of 2 MiB are held for one caller", len(held))
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		for range 3 {
			go func() {
				h := r.Begin("greedy")
				defer h.Free()
				err := h.Wait(ctx, 2<<20)
				ended <- err
				<-ctx.Done()
			}()
		}
		synctest.Wait()
		if err := <-ended; err != nil { // the one that room is kept for
			t.Error(err)
		}
		other := r.Begin("other")
		if !other.Try(8 << 20) {
			t.Error("there is no room for another caller")
		}
		other.Free()
		short := r.Begin("greedy")
		if !short.Try(freeBytes) || short.Try(2<<20) {
			t.Error("a short answer waits, or a long one does not")
		}
		short.Free()
		for range 2 {
			if err := <-ended; !errors.Is(err, ErrNoRoom) { // after roomWait
				t.Error(err)
			}
		}
		cancel()
		for _, h := range held {
			h.Free()
		}
		synctest.Wait()
		if r.used != 0 || r.first != nil || len(r.by) != 0 || len(r.waiting) != 0 {
			t.Errorf("something is left: %+v", r)
		}
	})
}

// TestRoomLongest: an answer can be as long as there is room for one, also as the first of all,
// and no longer, however it grows.
func TestRoomLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, parts := range []int{1, 2, 8} {
			r := new(Room)
			h := r.Begin("a")
			for i := range parts {
				n := (firstBytes + freeBytes) / parts
				if err := h.Wait(t.Context(), n); err != nil {
					t.Errorf("part %d of %d: %v", i, parts, err)
				}
			}
			begun := time.Now()
			if err := h.Wait(t.Context(), 8); !errors.Is(err, ErrNoRoom) || time.Since(begun) > 0 {
				t.Errorf("beyond the end: %v, after %v", err, time.Since(begun))
			}
			h.Free()
			if err := h.Wait(t.Context(), firstBytes+freeBytes+1); !errors.Is(err, ErrNoRoom) || time.Since(begun) > 0 {
				t.Errorf("all at once: %v, after %v", err, time.Since(begun))
			}
			if r.used != 0 || r.first != nil || len(r.by) != 0 || len(r.waiting) != 0 {
				t.Errorf("something is left: %+v", r)
			}
		}
	})
}

// TestShrink: what an answer gives back goes to those that wait, and what it keeps stays counted.
func TestShrink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(Room)
		a, b, c := r.Begin("a"), r.Begin("b"), r.Begin("c")
		if !a.Try(16<<20) || b.Wait(t.Context(), 20<<20) != nil || r.first != b {
			t.Fatal("there is no room")
		}
		go func() {
			if err := c.Wait(t.Context(), 15<<20); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		a.Shrink(17 << 20)
		if c.counted != 0 || a.counted != 16<<20-freeBytes {
			t.Errorf("a has %d and c %d bytes while a needs all", a.counted, c.counted)
		}
		a.Shrink(5 << 20)
		synctest.Wait()
		if a.counted != 5<<20-freeBytes || c.counted != 15<<20-freeBytes || r.used != a.counted+c.counted {
			t.Errorf("a has %d and c %d bytes of %d", a.counted, c.counted, r.used)
		}
		b.Shrink(freeBytes / 2)
		if b.counted != 0 {
			t.Errorf("b has %d bytes", b.counted)
		}
		for _, h := range []*Held{a, b, c} {
			h.Free()
			h.Shrink(0)
		}
		if r.used != 0 || r.first != nil || len(r.by) != 0 || len(r.waiting) != 0 {
			t.Errorf("something is left: %+v", r)
		}
	})
}

// TestRoomRead: an answer that is held on after it was read does not keep others from being the
// first, once it fits among the others.
func TestRoomRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(Room)
		var small []*Held
		for i := range 3 {
			h := r.Begin(string(rune('a' + i)))
			if !h.Try(10 << 20) {
				t.Fatal("there is no room")
			}
			small = append(small, h)
		}
		read := r.Begin("read")
		defer read.Free()
		if err := read.Wait(t.Context(), 8<<20); err != nil || r.first != read {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		next := r.Begin("next")
		defer next.Free()
		go func() { ended <- next.Wait(t.Context(), 24<<20) }()
		synctest.Wait()
		if len(ended) != 0 || next.counted != 0 {
			t.Error("two are the first")
		}
		for _, h := range small {
			h.Free()
		}
		synctest.Wait()
		if len(ended) == 0 || <-ended != nil || r.first != next || r.used != read.counted || read.counted != 8<<20-freeBytes {
			t.Errorf("the next one does not get its bytes: %+v", r)
		}
	})
}

// TestEchoesMemory: what is allocated to search an answer does not depend on how its texts are
// cut, and is little for one long text.
func TestEchoesMemory(t *testing.T) {
	size := 8 << 20
	if testing.Short() {
		size = 1 << 20
	}
	secrets := []string{"Key/With+Signs-4711"}
	for name, tt := range map[string]struct {
		text string
		most int // times the size
	}{
		"a long text": {`"` + strings.Repeat("a", size) + `"`, 3},
		"escapes":     {`"` + strings.Repeat("%2525 ", size/6) + `"`, 8},
		"short texts": {"[" + strings.Repeat(`"a",`, size/4) + `"a"]`, 8},
		"numbers":     {"[" + strings.Repeat(`1,`, size/2) + `1]`, 16},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if Echoes(strictjson.Value(tt.text), secrets) {
			t.Errorf("%s: it holds none", name)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > uint64(tt.most*size) {
			t.Errorf("%s: %d bytes of answer cost %d", name, len(tt.text), n)
		} else {
			t.Logf("%s: %d bytes of answer cost %d", name, len(tt.text), n)
		}
	}
}

// TestEchoesLong: a secret is found wherever it stands in a long text, and in pieces at the ends
// of long ones.
func TestEchoesLong(t *testing.T) {
	const secret = "Key/With+Signs-4711"
	for n := minWindow - 100; n < minWindow+20; n += 7 {
		if !EchoesText(strings.Repeat("a", n)+secret+strings.Repeat("b", minWindow), []string{secret}) {
			t.Fatalf("after %d bytes it is not found", n)
		}
	}
	long := strings.Repeat("a", minWindow)
	for i := 1; i < len(secret); i += 6 {
		for _, v := range []string{`["` + long + secret[:i] + `","` + secret[i:] + `"]`, `["` + secret[:i] + `","` + secret[i:] + long + `"]`, `["` + strings.Repeat(`a","`, minWindow-i) + secret[:i] + `","` + secret[i:] + `"]`} {
			if !Echoes(strictjson.Value(v), []string{secret}) {
				t.Fatalf("cut at %d it is not found", i)
			}
			if Echoes(strictjson.Value(v), []string{"another/secret"}) {
				t.Fatal("it is taken for another")
			}
		}
	}
}
