package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/coreos/go-systemd/v22/activation"
	"golang.org/x/sys/unix"

	"github.com/permd/permd/socket/launchd"
)

// The names of the two sockets: FileDescriptorName= in their units.
const (
	DecisionName = "permd"
	AdminName    = "permd-admin"
)

// sockets are the sockets opened by the service manager.
type sockets struct {
	Decision, Admin *net.UnixListener
}

// Listeners takes over the sockets that the service manager passes, named DecisionName
// and AdminName, and unsets the variables that announce them; on macOS it takes those that
// launchd has opened by these names. It returns false if none are passed. If anything but exactly these two is passed, it closes all of them and
// returns an error: a daemon with half of its sockets must not start.
func Listeners() (sockets, bool, error) {
	if err := checkAnnounced(); err != nil {
		clearAnnouncement()
		return sockets{}, false, err
	}
	files := activation.Files(true)
	if len(files) == 0 {
		var err error
		if files, err = launchd.Files(DecisionName, AdminName); err != nil {
			return sockets{}, false, err
		}
	}
	if len(files) == 0 {
		return sockets{}, false, nil
	}
	s, err := takeListeners(files)
	return s, err == nil, err
}

// firstFD is the first descriptor that the service manager passes. maxFDs is more than
// permd's units have.
const (
	firstFD = 3
	maxFDs  = 8
)

// checkAnnounced checks the descriptors before they are used: one that was not passed
// may be the Go runtime's, which would then be closed.
func checkAnnounced() error {
	pid, err := strconv.Atoi(os.Getenv("LISTEN_PID"))
	if err != nil || pid != os.Getpid() {
		return nil // for another process
	}
	n, err := strconv.Atoi(os.Getenv("LISTEN_FDS"))
	if err != nil || n <= 0 {
		return nil
	}
	if n > maxFDs {
		return fmt.Errorf("the service manager passes %d sockets: want %s and %s", n, DecisionName, AdminName)
	}
	for fd := firstFD; fd < firstFD+n; fd++ {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return fmt.Errorf("looking at descriptor %d of the service manager: %w", fd, err)
		}
		if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
			return fmt.Errorf("the service manager passes descriptor %d, which is no socket", fd)
		}
	}
	return nil
}

// clearAnnouncement unsets the variables, so that the descriptors are not used later.
func clearAnnouncement() {
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name) // fails for invalid names only
	}
}

// takeListeners converts files to listeners and closes the files.
func takeListeners(files []*os.File) (s sockets, err error) {
	defer func() {
		for _, f := range files {
			_ = f.Close() // listeners have duplicates
		}
		if err != nil {
			s.close()
			s = sockets{}
		}
	}()
	for _, f := range files {
		var to **net.UnixListener
		switch f.Name() {
		case DecisionName:
			to = &s.Decision
		case AdminName:
			to = &s.Admin
		default:
			return s, fmt.Errorf("the service manager passes a socket %q: want %s and %s (FileDescriptorName=, or a key of Sockets)", f.Name(), DecisionName, AdminName)
		}
		if *to != nil {
			return s, fmt.Errorf("the service manager passes two sockets named %s", f.Name())
		}
		l, err := listenerOf(f)
		if err != nil {
			return s, fmt.Errorf("taking the socket %s of the service manager: %w", f.Name(), err)
		}
		*to = l
	}
	if sameSocket(files) {
		// Clients that may only ask for decisions could then manage the daemon.
		return s, fmt.Errorf("the service manager passes one socket as %s and %s", DecisionName, AdminName)
	}
	if s.Decision == nil || s.Admin == nil {
		return s, errors.Join(missingError(s.Decision, DecisionName), missingError(s.Admin, AdminName))
	}
	return s, nil
}

// sameSocket reports whether any two of the files are the same socket.
func sameSocket(files []*os.File) bool {
	for i, f := range files {
		a, err := f.Stat()
		for _, g := range files[:i] {
			b, berr := g.Stat()
			if err == nil && berr == nil && os.SameFile(a, b) {
				return true
			}
		}
	}
	return false
}

func missingError(l *net.UnixListener, name string) error {
	if l != nil {
		return nil
	}
	return fmt.Errorf("the service manager passes no socket named %s (FileDescriptorName=, or a key of Sockets)", name)
}

func (s sockets) close() {
	for _, l := range []*net.UnixListener{s.Decision, s.Admin} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// listenerOf returns a listener for f, which must be listening: net.FileListener accepts
// other sockets, and their Accept fails only later.
func listenerOf(f *os.File) (*net.UnixListener, error) {
	if err := checkListening(f); err != nil {
		return nil, err
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	ul, ok := l.(*net.UnixListener)
	if !ok {
		_ = l.Close()
		return nil, errors.New("not a Unix socket")
	}
	ul.SetUnlinkOnClose(false)
	return ul, nil
}
