package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
)

// localCaller is a daemon in this process, without sockets and without a trace:
// the same methods on the same rules, no memory, no journal.
type localCaller struct {
	daemon  *daemon
	methods socket.Methods
	conn    *socket.Conn
	observe func(*decisions.Deliberation) // nil where nobody explains
}

func (a *app) localCaller(ctx context.Context) (*localCaller, error) {
	dirs, err := a.dirs()
	if err != nil {
		return nil, err
	}
	d := &daemon{dirs: dirs, users: &users{}, log: slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	if d.store, d.settings, err = openPolicy(ctx, dirs, a.root != "", nil); err != nil {
		return nil, err
	}
	return d.local()
}

// local makes an engine that remembers nothing and keeps no journal, and the
// methods on it.
func (d *daemon) local() (*localCaller, error) {
	l := &localCaller{
		daemon: d,
		conn:   &socket.Conn{ID: 1, Peer: decisions.Peer{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), PID: int32(os.Getpid())}},
	}
	observe := func(of *decisions.Deliberation) {
		if l.observe != nil {
			l.observe(of)
		}
	}
	if err := d.assemble(decisions.Config{Memory: noMemory{}, Journal: noJournal{}, Observe: observe}, false); err != nil {
		return nil, err
	}
	l.methods = d.decisionMethods()
	return l, nil
}

// noMemory is the memory of a daemon that has none.
type noMemory struct{}

func (noMemory) Match(*decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	return nil, nil, nil
}

// Call calls a method as the socket would.
func (l *localCaller) Call(ctx context.Context, method string, params, result any) error {
	answer, err := l.do(ctx, method, params)
	if err != nil {
		if e, ok := errors.AsType[*socket.Error](err); ok {
			return &client.Error{Code: e.Code, Message: e.Message, Data: e.Data}
		}
		return err
	}
	if result == nil {
		return nil
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return strictjson.Unmarshal(raw, result)
}

// Notify calls a method whose answer nobody waits for.
func (l *localCaller) Notify(ctx context.Context, method string, params any) error {
	_, err := l.do(ctx, method, params)
	return err
}

func (l *localCaller) do(ctx context.Context, method string, params any) (any, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	run, err := l.methods[method](l.conn, raw)
	if err != nil || run == nil {
		return nil, err
	}
	return run(ctx)
}
