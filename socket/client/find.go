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

// Options select the permd to connect to.
type Options struct {
	// Admin selects the management socket.
	Admin bool
	// env is where the search starts; the zero Env is this process's.
	env xdg.Env
	// maxAnswer is how long an answer may be, in bytes; 0 is 64 MiB.
	maxAnswer int
	// Timeout is how long a call waits for its answer, unless its context ends
	// earlier; 0 is a minute. After it the error wraps ErrUnreachable.
	Timeout time.Duration
}

// unreachable says where permd was looked for.
type unreachable struct {
	tried []string
	hint  string
}

func (e *unreachable) Error() string {
	return ErrUnreachable.Error() + ": " + strings.Join(e.tried, "; ")
}

func (e *unreachable) Is(target error) bool { return target == ErrUnreachable }

// Hint says what to do.
func (e *unreachable) Hint() string { return e.hint }

// Connect finds a running permd and connects to it; the places and their order
// are those of xdg.Sockets. A place where nothing listens is passed over; one
// that others could have prepared ends the search, because whatever listens
// there might answer in permd's name. The error wraps ErrUnreachable.
func Connect(ctx context.Context, o Options) (*Client, error) {
	env := o.env
	if env.Getenv == nil {
		env = xdg.FromOS()
	}
	places, err := xdg.Sockets(env, o.Admin)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	failed := &unreachable{hint: "start it with: permd serve"}
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
			return nil, &unreachable{
				tried: []string{"not trusting " + p.Path + ": " + untrusted.Error()},
				hint:  "permd's socket must lie in a folder that only you or root can change",
			}
		}
		failed.tried = append(failed.tried, err.Error())
	}
	return nil, failed
}

// Dial connects to the socket at path, an absolute path, whose folder must
// belong to root or this user. The error wraps ErrUnreachable.
func Dial(ctx context.Context, path string, o Options) (*Client, error) {
	c, err := dial(ctx, xdg.Place{Path: path, Chosen: true}, os.Geteuid(), o)
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
		// With socket activation the kernel names the service manager as the
		// peer, not permd: whose folder it is says more.
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
