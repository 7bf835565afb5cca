package sockettest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/permd/permd/socket"
)

// Serve serves methods on a socket until the test ends, and returns its path.
func Serve(t testing.TB, methods socket.Methods) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "private", "permd.sock")
	ln, err := socket.Listen(path, socket.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- socket.Serve(ctx, ln, methods, socket.Options{}) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return path
}
