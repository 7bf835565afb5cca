package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/coreos/go-systemd/v22/activation"
	"golang.org/x/sys/unix"
)

// The names of the two sockets: FileDescriptorName= in their units.
const (
	DecisionName = "permd"
	AdminName    = "permd-admin"
)

// sockets are the sockets that the service manager has opened.
type sockets struct {
	Decision, Admin *net.UnixListener
}

// Listeners takes the sockets that the service manager passes, with the names
// DecisionName and AdminName, and clears the variables that announce them. It
// returns false if none are passed. Anything but these two is an error, and all
// are closed: a unit that is wrong must not run half.
func Listeners() (sockets, bool, error) {
	if err := checkAnnounced(); err != nil {
		unannounce()
		return sockets{}, false, err
	}
	files := activation.Files(true)
	if len(files) == 0 {
		return sockets{}, false, nil
	}
	s, err := take(files)
	return s, err == nil, err
}

// firstFD is the first descriptor that the service manager passes; maxFDs is
// more than any unit of ours has.
const (
	firstFD = 3
	maxFDs  = 8
)

// checkAnnounced looks at the descriptors before they are taken: taking one
// that was not passed would take, and then close, one of the Go runtime's.
func checkAnnounced() error {
	pid, err := strconv.Atoi(os.Getenv("LISTEN_PID"))
	if err != nil || pid != os.Getpid() {
		return nil // not for us
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

// unannounce clears the variables, so that nobody takes the descriptors later.
func unannounce() {
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name) // fails only for a name that cannot be one
	}
}

// take turns files into listeners and closes them.
func take(files []*os.File) (s sockets, err error) {
	defer func() {
		for _, f := range files {
			_ = f.Close() // listeners work on duplicates
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
			return s, fmt.Errorf("the service manager passes a socket %q: want %s and %s (FileDescriptorName=)", f.Name(), DecisionName, AdminName)
		}
		if *to != nil {
			return s, fmt.Errorf("the service manager passes two sockets named %s", f.Name())
		}
		l, err := listener(f)
		if err != nil {
			return s, fmt.Errorf("taking the socket %s of the service manager: %w", f.Name(), err)
		}
		*to = l
	}
	if same(files) {
		// What may ask would then be able to manage.
		return s, fmt.Errorf("the service manager passes one socket as %s and %s", DecisionName, AdminName)
	}
	if s.Decision == nil || s.Admin == nil {
		return s, errors.Join(missing(s.Decision, DecisionName), missing(s.Admin, AdminName))
	}
	return s, nil
}

// same reports whether two of the files are one socket.
func same(files []*os.File) bool {
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

func missing(l *net.UnixListener, name string) error {
	if l != nil {
		return nil
	}
	return fmt.Errorf("the service manager passes no socket named %s (FileDescriptorName=)", name)
}

func (s sockets) close() {
	for _, l := range []*net.UnixListener{s.Decision, s.Admin} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// listener makes sure that f listens: net.FileListener takes sockets that do
// not, whose Accept fails only later.
func listener(f *os.File) (*net.UnixListener, error) {
	if err := listens(f); err != nil {
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
