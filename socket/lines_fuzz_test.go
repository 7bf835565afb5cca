package socket

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
)

// pieces reads data in pieces, whose lengths are the bytes of sizes.
type pieces struct {
	data  []byte
	sizes []byte
	n     int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	size := len(p.data)
	if len(p.sizes) > 0 {
		size = int(p.sizes[p.n%len(p.sizes)])*64 + 1
		p.n++
	}
	n := copy(b, p.data[:min(size, len(p.data))])
	p.data = p.data[n:]
	return n, nil
}

// FuzzLines: in whatever pieces a stream arrives, it has the same lines: what is between
// its newlines, without those that are too long. The budget is returned, and never more
// is held than one line and one read need.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\n\nbc\nrest"), []byte{0}, uint16(2))
	f.Add(bytes.Repeat([]byte("x"), 300_000), []byte{1, 200}, uint16(1000))
	f.Add(append(bytes.Repeat([]byte("y"), 200_000), "\nz\n"...), []byte{255}, uint16(65535))
	f.Fuzz(func(t *testing.T, data, sizes []byte, most uint16) {
		held, peak := 0, 0
		l := &lines{
			r: &pieces{data: data, sizes: sizes}, max: int(most) * 4,
			reserve: func(n int) bool { held += n; peak = max(peak, held); return true },
			release: func(n int) { held -= n },
		}
		var got [][]byte
		long := 0
		for {
			line, err := l.next()
			if errors.Is(err, errTooLong) {
				long++
				continue
			}
			if err != nil {
				break
			}
			got = append(got, slices.Clone(line))
		}
		var want [][]byte
		wantLong := 0
		whole := bytes.Split(data, []byte("\n"))
		for i, line := range whole {
			last := i == len(whole)-1
			switch {
			case len(line) > l.max:
				wantLong++
			case !last:
				want = append(want, line)
			}
		}
		if !slices.EqualFunc(got, want, bytes.Equal) || long != wantLong {
			t.Fatalf("%d lines and %d that are too long, want %d and %d", len(got), long, len(want), wantLong)
		}
		if peak > 4*(l.max+keepBuffer) {
			t.Fatalf("%d bytes are held for lines of at most %d", peak, l.max)
		}
		if l.releaseBuffer(); held != 0 {
			t.Fatalf("%d bytes are not returned", held)
		}
	})
}
