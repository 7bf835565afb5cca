//go:build cgo

package sqlitedb

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// TestFolderPath: an opened folder that is no longer found by its path is noticed, whatever
// became of it, and that it is back.
func TestFolderPath(t *testing.T) {
	rename := func(t *testing.T, from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		harm, undo func(t *testing.T, path string)
	}{
		"renamed": {
			func(t *testing.T, path string) { rename(t, path, path+".x") },
			func(t *testing.T, path string) { rename(t, path+".x", path) },
		},
		"its parent renamed": {
			func(t *testing.T, path string) { rename(t, filepath.Dir(path), filepath.Dir(path)+".x") },
			func(t *testing.T, path string) { rename(t, filepath.Dir(path)+".x", filepath.Dir(path)) },
		},
		"another folder": {
			func(t *testing.T, path string) {
				rename(t, path, path+".x")
				if err := os.Mkdir(path, 0o700); err != nil {
					t.Fatal(err)
				}
			},
			func(t *testing.T, path string) {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				rename(t, path+".x", path)
			},
		},
		"a link to itself": {
			func(t *testing.T, path string) {
				rename(t, path, path+".x")
				if err := os.Symlink(path+".x", path); err != nil {
					t.Fatal(err)
				}
			},
			func(t *testing.T, path string) {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				rename(t, path+".x", path)
			},
		},
		"a file in the way": {
			func(t *testing.T, path string) {
				rename(t, filepath.Dir(path), filepath.Dir(path)+".x")
				if err := os.WriteFile(filepath.Dir(path), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			func(t *testing.T, path string) {
				if err := os.Remove(filepath.Dir(path)); err != nil {
					t.Fatal(err)
				}
				rename(t, filepath.Dir(path)+".x", filepath.Dir(path))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "share", "permd")
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			folder, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer folder.Close()
			var p folderPath
			if err := errors.Join(p.init(folder), p.check(lookLimit)); err != nil {
				t.Fatalf("at first: %v", err)
			}
			tt.harm(t, path)
			for range 2 {
				if err := p.check(lookLimit); !errors.Is(err, ErrGone) {
					t.Errorf("error is %v, want ErrGone", err)
				}
			}
			tt.undo(t, path)
			if err := p.check(lookLimit); err != nil {
				t.Errorf("put back: %v", err)
			}
		})
	}
}

// TestFolderPathUnanswered: a file system that does not answer costs the first caller
// lookLimit and those after it nothing, and no second thread.
func TestFolderPathUnanswered(t *testing.T) {
	dir := t.TempDir()
	folder, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	synctest.Test(t, func(t *testing.T) {
		var p folderPath
		if err := p.init(folder); err != nil {
			t.Fatal(err)
		}
		answer := make(chan struct{})
		var looks atomic.Int32
		p.stat = func(path string, st *unix.Stat_t) error {
			looks.Add(1)
			<-answer
			return unix.Lstat(path, st)
		}
		start := time.Now()
		for range 100 {
			if err := p.check(lookLimit); !errors.Is(err, ErrGone) {
				t.Fatalf("error is %v, want ErrGone", err)
			}
		}
		if took := time.Since(start); took != lookLimit || looks.Load() != 1 {
			t.Errorf("100 callers waited for %v, %d looks; want %v and one", took, looks.Load(), lookLimit)
		}
		close(answer)
		synctest.Wait()
		if err := p.check(lookLimit); err != nil {
			t.Errorf("when it answers: %v", err)
		}
	})
}

func BenchmarkFolderPath(b *testing.B) {
	folder, err := os.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer folder.Close()
	var p folderPath
	if err := p.init(folder); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := p.check(lookLimit); err != nil {
			b.Fatal(err)
		}
	}
}
