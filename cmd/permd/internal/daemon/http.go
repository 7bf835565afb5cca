package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/gatehttp"
	"github.com/permd/permd/socket/httpapi"
)

// httpServer is where the daemon is asked over HTTP.
type httpServer struct {
	listener net.Listener
	token    string // "" on a Unix socket
}

// listenHTTP opens what the settings name, nil if they name nothing.
func listenHTTP(ctx context.Context, at string, dirs xdg.Dirs, o socket.ListenOptions, log *slog.Logger) (*httpServer, error) {
	h := new(httpServer)
	var err error
	switch at {
	case settings.ListenOff:
		return nil, nil
	case settings.ListenUnix:
		l, err := whenFree(ctx, log, func() (*socket.Listener, error) {
			return socket.Listen(dirs.HTTPSocket(), o)
		})
		if err != nil {
			return nil, fmt.Errorf("opening the socket for HTTP: %w", err)
		}
		h.listener = l
	default:
		// The token is read first: without it no client could be identified.
		if h.token, err = gatehttp.Token(dirs.HTTPToken()); err != nil {
			return nil, fmt.Errorf("opening HTTP: %w", err)
		}
		if h.listener, err = gatehttp.ListenLoopback(at); err != nil {
			return nil, &cli.Failure{Code: cli.ExitError, Err: err, Hint: httpHint(err)}
		}
	}
	return h, nil
}

func httpHint(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return `choose another port in http.listen of permd.toml, or "unix"`
	case errors.Is(err, syscall.EAFNOSUPPORT), errors.Is(err, syscall.EPERM):
		return `the unit of systemd allows Unix sockets alone: http.listen = "unix", or add RestrictAddressFamilies= by systemctl --user edit permd.service`
	}
	return "look at http.listen in permd.toml"
}

// where is the address as clients write it: a URL, or the path of a socket.
func (h *httpServer) where() string {
	if h.token == "" {
		return h.listener.Addr().String()
	}
	return "http://" + h.listener.Addr().String()
}

// serveHTTP serves until ctx ends.
func (s *server) serveHTTP(ctx context.Context, methods socket.Methods) error {
	opts := s.options()
	opts.Open, opts.Underway = &s.metrics.httpConns, &s.underway
	return httpapi.Serve(ctx, s.http.listener, httpapi.Deps{
		Methods: methods,
		Health:  s.healthOf,
		Metrics: s.metrics.handler(),
		Served:  s.metrics.served,
	}, httpapi.Options{
		Socket: opts, Token: s.http.token,
		// Who bears the token could read the file, so they are this user, or root.
		Owner: decisions.Peer{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())},
	})
}

// healthOf describes what is degraded. It returns an error if calls cannot be decided.
func (d *daemon) healthOf(ctx context.Context) (degraded []string, err error) {
	if err := d.health.check(ctx); err != nil {
		return nil, err
	}
	s := d.status()
	rules := s.Policy
	rules.Settings = ""
	for _, part := range []struct {
		name string
		bad  bool
	}{
		{"policy", rules.Degraded()},
		{"settings", s.Policy.Settings != ""},
		{"journal", s.Journal.Failing != "" || s.Journal.Stalled != ""},
		{"memory", len(s.Memory.Degraded) > 0},
		{"files", len(s.Unanswered) > 0},
		{"decisions", len(s.Stuck) > 0},
		{"sockets", len(s.Sockets) > 0},
	} {
		if part.bad {
			degraded = append(degraded, part.name)
		}
	}
	return degraded, nil
}

// httpPlace is a status' address in words.
func httpPlace(at string, dirs xdg.Dirs) string {
	if !IsURL(at) {
		return at
	}
	return at + ", with the token in " + dirs.HTTPToken()
}

// IsURL reports whether an address is a URL, not the path of a socket.
func IsURL(at string) bool { return strings.HasPrefix(at, "http://") }
