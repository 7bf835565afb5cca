package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/internal/lockfile"
	"github.com/permd/permd/internal/xdg"
)

// ListenOptions set the permissions of a socket.
type ListenOptions struct {
	// perm is the mode of the socket: 0600, also if it is 0, or 0660 for the group GID.
	perm fs.FileMode
	// gid is the group of the socket, and of its folder if Listen creates that. It is
	// used with mode 0660 only and is never 0.
	gid int
}

// ForGroup are the options of a socket that a group may use, too. It is not root's.
func ForGroup(gid uint32) ListenOptions { return ListenOptions{perm: 0o660, gid: int(gid)} }

// Listener is a Unix socket that permd listens on.
type Listener struct {
	path    string
	options ListenOptions
	// current is what accepts connections: another one after Repair.
	current atomic.Pointer[net.UnixListener]

	mu      sync.Mutex     // guards the fields below
	lock    *lockfile.Lock // nil for a socket from the service manager
	id      inode          // of the socket that was bound
	stopped bool
	stopErr error

	closeOnce sync.Once
	closeErr  error
}

type inode struct{ dev, ino uint64 }

// Listen binds a socket at path, which must have a folder of its own. The folder is
// created with mode 0700 (0750 with a group), or must have that mode already. A lock
// file in it prevents a second daemon from starting (*errRunning). A stale socket of
// permd's own is replaced; anything else at path is left alone and is an error. Nobody
// can connect before the mode is set. Errors may have a method Hint() string.
func Listen(path string, o ListenOptions) (*Listener, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	path, err := checkPath(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	if err := o.prepare(dir); err != nil {
		return nil, err
	}
	l := &Listener{path: path, options: o}
	if l.lock, err = lock(filepath.Join(dir, lockName), path); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, errors.Join(err, l.lock.Free())
	}
	ul, id, err := bind(path, o)
	if err != nil {
		return nil, errors.Join(err, l.lock.Free())
	}
	l.id = id
	l.current.Store(ul)
	return l, nil
}

// FromActivated returns a listener for a socket that the service manager has bound.
// Closing it does not remove the socket, and it has no lock: the manager starts one
// daemon only.
func FromActivated(l *net.UnixListener) *Listener {
	l.SetUnlinkOnClose(false)
	taken := &Listener{path: l.Addr().String()}
	taken.id, _ = inodeOf(taken.path) // a file that is not there is none of this socket's
	taken.current.Store(l)
	return taken
}

// Path returns the path of the socket.
func (l *Listener) Path() string { return l.path }

// Addr returns the address of the socket.
func (l *Listener) Addr() net.Addr { return l.current.Load().Addr() }

// Accept returns the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		ul := l.current.Load()
		c, err := ul.Accept()
		if err == nil || l.current.Load() == ul {
			return c, err
		}
		// Repair has closed it.
	}
}

// Close stops listening, removes the socket if it is still the one that was bound, and
// releases the lock. Open connections are not closed.
func (l *Listener) Close() error {
	l.closeOnce.Do(func() {
		l.closeErr = l.stop()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.lock != nil {
			l.closeErr = errors.Join(l.closeErr, l.lock.Free())
		}
	})
	return l.closeErr
}

// stop is Close without releasing the lock. It is used while the last requests are
// answered.
func (l *Listener) stop() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return l.stopErr
	}
	l.stopped = true
	if l.lock != nil {
		if id, err := inodeOf(l.path); err == nil && id == l.id {
			l.stopErr = os.Remove(l.path)
		}
	}
	l.stopErr = errors.Join(l.stopErr, l.current.Load().Close())
	return l.stopErr
}

func (o ListenOptions) check() error {
	switch o.perm {
	case 0, 0o600:
		if o.gid != 0 {
			return errors.New("a group needs socket mode 0660")
		}
	case 0o660:
		if o.gid <= 0 {
			return errors.New("socket mode 0660 needs a group other than root's")
		}
	default:
		return fmt.Errorf("socket mode %#o is neither 0600 nor 0660", o.perm)
	}
	return nil
}

func (o ListenOptions) mode() fs.FileMode {
	if o.perm == 0 {
		return 0o600
	}
	return o.perm
}

// checkPath makes path absolute, because the working directory may change before the
// socket is removed. It also checks its length: the kernel would only report "invalid
// argument".
func checkPath(path string) (string, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return "", errors.New("the socket's path is empty or holds a NUL")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding the socket's path: %w", err)
	}
	if len(path) > maxPath {
		return "", hintError{
			fmt.Errorf("socket path too long (%d > %d bytes): %s", len(path), maxPath, path),
			"choose a shorter path with --socket or XDG_RUNTIME_DIR",
		}
	}
	return path, nil
}

