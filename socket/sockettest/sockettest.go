// Package sockettest calls methods as the socket would, for the tests of the
// protocols: without a socket, and with what is really encoded. It is imported by
// tests alone.
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

// Call calls a method on a connection, and returns its result as JSON with the
// members of objects in the order of their names, or its error.
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

// Unchanged is for deciders of tests to embed: what was decided earlier would be
// decided again, and calls do what they did.
type Unchanged struct{}

// Again returns true.
func (Unchanged) StillHolds(context.Context, *decisions.Request, *decisions.Decision) bool {
	return true
}

// Holds returns true.
func (Unchanged) Holds(context.Context, *decisions.Request, *decisions.Decision) bool { return true }

// Sample is the text of a file of testdata.
func Sample(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
