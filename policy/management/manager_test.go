package management

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClient: a request of OPA's client has the token of its file as it is now.
func TestClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer two" || r.URL.Path != "/v1/x" || r.Header.Get("X-Tenant") != "a" {
			t.Errorf("%s with %q", r.URL.Path, got)
		}
	}))
	defer server.Close()
	token := filepath.Join(t.TempDir(), "token")
	write := func(text string, mode os.FileMode) {
		if err := os.WriteFile(token, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(token, mode); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n", 0o644)
	c, err := Parse("opa.yaml", []byte("services: {s: {url: '"+server.URL+"/v1', headers: {X-Tenant: a}, credentials: {bearer: {token_path: "+token+"}}}}"))
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Machine: Machine{ID: "test"}, Log: slog.New(slog.DiscardHandler)}
	if _, err := New(c, opts); err == nil || !strings.Contains(err.Error(), "can be read or written by others (mode 0644)") {
		t.Errorf("a token that all can read: %v", err)
	}
	write("one\n", 0o600)
	m, err := New(c, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer m.Stop()
	write("two\n", 0o600)
	resp, err := m.Client("s").Do(t.Context(), http.MethodPost, "x")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}
