package mounts

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const list = "/proc/self/mountinfo"

// Watch reads again what is mounted whenever that changes, until ctx is done. If that
// cannot be watched, nothing counts as local.
func (f *FS) Watch(ctx context.Context) {
	if f.watch(ctx) != nil {
		f.table.Store(everything())
	}
}

func (f *FS) watch(ctx context.Context) error {
	changes, err := os.Open(list)
	if err != nil {
		return err
	}
	defer changes.Close()
	var wake [2]int
	if err := unix.Pipe2(wake[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	defer func() { _ = unix.Close(wake[0]) }()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		_ = unix.Close(wake[1]) // which ends the poll
	}()
	for ctx.Err() == nil {
		// After opening, or after the last poll: changes since then are reported.
		f.table.Store(read())
		// The thread waits in the kernel until something is mounted or unmounted.
		on := []unix.PollFd{{Fd: int32(changes.Fd()), Events: unix.POLLPRI}, {Fd: int32(wake[0])}}
		if _, err := unix.Poll(on, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	<-ended
	return nil
}

// read reads what is mounted. That asks no file system anything.
func read() *table {
	f, err := os.Open(list)
	if err != nil {
		return everything()
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTable+1))
	if err != nil || len(text) > maxTable {
		return everything()
	}
	return parse(string(text))
}

// linked reports whether a folder on the way to a path is a symbolic link.
func linked(path string) (bool, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	switch {
	case err == nil:
		return false, unix.Close(fd)
	case errors.Is(err, unix.ELOOP):
		return true, nil
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EACCES), errors.Is(err, unix.ENAMETOOLONG):
		return false, nil // the look itself will say so
	}
	return false, err
}
