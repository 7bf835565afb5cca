package socket

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// newLines returns a reader whose budget has no limit, and counts what it reserves.
func newLines(r io.Reader, limit int, reserved *int) *lines {
	return &lines{
		r: r, max: limit,
		reserve: func(n int) bool { *reserved += n; return true },
		release: func(n int) { *reserved -= n },
	}
}

// all returns everything that next returns, errors as their text.
func all(t *testing.T, l *lines) []string {
	t.Helper()
	var got []string
	for {
		line, err := l.next()
		switch {
		case errors.Is(err, io.EOF):
			return got
		case errors.Is(err, errTooLong) || errors.Is(err, errNoRoom):
			got = append(got, "error: "+err.Error())
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, string(line))
		}
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	tests := []struct {
		name, in string
		max      int
		want     []string
	}{
		{"nothing", "", 10, nil},
		{"two", "a\nb\n", 10, []string{"a", "b"}},
		{"empty lines are lines", "\n\na\n", 10, []string{"", "", "a"}},
		{"half a line at the end is none", "a\nb", 10, []string{"a"}},
		{"carriage return stays", "a\r\n", 10, []string{"a\r"}},
		{"as long as allowed", "0123456789\nb\n", 10, []string{"0123456789", "b"}},
		{"one too long", "0123456789x\nb\n", 10, []string{"error: message too long", "b"}},
		{"long, longer than the buffer", long + "\nb\n", 200_000, []string{long, "b"}},
		{"too long, longer than the buffer", long + "\nb\n", 10, []string{"error: message too long", "b"}},
		{"too long twice", long + "\n" + long + "\nb\n", 10, []string{"error: message too long", "error: message too long", "b"}},
		{"too long without an end", long, 10, []string{"error: message too long"}},
	}
	for _, tt := range tests {
		for how, wrap := range map[string]func(io.Reader) io.Reader{
			"at once":      func(r io.Reader) io.Reader { return r },
			"byte by byte": iotest.OneByteReader,
			"data and EOF": iotest.DataErrReader,
		} {
			t.Run(tt.name+" "+how, func(t *testing.T) {
				reserved := 0
				l := newLines(wrap(strings.NewReader(tt.in)), tt.max, &reserved)
				if diff := cmp.Diff(tt.want, all(t, l)); diff != "" {
					t.Errorf("lines differ (-want +got):\n%.500s", diff)
				}
				l.releaseBuffer()
				if reserved != 0 {
					t.Errorf("%d bytes are still reserved", reserved)
				}
			})
		}
	}
}

func TestLinesBuffer(t *testing.T) {
	t.Run("a line too long is not kept", func(t *testing.T) {
		reserved := 0
		l := newLines(io.LimitReader(zeros{}, 64<<20), 1<<20, &reserved)
		if _, err := l.next(); !errors.Is(err, errTooLong) {
			t.Fatal(err)
		}
		if _, err := l.next(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if len(l.buf) > 2<<20 {
			t.Errorf("the buffer has grown to %d bytes", len(l.buf))
		}
	})
	t.Run("is given back after a long line", func(t *testing.T) {
		reserved := 0
		r, w := io.Pipe()
		go func() {
			_, _ = w.Write(append(bytes.Repeat([]byte{'x'}, 1<<20), '\n'))
			_, _ = w.Write([]byte("a\n"))
			_ = w.Close()
		}()
		l := newLines(r, 4<<20, &reserved)
		if _, err := l.next(); err != nil {
			t.Fatal(err)
		}
		if reserved == 0 {
			t.Error("a long line took nothing of the budget")
		}
		if _, err := l.next(); err != nil {
			t.Fatal(err)
		}
		if reserved != 0 || len(l.buf) > keepBuffer {
			t.Errorf("%d bytes reserved, buffer %d", reserved, len(l.buf))
		}
	})
	t.Run("without budget the line is skipped", func(t *testing.T) {
		l := newLines(strings.NewReader(strings.Repeat("x", 200_000)+"\nb\n"), 1<<20, new(int))
		l.reserve = func(int) bool { return false }
		if diff := cmp.Diff([]string{"error: this connection uses too much memory: send less at a time", "b"}, all(t, l)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestLimitsLeaveFree has users open as many connections as they can, of a daemon for several.
func TestLimitsLeaveFree(t *testing.T) {
	o := (Options{MaxConns: 256, MaxConnsPerUID: 128, Members: &Members{}}).withDefaults()
	for _, greedy := range []uint32{1, 2, 3, 12} {
		l := o.limits()
		for range o.MaxConns {
			for uid := range greedy {
				_ = l.enter(uid)
			}
		}
		others := uint32(1000)
		for l.enter(others) == nil {
			others++
		}
		if free := int(others - 1000); free < o.MaxConns/int(greedy+1)-1 {
			t.Errorf("%d users left %d connections", greedy, free)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestLimits(t *testing.T) {
	l := connLimits{maxConns: 3, maxConnsPerUID: 2}
	steps := []struct {
		name string
		do   func() bool
		want bool
	}{
		{"first of a", func() bool { return l.enter(1) == nil }, true},
		{"second of a", func() bool { return l.enter(1) == nil }, true},
		{"third of a", func() bool { return errors.Is(l.enter(1), errConnsPerUID) }, true},
		{"first of b", func() bool { return l.enter(2) == nil }, true},
		{"fourth of all", func() bool { return errors.Is(l.enter(3), errConns) }, true},
	}
	for _, s := range steps {
		if got := s.do(); got != s.want {
			t.Errorf("%s: %v, want %v", s.name, got, s.want)
		}
	}
	l.leave(1)
	l.leave(1)
	l.leave(2)
	if len(l.users) != 0 || l.conns != 0 {
		t.Errorf("not empty after all left: %+v", &l)
	}
}
