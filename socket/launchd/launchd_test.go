package launchd

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// descriptors returns n descriptors of a new file each.
func descriptors(t *testing.T, n int) (fds []int32) {
	t.Helper()
	for range n {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		fds = append(fds, int32(fd))
	}
	return fds
}

func isOpen(fd int32) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil
}

func TestFiles(t *testing.T) {
	type answer struct {
		fds    int
		number syscall.Errno
		err    error
	}
	broken := errors.New("no such library")
	for name, tt := range map[string]struct {
		a, b answer
		want []string
		fail error
	}{
		"both":                                {answer{fds: 1}, answer{fds: 1}, []string{"a", "b"}, nil},
		"two of a name":                       {answer{fds: 2}, answer{fds: 1}, []string{"a", "a", "b"}, nil},
		"not by launchd":                      {answer{number: syscall.ESRCH}, answer{number: syscall.ESRCH}, nil, nil},
		"by an agent without sockets":         {answer{number: syscall.ENOENT}, answer{number: syscall.ENOENT}, nil, nil},
		"one of two":                          {answer{fds: 1}, answer{number: syscall.ENOENT}, []string{"a"}, nil},
		"taken before":                        {answer{fds: 1}, answer{number: syscall.EALREADY}, nil, syscall.EALREADY},
		"a library that cannot be opened":     {answer{err: broken}, answer{}, nil, broken},
		"more than there can be":              {answer{fds: 1}, answer{fds: 3, err: broken}, nil, broken},
		"none, of a name that is there":       {answer{}, answer{}, nil, nil},
		"an error number that nobody expects": {answer{number: syscall.EPERM}, answer{}, nil, syscall.EPERM},
	} {
		t.Run(name, func(t *testing.T) {
			var all []int32
			files, err := collect(func(name string) ([]int32, syscall.Errno, error) {
				said := map[string]answer{"a": tt.a, "b": tt.b}[name]
				fds := descriptors(t, said.fds)
				all = append(all, fds...)
				return fds, said.number, said.err
			}, []string{"a", "b"})
			if !errors.Is(err, tt.fail) || (err == nil) != (tt.fail == nil) {
				t.Errorf("have %v, want %v", err, tt.fail)
			}
			if len(files) != len(tt.want) {
				t.Fatalf("%d files, want %v", len(files), tt.want)
			}
			for i, f := range files {
				if f.Name() != tt.want[i] || int32(f.Fd()) != all[i] {
					t.Errorf("file %d is %s", i, f.Name())
				}
				if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
					t.Errorf("%s is given to programs that are started: %v", f.Name(), err)
				}
				f.Close()
			}
			for _, fd := range all {
				if isOpen(fd) {
					t.Errorf("descriptor %d is left open", fd)
				}
			}
		})
	}
}

// TestNoLaunchd: the tests are not started by launchd, so that there is no socket, and no error.
func TestNoLaunchd(t *testing.T) {
	files, err := Files("permd", "permd-admin")
	if err != nil || len(files) > 0 {
		t.Errorf("%v, %v", files, err)
	}
}
