// Package sockettest calls methods as a socket would, without a socket and with the JSON
// that is really sent. It is for the tests of the protocols only.
package sockettest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// Call calls a method on a connection. It returns the result as JSON with sorted member
// names, or the error.
func Call(ctx context.Context, t testing.TB, methods socket.Methods, c *socket.Conn, method, params string) (strictjson.Value, error) {
	t.Helper()
	if err := strictjson.Check([]byte(params)); err != nil {
		return nil, socket.Refuse("reading message: %v", err)
	}
	run, err := methods[method](c, strictjson.Value(params))
	if err != nil {
		return nil, err
	}
	result, err := run(ctx)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(result, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return b, nil
}

// Unchanged is embedded in the deciders of tests: earlier decisions still hold, and
// calls had the effects that were decided.
type Unchanged struct{}

// StillHolds returns true.
func (Unchanged) StillHolds(context.Context, *decisions.Request, *decisions.Decision) bool {
	return true
}

// Holds returns nil.
func (Unchanged) Holds(context.Context, *decisions.Request, *decisions.Decision) error { return nil }

// Sample returns the contents of a file in testdata.
func Sample(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
