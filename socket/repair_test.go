package socket

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/lockfile"
)

const ping, pong = `{"jsonrpc":"2.0","id":1,"method":"null"}` + "\n", `{"jsonrpc":"2.0","id":1,"result":null}`

// TestRepair: whatever becomes of the file, who is connected stays so, and new clients
// find the server again.
func TestRepair(t *testing.T) {
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		harm func(t *testing.T, path string)
		// says is the error of a first repair, "" for none; undo makes the next one
		// succeed.
		says string
		undo func(t *testing.T, path string)
	}{
		{"removed", func(t *testing.T, path string) { must(t, os.Remove(path)) }, "", nil},
		{"folder removed", func(t *testing.T, path string) { must(t, os.RemoveAll(filepath.Dir(path))) }, "", nil},
		{"lock removed as well", func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, os.Remove(filepath.Join(filepath.Dir(path), lockName)))
		}, "", nil},
		{"another's, who has ended", func(t *testing.T, path string) {
			must(t, os.Remove(path))
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			must(t, err)
			l.SetUnlinkOnClose(false)
			must(t, l.Close())
		}, "", nil},
		{"another's, who listens", func(t *testing.T, path string) {
			must(t, os.Remove(path))
			l, err := net.Listen("unix", path)
			must(t, err)
			t.Cleanup(func() { l.Close() })
		}, "another program listens at", func(t *testing.T, path string) { must(t, os.Remove(path)) }},
		{"a file", func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, os.WriteFile(path, []byte("dear diary"), 0o600))
		}, "is a regular file, not a socket", func(t *testing.T, path string) { must(t, os.Remove(path)) }},
		{"folder is open to others", func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, os.Chmod(filepath.Dir(path), 0o777))
		}, "checking the socket's folder", func(t *testing.T, path string) { must(t, os.Chmod(filepath.Dir(path), 0o700)) }},
		{"another daemon has begun", func(t *testing.T, path string) {
			must(t, os.RemoveAll(filepath.Dir(path)))
			must(t, os.Mkdir(filepath.Dir(path), 0o700))
			other, err := lockfile.Take(filepath.Join(filepath.Dir(path), lockName))
			must(t, err)
			t.Cleanup(func() { _ = other.Free() })
		}, "permd is already running on", func(t *testing.T, path string) { must(t, os.RemoveAll(filepath.Dir(path))) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := serve(t, Methods{"null": now(nil, nil)}, Options{})
			connected := r.dial()
			answers := func(c *peer) {
				t.Helper()
				c.write(ping)
				c.want(pong)
			}
			answers(connected)
			if bound, err := r.ln.Repair(); bound || err != nil {
				t.Errorf("nothing was wrong: %v, %v", bound, err)
			}
			tt.harm(t, r.path)
			if tt.says != "" {
				for range 2 {
					if bound, err := r.ln.Repair(); bound || err == nil || !strings.Contains(err.Error(), tt.says) {
						t.Errorf("repair: %v, %v; want %q", bound, err, tt.says)
					}
				}
				answers(connected)
				tt.undo(t, r.path)
			}
			for n := range 2 {
				if bound, err := r.ln.Repair(); bound != (n == 0) || err != nil {
					t.Fatalf("repair %d: %v, %v", n, bound, err)
				}
			}
			answers(connected)
			fresh := r.dial()
			answers(fresh)
			// No second daemon may start now.
			if _, err := Listen(r.path, ListenOptions{}); err == nil || !strings.Contains(err.Error(), "already running") {
				t.Errorf("another listens: %v", err)
			}
			if err := r.stop(); err != nil {
				t.Errorf("stopping: %v", err)
			}
			if _, err := os.Lstat(r.path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the socket is left: %v", err)
			}
			if bound, err := r.ln.Repair(); bound || err != nil {
				t.Errorf("after the end: %v, %v", bound, err)
			}
		})
	}
}

// TestRepairActivated: the file of a service manager's socket is left to it.
func TestRepairActivated(t *testing.T) {
	path := filepath.Join(shortDir(t), "a.sock")
	ul, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l := FromActivated(ul)
	defer l.Close()
	if bound, err := l.Repair(); bound || err != nil {
		t.Errorf("nothing was wrong: %v, %v", bound, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	bound, err := l.Repair()
	h, ok := errors.AsType[hintError](err)
	if bound || !ok || !strings.Contains(err.Error(), path+" was removed or replaced") || !strings.Contains(h.Hint(), "service manager") {
		t.Errorf("removed: %v, %v", bound, err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was bound: %v", err)
	}
}
