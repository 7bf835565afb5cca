package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/socket/native"
)

// keepSessions lets the sessions of harnesses outlive their connections, and lets their
// questions be answered on the management socket.
func (e *Engine) keepSessions() {
	e.Persistent = &native.PersistentSessions{Sessions: e.Sessions, Now: e.wallClock, Digest: bounded(e.Mounts, contentDigest), OnEnd: func(o decisions.Owner) {
		if keeper := e.Keeper(); keeper != nil {
			keeper.EndConnection(o)
		}
	}}
}

// wallClock returns the time without a monotonic clock reading. That clock stops while
// the machine is suspended, and a yes for half an hour must not outlive a night.
func (e *Engine) wallClock() time.Time { return e.config.Now().Round(0) }

// content is what a function reports of a file's content.
type content struct {
	text string
	size int64
}

// bounded returns a function that does not wait for a file system that does not answer.
func bounded(files *mounts.FS, of func(string, int64) (string, int64, error)) func(string, int64) (string, int64, error) {
	return func(path string, limit int64) (string, int64, error) {
		c, err := mounts.Look(files, path, func(path string) (c content, err error) {
			c.text, c.size, err = of(path, limit)
			return c, err
		})
		if noPath(err) {
			err = fmt.Errorf("looking at a file: %w: %w", fs.ErrNotExist, err)
		}
		return c.text, c.size, err
	}
}

// contentState returns a text that changes when the file's content does: its hash or, if
// hashing would take too long, what the file system says about the file. A write changes
// the latter only if the file system's clock has ticked since the last write, so for a
// file that was changed less than minFileAge ago the state is unknown. limit is the
// number of bytes to hash at most.
func contentState(path string, limit int64) (state string, size int64, err error) {
	return contentStateAt(path, limit, time.Now)
}

// minFileAge is how long a file must not have been changed.
const minFileAge = 2 * time.Second

func contentStateAt(path string, limit int64, now func() time.Time) (state string, size int64, err error) {
	if state, size, err = contentDigest(path, limit); !errors.Is(err, errFileTooLong) {
		return state, size, err
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", 0, fmt.Errorf("looking at a file: %w", err)
	}
	if now().Sub(time.Unix(0, st.Ctim.Nano())).Abs() < minFileAge {
		return "", 0, errors.New("looking at a file: it was changed just now")
	}
	return fmt.Sprintf("file %d %d %d %d", st.Dev, st.Ino, st.Size, st.Ctim.Nano()), 0, nil
}

// errFileTooLong means that a file is too long to be hashed.
var errFileTooLong = errors.New("it is too long")

// noPath reports whether an error says that a word is no path, or one that leads
// nowhere.
func noPath(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG) || errors.Is(err, syscall.ELOOP)
}

// contentDigest returns the hash of a regular file's content, and its length.
func contentDigest(path string, limit int64) (digest string, size int64, err error) {
	// O_NONBLOCK: opening a FIFO must not block.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case noPath(err): // the word is not a path, or nothing exists there
		return "", 0, fmt.Errorf("hashing a file: %w: %w", fs.ErrNotExist, err)
	case errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.ENODEV):
		return "", 0, decisions.ErrNoContent // a socket or a device
	case err != nil:
		return "", 0, fmt.Errorf("hashing a file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", 0, fmt.Errorf("hashing a file: %w", err)
	}
	switch {
	case !info.Mode().IsRegular():
		return "", 0, decisions.ErrNoContent
	case info.Size() > limit:
		return "", 0, fmt.Errorf("hashing a file: %w", errFileTooLong)
	}
	sum := sha256.New()
	// The file may grow meanwhile.
	if size, err = io.Copy(sum, io.LimitReader(f, limit+1)); err != nil || size > limit {
		return "", size, fmt.Errorf("hashing a file: it cannot be read to its end: %w", cmp.Or(err, io.ErrShortBuffer))
	}
	return hex.EncodeToString(sum.Sum(nil)), size, nil
}
