package engine

import (
	"cmp"
	"context"
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

// keepSessions lets sessions of harnesses outlive their connections, and their
// questions be answered on the management socket.
func (e *Engine) keepSessions() {
	e.Persistent = &native.PersistentSessions{Sessions: e.Sessions, Now: wallClock, Digest: bounded(e.Mounts, contentDigest), OnEnd: func(o decisions.Owner) {
		if keeper := e.Keeper(); keeper != nil {
			// What could not be stored holds in memory, and a restart ends all
			// choices of sessions.
			_ = keeper.EndConnection(context.Background(), o)
		}
	}}
}

// wallClock returns the time without a monotonic clock reading. That clock stops while
// the machine is suspended, and a yes for half an hour must not outlive a night.
func wallClock() time.Time { return time.Now().Round(0) }

// content is what a function says of a file's content.
type content struct {
	text string
	size int64
}

// bounded does not wait for a file system that does not answer.
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

// contentState tells a file's content from any other: by its hash, and where that
// would take too long by what the file system says about the file. Whoever writes to
// it changes that, but not within the same tick of its clock, so nothing is known of a
// file that was changed less than pause ago. Limit is in bytes.
func contentState(path string, limit int64) (state string, size int64, err error) {
	return contentStateAt(path, limit, time.Now)
}

// pause is how long a file must not have been changed.
const pause = 2 * time.Second

func contentStateAt(path string, limit int64, now func() time.Time) (state string, size int64, err error) {
	if state, size, err = contentDigest(path, limit); !errors.Is(err, errLong) {
		return state, size, err
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", 0, fmt.Errorf("looking at a file: %w", err)
	}
	if now().Sub(time.Unix(0, st.Ctim.Nano())).Abs() < pause {
		return "", 0, errors.New("looking at a file: it was changed just now")
	}
	return fmt.Sprintf("file %d %d %d %d", st.Dev, st.Ino, st.Size, st.Ctim.Nano()), 0, nil
}

// errLong means that a file is longer than what may be read.
var errLong = errors.New("it is too long")

// noPath reports whether an error says that a word is no path, or one that leads
// nowhere.
func noPath(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG) || errors.Is(err, syscall.ELOOP)
}

// contentDigest is the hash of a regular file's content, and its length.
func contentDigest(path string, limit int64) (digest string, size int64, err error) {
	// A pipe must not hold the answer up.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case noPath(err):
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
		return "", 0, fmt.Errorf("hashing a file: %w", errLong)
	}
	sum := sha256.New()
	// It may grow meanwhile.
	if size, err = io.Copy(sum, io.LimitReader(f, limit+1)); err != nil || size > limit {
		return "", size, fmt.Errorf("hashing a file: it cannot be read to its end: %w", cmp.Or(err, io.ErrShortBuffer))
	}
	return hex.EncodeToString(sum.Sum(nil)), size, nil
}
