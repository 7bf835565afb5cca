package cli

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// TestProgress: at a terminal there is a bar, which is gone at the end; elsewhere there is
// nothing.
func TestProgress(t *testing.T) {
	terminal, tty, err := pty.Open()
	if err != nil {
		t.Skip("no terminal:", err)
	}
	defer terminal.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 60}); err != nil {
		t.Fatal(err)
	}
	p := NewProgress(tty, "verifying")
	p.Set(1, 2) // too early
	p.began = p.began.Add(-time.Minute)
	p.Set(1, 2)
	p.Set(2, 2) // too soon again
	p.Close()
	tty.Close()
	var out strings.Builder
	b := make([]byte, 4096)
	for {
		n, err := terminal.Read(b)
		out.Write(b[:n])
		if err != nil {
			break
		}
	}
	want := "\rverifying [" + strings.Repeat("#", 20) + strings.Repeat(" ", 20) + "]  50 %\r" + strings.Repeat(" ", 59) + "\r"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}

	f, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p = NewProgress(f, "verifying")
	p.began = time.Time{}
	p.Set(1, 2)
	p.Close()
	if info, err := f.Stat(); err != nil || info.Size() > 0 {
		t.Errorf("a file gets %d bytes, %v", info.Size(), err)
	}
}
