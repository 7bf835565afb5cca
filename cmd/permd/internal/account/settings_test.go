package account

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
)

// TestSettingsFile: a file that others can write is refused, since it could turn
// rules off, and one that is not a regular file must not block the daemon.
func TestSettingsFile(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, file string) error
		says string // "" if it is read
	}{
		{"good", func(_ *testing.T, file string) error { return os.Chmod(file, 0o644) }, ""},
		{"group may write", func(_ *testing.T, file string) error { return os.Chmod(file, 0o664) }, "mode 0664"},
		{"all may write", func(_ *testing.T, file string) error { return os.Chmod(file, 0o666) }, "mode 0666"},
		{"fifo", func(_ *testing.T, file string) error {
			return errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600))
		}, "not a regular file"},
		{"folder", func(_ *testing.T, file string) error {
			return errors.Join(os.Remove(file), os.Mkdir(file, 0o700))
		}, "not a regular file"},
		{"another user's", func(t *testing.T, file string) error {
			if os.Geteuid() != 0 {
				t.Skip("giving a file to another user needs root")
			}
			return os.Chown(file, 4711, -1)
		}, "belongs to uid 4711"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), SettingsName)
			if err := os.WriteFile(file, []byte("only_org = true\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := tt.make(t, file); err != nil {
				t.Fatal(err)
			}
			read := make(chan error, 1)
			go func() {
				_, err := ReadSettingsFile(file)
				read <- err
			}()
			select {
			case err := <-read:
				if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
					t.Errorf("error is %v, want it to say %q", err, tt.says)
				}
			case <-time.After(eventually.Limit):
				t.Fatal("reading does not end")
			}
		})
	}
}