// prepare creates the socket's folder and its parents if they are missing, and checks
// them.
func (o ListenOptions) prepare(dir string) error {
	made, err := makeDirs(dir)
	if err != nil {
		return fmt.Errorf("making the socket's folder: %w", err)
	}
	forbidden := fs.FileMode(0o077)
	if o.gid > 0 {
		forbidden = 0o027
		if made {
			// Only a folder that prepare has created is opened to the group. Until here its
			// mode is 0700.
			if err := os.Lchown(dir, -1, o.gid); err != nil {
				return fmt.Errorf("giving the socket's folder to group %d: %w", o.gid, err)
			}
			if err := os.Chmod(dir, 0o750); err != nil { //nolint:gosec // the group is to reach the socket
				return fmt.Errorf("opening the socket's folder to its group: %w", err)
			}
		}
	}
	err = xdg.CheckOwn(dir, uint32(os.Geteuid()), forbidden)
	if untrusted, ok := errors.AsType[*xdg.UntrustedError](err); ok {
		hint := "choose a socket in a folder that only you can change"
		if untrusted.Path == dir {
			hint = "give the socket a folder of its own, or make this one private: chmod 700 " + dir
		}
		return hintError{fmt.Errorf("checking the socket's folder: %w", err), hint}
	}
	if err != nil {
		return fmt.Errorf("checking the socket's folder: %w", err)
	}
	return nil
}

// makeDirs is os.MkdirAll with mode 0700. It reports whether dir itself is new, and does
// not follow a dangling link.
func makeDirs(dir string) (made bool, err error) {
	if _, err := os.Lstat(dir); err == nil {
		return false, nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if _, err := makeDirs(parent); err != nil {
			return false, err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return false, nil
		}
		return false, err
	}
	return true, nil
}

// removeStale removes the socket of a daemon that was killed. The lock is held, so no
// permd uses it. The path may be that of another program's socket by mistake, so it is
// removed only if it belongs to this user and nobody listens.
func removeStale(path string) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at the socket's path: %w", err)
	}
	if fi.Mode().Type() != fs.ModeSocket {
		return hintError{
			fmt.Errorf("%s is %s, not a socket: it was left as it is", path, typeName(fi.Mode())),
			"look at it and move it away, or choose another socket",
		}
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || st.Uid != uint32(os.Geteuid()) {
		return hintError{
			fmt.Errorf("the socket at %s belongs to another user: it was left as it is", path),
			"remove it as its owner, or choose another socket",
		}
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		c.Close()
	}
	if !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist) {
		return hintError{
			fmt.Errorf("another program listens at %s: its socket was left as it is", path),
			"stop that program, or choose another socket",
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the stale socket: %w", err)
	}
	return nil
}

func typeName(m fs.FileMode) string {
	switch m.Type() {
	case 0:
		return "a regular file"
	case fs.ModeDir:
		return "a folder"
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeNamedPipe:
		return "a named pipe"
	}
	return "a device"
}

// bind binds, sets mode and group, and then listens: a socket accepts connections only
// after listen, so nobody can connect before. Setting the umask instead would affect the
// files of all other goroutines.
func bind(path string, o ListenOptions) (_ *net.UnixListener, id inode, err error) {
	fd, err := newSocket()
	if err != nil {
		return nil, id, fmt.Errorf("making a socket: %w", err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close() // the listener has a duplicate
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return nil, id, fmt.Errorf("binding %s: %w", path, err)
	}
	if id, err = inodeOf(path); err != nil {
		return nil, id, fmt.Errorf("looking at the new socket: %w", err)
	}
	ul, err := open(f, fd, path, o)
	if err != nil {
		if now, ierr := inodeOf(path); ierr == nil && now == id {
			_ = os.Remove(path)
		}
		return nil, id, err
	}
	return ul, id, nil
}

func open(f *os.File, fd int, path string, o ListenOptions) (*net.UnixListener, error) {
	if o.gid > 0 {
		if err := os.Lchown(path, -1, o.gid); err != nil {
			return nil, fmt.Errorf("giving the socket to group %d: %w", o.gid, err)
		}
	}
	if err := os.Chmod(path, o.mode()); err != nil {
		return nil, fmt.Errorf("setting the socket's mode: %w", err)
	}
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return nil, fmt.Errorf("listening on %s: %w", path, err)
	}
	nl, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", path, err)
	}
	ul, ok := nl.(*net.UnixListener)
	if !ok {
		nl.Close()
		return nil, fmt.Errorf("listening on %s: not a Unix socket", path)
	}
	return ul, nil
}

func inodeOf(path string) (inode, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return inode{}, err
	}
	return inode{uint64(st.Dev), uint64(st.Ino)}, nil //nolint:unconvert // the types differ between systems
}
