package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
)

// TestLines reads lines of all lengths around those of the buffers, in pieces of
// any size.
func TestLines(t *testing.T) {
	var lengths []int
	for _, n := range []int{0, 1, 100, readSize, 2 * readSize, pieceSize, pieceSize + readSize, 2 * pieceSize} {
		for d := -2; d <= 2; d++ {
			if n+d >= 0 {
				lengths = append(lengths, n+d)
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(lengths), func(i, j int) { lengths[i], lengths[j] = lengths[j], lengths[i] })
	var data []byte
	var want []string
	for i, n := range lengths {
		line := strings.Repeat(string(rune('a'+i%26)), n) + "\n"
		data, want = append(data, line...), append(want, line)
	}
	for name, form := range map[string]func(io.Reader) io.Reader{
		"at once": func(r io.Reader) io.Reader { return r }, "in halves": iotest.HalfReader, "with the end": iotest.DataErrReader,
		"odd": func(r io.Reader) io.Reader { return &oddReader{r, random} },
	} {
		for _, last := range testload.WithShort(t, 1, []string{"", "x", strings.Repeat("x", readSize), strings.Repeat("x", pieceSize+1)}) {
			l := newLines(form(io.MultiReader(bytes.NewReader(data), strings.NewReader(last))))
			var got []string
			var err error
			for err == nil {
				var line []byte
				if line, err = l.next(); len(line) > 0 {
					got = append(got, string(line))
				}
			}
			want := slices.Clone(want)
			if last != "" {
				want = append(want, last)
			}
			if !errors.Is(err, io.EOF) || !slices.Equal(got, want) {
				t.Errorf("%s, with a last line of %d: %d lines, want %d, %v", name, len(last), len(got), len(want), err)
			}
		}
	}
}

// oddReader reads as much as it likes.
type oddReader struct {
	r io.Reader
	*rand.Rand
}

func (o *oddReader) Read(b []byte) (int, error) { return o.r.Read(b[:1+o.IntN(len(b))]) }

// TestTooLong: exactly the lines above the limit are skipped, for any limit.
func TestTooLong(t *testing.T) {
	for _, limit := range []int{readSize, 3 * readSize / 2, pieceSize, 2*pieceSize + 5} {
		var data []byte
		var want []string
		for _, n := range []int{limit, limit + 1, 5, limit + pieceSize, limit + 3*pieceSize, limit - 1} {
			data = append(append(data, bytes.Repeat([]byte("x"), n)...), '\n')
			if n <= limit {
				want = append(want, strings.Repeat("x", n)+"\n")
			} else {
				want = append(want, "too long")
			}
		}
		for _, form := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.HalfReader, iotest.DataErrReader} {
			l := newLines(form(bytes.NewReader(data)))
			l.max = limit
			var got []string
			for {
				line, err := l.next()
				if errors.Is(err, errLong) {
					got = append(got, "too long")
					continue
				}
				if len(line) > 0 {
					got = append(got, string(line))
				}
				if err != nil {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("limit %d: %d lines, want %d: %s", limit, len(got), len(want), cmp.Diff(len(want), len(got)))
			}
		}
	}
}

// TestNothingStays passes long messages on, in both forms, and checks that nothing
// of them stays in memory.
func TestNothingStays(t *testing.T) {
	heap := func() int64 {
		for range 3 { // a pool keeps things for two
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	text := strings.Repeat("words ", 10<<20/6)
	for name, conducted := range map[string]bool{"plain": false, "chained": true} {
		t.Run(name, func(t *testing.T) {
			e := startWith(t, Config{Conducted: conducted, Retry: time.Hour})
			to := e.agentHears
			if conducted {
				to = e.clientHears
			}
			received := bufio.NewReaderSize(to, 64<<10)
			before := heap()
			go func() {
				for _, method := range []string{"_vendor", "session/prompt"} {
					for _, s := range []string{`{"jsonrpc":"2.0","method":"`, method, `","params":{"sessionId":"s1","text":"`, text, `"}}`, "\n"} {
						if _, err := io.WriteString(e.clientSays, s); err != nil {
							t.Error(err)
						}
					}
				}
			}()
			for n := 0; n < 2; {
				switch _, err := received.ReadSlice('\n'); {
				case err == nil:
					n++
				case !errors.Is(err, bufio.ErrBufferFull):
					t.Fatal(err)
				}
			}
			// Who wrote the last byte is perhaps not done yet.
			left := heap() - before
			for deadline := time.Now().Add(eventually.Limit); left > 5<<20 && time.Now().Before(deadline); left = heap() - before {
				runtime.Gosched()
			}
			if left > 5<<20 {
				t.Errorf("%d KiB stay", left>>10)
			}
			e.clientSays.Close()
			if e.agentSays != nil {
				e.agentSays.Close()
			}
			if err := e.wait(t); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestEndless reads a very long line: what is above the limit is not kept.
func TestEndless(t *testing.T) {
	l := newLines(io.MultiReader(io.LimitReader(zeros{}, 64*pieceSize), strings.NewReader("\nafter\n")))
	l.max = pieceSize
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := l.next()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, errLong) || took > 4*pieceSize {
		t.Errorf("%d KiB were taken for it, %v", took>>10, err)
	}
	if line, err := l.next(); string(line) != "after\n" || err != nil {
		t.Errorf("after it came %q, %v", line, err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
