package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoLinkRace: a folder that is swapped for a link all the time is read as the folder
// that it is or refused, and never as what the link leads to.
func TestNoLinkRace(t *testing.T) {
	dir := t.TempDir()
	at, link, other := filepath.Join(dir, ".permd"), filepath.Join(dir, "link"), filepath.Join(t.TempDir(), "other")
	for path, text := range map[string]string{at: "# own\n", other: "# another\n"} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, ListName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, at, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
				stopped <- err
				return
			}
		}
	}()
	own, refused := 0, 0
	for n := 0; n < 20_000 && (n < 2000 || own == 0 || refused == 0); n++ {
		tree, err := Read(at, Access{Writable: true, ListsOnly: true, NoLink: true})
		if err != nil {
			refused++
			continue
		}
		for _, f := range tree.Files {
			if own++; strings.Contains(string(f.Data), "another") {
				t.Fatalf("read %d: what the link leads to", n)
			}
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Skipf("files cannot be exchanged here: %v", err)
	}
	if own == 0 || refused == 0 {
		t.Errorf("%d times read, %d times refused: there was no race", own, refused)
	}
}
