package client

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/socket"
)

// env returns the environment of a machine whose files are below dir.
func env(dir string, vars map[string]string) xdg.Env {
	return xdg.Env{Getenv: func(name string) string { return vars[name] }, UID: os.Geteuid(), Hostname: "h", System: dir}
}

func TestConnectOrder(t *testing.T) {
	dir := shortDir(t)
	run := filepath.Join(dir, "r")
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	e := env(dir, map[string]string{"HOME": filepath.Join(dir, "h"), "XDG_RUNTIME_DIR": run})
	silent := func(string) string { return "" }
	places, err := xdg.Sockets(e, false)
	if err != nil {
		t.Fatal(err)
	}
	// The last first: each new daemon is found before the others.
	for i := len(places) - 1; i >= 0; i-- {
		daemon(t, places[i].Path, silent)
		c, err := Connect(t.Context(), Options{env: e})
		if err != nil {
			t.Fatal(err)
		}
		if c.Path() != places[i].Path {
			t.Errorf("connected to %s, want %s", c.Path(), places[i].Path)
		}
		_ = c.Close()
	}
	if _, err := Connect(t.Context(), Options{env: e, Admin: true}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("no daemon has a management socket, but: %v", err)
	}
	chosen := filepath.Join(dir, "c", "p.sock")
	e = env(dir, map[string]string{"PERMD_SOCKET": chosen, "HOME": filepath.Join(dir, "h"), "XDG_RUNTIME_DIR": run})
	if _, err := Connect(t.Context(), Options{env: e}); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), chosen) {
		t.Errorf("PERMD_SOCKET names no daemon, but: %v", err)
	}
	daemon(t, chosen, silent)
	c, err := Connect(t.Context(), Options{env: e})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

// TestConnectMachine: no daemon of the person's own is asked in the place of the machine's.
func TestConnectMachine(t *testing.T) {
	dir := shortDir(t)
	run := filepath.Join(dir, "r")
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	chosen := filepath.Join(dir, "c", "p.sock")
	silent := func(string) string { return "" }
	daemon(t, chosen, silent)
	machine := filepath.Join(dir, "run", "permd", "permd.sock")
	for name, vars := range map[string]map[string]string{
		"one in the runtime folder": {"HOME": filepath.Join(dir, "h"), "XDG_RUNTIME_DIR": run},
		"one that is chosen":        {"HOME": filepath.Join(dir, "h"), "PERMD_SOCKET": chosen},
		"one chosen wrongly":        {"HOME": filepath.Join(dir, "h"), "PERMD_SOCKET": "p.sock"},
	} {
		e := env(dir, vars)
		if places, err := xdg.Sockets(e, false); err == nil && places[0].Path != chosen {
			daemon(t, places[0].Path, silent)
			c, err := Connect(t.Context(), Options{env: e})
			if err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
		}
		_, err := Connect(t.Context(), Options{env: e, Machine: true})
		if err == nil || err.Error() != ErrUnreachable.Error()+": nothing at "+machine {
			t.Errorf("%s: %v", name, err)
		}
	}
	if os.Geteuid() != 0 {
		return // only root can make the folder of the machine's daemon
	}
	daemon(t, machine, silent)
	c, err := Connect(t.Context(), Options{env: env(dir, map[string]string{"PERMD_SOCKET": chosen}), Machine: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Path() != machine {
		t.Errorf("connected to %s, want %s", c.Path(), machine)
	}
}

func TestConnectPassesOverStaleSocket(t *testing.T) {
	dir := shortDir(t)
	e := env(dir, map[string]string{"HOME": filepath.Join(dir, "h")})
	places, err := xdg.Sockets(e, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(places[0].Path), 0o700); err != nil {
		t.Fatal(err)
	}
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: places[0].Path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	_ = stale.Close()
	if _, err := Connect(t.Context(), Options{env: e}); !errors.Is(err, ErrUnreachable) {
		t.Fatalf("error is %v", err)
	}
	daemon(t, places[1].Path, func(string) string { return "" })
	c, err := Connect(t.Context(), Options{env: e})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

func TestConnectDistrusts(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"folder that all may write":   func(t *testing.T, dir string) { chmod(t, dir, 0o777) },
		"folder that group may write": func(t *testing.T, dir string) { chmod(t, dir, 0o770) },
		"parent that all may write":   func(t *testing.T, dir string) { chmod(t, filepath.Dir(dir), 0o777) },
		"another user's folder": func(t *testing.T, dir string) {
			if os.Geteuid() != 0 {
				t.Skip("giving a folder to another user needs root")
			}
			if err := os.Chown(dir, 65534, -1); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := shortDir(t)
			vars := map[string]string{"HOME": filepath.Join(dir, "h")}
			e := env(dir, vars)
			places, err := xdg.Sockets(e, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range places { // the machine's daemon must not be asked instead
				daemon(t, p.Path, func(string) string { return "" })
			}
			spoil(t, filepath.Dir(places[0].Path))
			c, err := Connect(t.Context(), Options{env: e})
			if err == nil {
				_ = c.Close()
				t.Fatalf("connected to %s", c.Path())
			}
			if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "not trusting") {
				t.Errorf("error is %v", err)
			}
			if _, err := Dial(t.Context(), places[0].Path, Options{}); !errors.Is(err, ErrUnreachable) {
				t.Errorf("Dial: %v", err)
			}
		})
	}
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestDialNeedsASocket(t *testing.T) {
	dir := shortDir(t)
	path := filepath.Join(dir, "permd.sock")
	if _, err := Dial(t.Context(), path, Options{}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("nothing there: %v", err)
	}
	if err := os.Symlink(filepath.Join(dir, "real.sock"), path); err != nil {
		t.Fatal(err)
	}
	daemon(t, filepath.Join(dir, "real.sock"), func(string) string { return "" })
	if _, err := Dial(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("a link there: %v", err)
	}
}

// TestConnectToServer is both sides of the wire together.
func TestConnectToServer(t *testing.T) {
	dir := shortDir(t)
	e := env(dir, map[string]string{"HOME": filepath.Join(dir, "h")})
	dirs, err := xdg.Find(e, xdg.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := socket.Listen(dirs.Socket(), socket.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- socket.Serve(ctx, ln, socket.Methods{
			"permd/decide": func(_ *socket.Conn, params strictjson.Value) (func(context.Context) (any, error), error) {
				return func(context.Context) (any, error) {
					return nil, &socket.Error{Code: socket.CodeAsk, Message: "ask the person", Data: params}
				}, nil
			},
		}, socket.Options{MaxMessage: 1000})
	}()
	c, err := Connect(t.Context(), Options{env: e})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Call(t.Context(), "permd/decide", map[string]string{"a": "b"}, nil)
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != socket.CodeAsk || string(e.Data) != `{"a":"b"}` {
		t.Errorf("error %#v", err)
	}
	err = c.Call(t.Context(), "permd/decide", strings.Repeat("x", 2000), nil)
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != socket.CodeRequest {
		t.Errorf("error %#v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Serve returned %v", err)
	}
	if err := c.Call(t.Context(), "permd/decide", nil, nil); err == nil {
		t.Error("a stopped server answered")
	}
	if _, err := Connect(t.Context(), Options{env: e}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("error is %v", err)
	}
}
