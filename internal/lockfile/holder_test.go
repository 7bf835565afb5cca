package lockfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCommandOf(t *testing.T) {
	tests := []struct{ name, cmdline, want string }{
		{"program", "/usr/bin/permd\x00", "permd"},
		{"sub-command", "/usr/bin/permd\x00serve\x00--root\x00/x\x00", "permd serve"},
		{"option first", "permd\x00--token=CANARY\x00", "permd"},
		{"value first", "psql\x00password=CANARY\x00", "psql"},
		{"path first", "sh\x00/home/u/x\x00", "sh"},
		{"control characters", "/x/a\x1b[31m\nb\x00", "a?[31m?b"},
		{"long", strings.Repeat("x", 1000), strings.Repeat("x", maxCommand)},
		{"a kernel's thread", "", ""},
	}
	for _, tt := range tests {
		if got := commandOf(tt.cmdline); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestStartOf(t *testing.T) {
	const process = "42 (a) 9 (b) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 12345 1 2"
	const system = "cpu 1 2 3\nbtime 1700000000\nprocesses 9\n"
	if got, want := startOf(process, system), time.Unix(1700000123, 450e6); !got.Equal(want) {
		t.Errorf("%v, want %v", got, want)
	}
	for name, of := range map[string][2]string{
		"nothing": {"", ""}, "no boot time": {process, "cpu 1\n"}, "short": {"42 (a) S 1", system},
		"not a number": {strings.Replace(process, "12345", "x", 1), system}, "boot time is no number": {process, "btime x\n"},
	} {
		if got := startOf(of[0], of[1]); !got.IsZero() {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestHolder: the error names this process, which began a moment ago.
func TestHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Take(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Free()
	_, err = Take(path)
	if _, serr := os.Stat("/proc/self/stat"); serr != nil {
		t.Skip("this system has no /proc")
	}
	held, ok := errors.AsType[*Held](err)
	if !ok || held.Command == "" || time.Since(held.Since).Abs() > time.Hour {
		t.Fatalf("held by %+v", held)
	}
	if text := held.Error(); !strings.Contains(text, held.Command) || !strings.Contains(text, ", since ") {
		t.Errorf("error %q", text)
	}
	if (&Held{}).Holder() != "" || !strings.Contains((&Held{}).Error(), "another process") {
		t.Error("a holder that is not known")
	}
}
