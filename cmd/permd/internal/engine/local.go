package engine

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
)

// Caller calls the methods of an engine in this process, as the socket would.
type Caller struct {
	methods socket.Methods
	conn    *socket.Conn
}

// Local returns a caller of an engine without memory and journal: it has the same
// methods and rules, and its decisions leave no trace. Warnings are written to w.
// observe is called with the deliberation of each decision and may be nil.
func Local(ctx context.Context, dirs xdg.Dirs, relocated bool, w io.Writer, observe func(*decisions.Deliberation)) (*Caller, error) {
	rules, err := OpenRules(ctx, dirs, relocated, nil)
	if err != nil {
		return nil, err
	}
	e, err := New(Config{
		Dirs: dirs, Rules: rules, Observe: observe,
		Log: slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return nil, err
	}
	return &Caller{
		methods: e.Methods(),
		conn:    &socket.Conn{ID: 1, Peer: decisions.Peer{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), PID: int32(os.Getpid())}},
	}, nil
}

// Call calls a method as the socket would.
func (c *Caller) Call(ctx context.Context, method string, params, result any) error {
	answer, err := c.do(ctx, method, params)
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

// Notify calls a method and ignores its result.
func (c *Caller) Notify(ctx context.Context, method string, params any) error {
	_, err := c.do(ctx, method, params)
	return err
}

func (c *Caller) do(ctx context.Context, method string, params any) (any, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	run, err := c.methods[method](c.conn, raw)
	if err != nil || run == nil {
		return nil, err
	}
	return run(ctx)
}
