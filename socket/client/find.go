package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/permd/permd/internal/xdg"
)

// Options select the daemon to connect to.
type Options struct {
	// Admin selects the management socket.
	Admin bool
	// Machine selects the machine's daemon alone, whatever the environment says: for a
	// hook of the organisation, which a daemon of the person's own must not answer.
	Machine bool
	// env is the environment to search; the zero value means that of this process.
	env xdg.Env
	// maxAnswer bounds the length of an answer, in bytes; 0 means 64 MiB.
	maxAnswer int
	// Timeout bounds the wait for an answer, in addition to the call's context; 0 means a
	// minute. When it expires, the error wraps ErrUnreachable.
	Timeout time.Duration
}

// unreachableError lists the places that were tried.
type unreachableError struct {
	tried []string
	hint  string
}

func (e *unreachableError) Error() string {
	return ErrUnreachable.Error() + ": " + strings.Join(e.tried, "; ")
}

func (e *unreachableError) Is(target error) bool { return target == ErrUnreachable }

// Hint returns advice for the user.
func (e *unreachableError) Hint() string { return e.hint }

// Connect finds a running daemon and connects to it. The places and their order are
// those of xdg.Sockets. A place where nothing listens is skipped; a place that other
// users could have prepared ends the search, because whatever listens there could answer
// instead of permd. The error wraps ErrUnreachable.
func Connect(ctx context.Context, o Options) (*Client, error) {
	env := o.env
	if env.Getenv == nil {
		env = xdg.FromOS()
	}
	places, err := xdg.Sockets(env, o.Admin)
	hint := "start it with: permd serve"
	if o.Machine {
		places, err = []xdg.Place{xdg.MachineSocket(env, o.Admin)}, nil
		hint = "root starts it: systemctl enable --now permd.socket permd-admin.socket"
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	failed := &unreachableError{hint: hint}
	for _, p := range places {
		c, err := dial(ctx, p, env.UID, o)
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreachable, context.Cause(ctx))
		}
		untrusted, ok := errors.AsType[*xdg.UntrustedError](err)
		if ok {
			return nil, &unreachableError{
				tried: []string{"not trusting " + p.Path + ": " + untrusted.Error()},
				hint:  "permd's socket must lie in a folder that only you or root can change",
			}
		}
		if p.Machine && errors.Is(err, fs.ErrPermission) {
			dir := filepath.Dir(p.Path)
			err = fmt.Errorf("you are not in the group that may use the machine's daemon (%w)", err)
			hint := "have root add you to the group of " + dir + " (ls -ld " + dir + "), and log in again"
			if !o.Machine {
				hint = failed.hint + "; or, for the machine's daemon, " + hint
			}
			failed.hint = hint
		}
		failed.tried = append(failed.tried, err.Error())
	}
	return nil, failed
}

// Dial connects to the socket at an absolute path, whose folder must belong to root or
// the current user. The error wraps ErrUnreachable.
func Dial(ctx context.Context, path string, o Options) (*Client, error) {
	c, err := dial(ctx, xdg.Place{Path: path}, os.Geteuid(), o)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return c, nil
}

func dial(ctx context.Context, p xdg.Place, uid int, o Options) (*Client, error) {
	fi, err := os.Lstat(p.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("nothing at %s", p.Path)
	case err != nil:
		return nil, err
	case fi.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is not a socket", p.Path)
	}
	dir := filepath.Dir(p.Path)
	if p.Machine {
		err = xdg.CheckMachine(dir)
	} else {
		// With socket activation, the peer credentials are those of the service manager.
		// The owner of the folder says more.
		err = xdg.CheckOwn(dir, uint32(uid), 0o022)
	}
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", p.Path)
	if err != nil {
		return nil, err
	}
	return newClient(conn, p.Path, o), nil
}
