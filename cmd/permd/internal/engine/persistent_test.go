package engine

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/decisions"
)

func TestContentDigest(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, []byte("abc"), 0o600), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	for _, path := range []string{file, link} {
		if sum, n, err := contentDigest(path, 3); sum != abc || n != 3 || err != nil {
			t.Errorf("%s: %s, %d, %v", path, sum, n, err)
		}
		if sum, _, err := contentDigest(path, 2); sum != "" || err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, decisions.ErrNoContent) {
			t.Errorf("%s is too long: %q, %v", path, sum, err)
		}
	}
	for _, path := range []string{dir, "/dev/zero"} {
		if sum, _, err := contentDigest(path, 3); sum != "" || !errors.Is(err, decisions.ErrNoContent) {
			t.Errorf("%s: %q, %v", path, sum, err)
		}
	}
	if _, _, err := contentDigest(filepath.Join(dir, "none"), 2); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestContentNoPath: words that are not paths of files have no content, every time.
func TestContentNoPath(t *testing.T) {
	dir := t.TempDir()
	file, loop, socket := filepath.Join(dir, "file"), filepath.Join(dir, "loop"), filepath.Join(dir, "socket")
	l, err := net.Listen("unix", socket)
	if err = errors.Join(err, os.WriteFile(file, nil, 0o600), os.Symlink(loop, loop)); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, want := range map[string]error{
		filepath.Join(file, "x"): fs.ErrNotExist, loop: fs.ErrNotExist, filepath.Join(dir, strings.Repeat("x", 256)): fs.ErrNotExist, socket: decisions.ErrNoContent,
	} {
		if sum, _, err := contentState(path, 10); sum != "" || !errors.Is(err, want) {
			t.Errorf("%.80s: %q, %v, want %v", path, sum, err, want)
		}
	}
}

// TestContentState: a file above the limit has no state before it has been
// unchanged for long enough, to the nanosecond, and then keeps it until it changes.
func TestContentState(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		t.Fatal(err)
	}
	changed := time.Unix(0, st.Ctim.Nano())
	at := func(limit int64, after time.Duration) string {
		t.Helper()
		state, _, err := contentStateAt(file, limit, func() time.Time { return changed.Add(after) })
		if (state == "") != (err != nil) {
			t.Errorf("%q, %v", state, err)
		}
		return state
	}
	hash := at(3, 0)
	if hash == "" || hash != at(3, pause) {
		t.Errorf("as long as the limit: %q", hash)
	}
	for _, after := range []time.Duration{-pause + 1, 0, 1, pause - 1} {
		if s := at(2, after); s != "" {
			t.Errorf("%v after a change: %q", after, s)
		}
	}
	rested := at(2, pause)
	if rested == "" || rested == hash || rested != at(2, time.Hour) {
		t.Errorf("rested: %q", rested)
	}
	// As soon as its clock ticks, a change shows.
	for {
		if err := os.WriteFile(file, []byte("xyz"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unix.Stat(file, &st); err != nil {
			t.Fatal(err)
		}
		if st.Ctim.Nano() != changed.UnixNano() {
			break
		}
	}
	if s := at(2, time.Hour); s == rested {
		t.Error("another content says the same")
	}
}
