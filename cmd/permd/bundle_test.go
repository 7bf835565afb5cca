package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy/bundles/bundlestest"
)

// bundleServer is a web server with a bundle, such as any.
type bundleServer struct {
	*httptest.Server
	data atomic.Pointer[[]byte]
	key  bundlestest.Key
	full atomic.Int64 // answers with the bundle
	same atomic.Int64 // answers that there is no other
}

func (b *bundleServer) publish(t *testing.T, revision, rules string) {
	t.Helper()
	data := b.key.Signed(t, revision, map[string]string{"rules.yaml": rules})
	b.full.Store(0)
	b.same.Store(0)
	b.data.Store(&data)
}

func newBundleServer(t *testing.T) *bundleServer {
	b := &bundleServer{key: bundlestest.NewKey(t)}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data := b.data.Load()
		if data == nil {
			http.Error(w, "<html>no", http.StatusBadGateway)
			return
		}
		sum := sha256.Sum256(*data)
		etag := `"` + hex.EncodeToString(sum[:]) + `"`
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			b.same.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		b.full.Add(1)
		_, _ = w.Write(*data)
	}))
	t.Cleanup(b.Close)
	return b
}

// configure makes the organisation's folder, with the bundle of the server.
func (b *bundleServer) configure(t *testing.T, d *testDaemon) (root string) {
	t.Helper()
	root = filepath.Join(d.home, "root")
	config := fmt.Sprintf(`services:
  web: {url: %s}
keys:
  %s:
    algorithm: ES256
    scope: %s
    key: |
      %s
bundles:
  org:
    service: web
    resource: org.tar.gz
    polling: {min_delay_seconds: 1, max_delay_seconds: 1}
    signing: {keyid: %s}
`, b.URL, bundlestest.KeyID, bundlestest.Scope, strings.ReplaceAll(strings.TrimSpace(b.key.Public), "\n", "\n      "), bundlestest.KeyID)
	if err := os.MkdirAll(filepath.Join(root, "etc/permd"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "etc/permd/opa.yaml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestBundle: a daemon whose rules are published by a web server. Before the first bundle every
// call asks; each bundle is in force without a restart; one that is not good changes nothing and is
// said in the status; and without the server a restarted daemon has the last good one.
func TestBundle(t *testing.T) {
	t.Parallel()
	d, b := newTestDaemon(t), newBundleServer(t)
	root := b.configure(t, d)
	d.start(t, "--root", root)
	project := d.project(t, nil)
	decide := func(command string) answer {
		t.Helper()
		return d.session(t, project).ask(t, decideLine(command))
	}
	wait := func(what string, holds func() bool) {
		t.Helper()
		eventually.Holds(t, what, holds, d.output.String)
	}
	if got := decide("ls"); got.Verdict != "ask" {
		t.Errorf("without a bundle: %+v", got)
	}
	wait("the status says why", func() bool {
		s := d.status(t)
		return s.Degraded && s.Bundle != nil && s.Bundle.Revision == "" && strings.Contains(s.Bundle.Error, "server replied with Bad Gateway")
	})
	b.publish(t, "1", "deny:\n  run: [git status]\n")
	wait("the first bundle is in force", func() bool { return decide("git status").Verdict == "deny" })
	if got := decide("ls"); got.Verdict != "allow" {
		t.Errorf("with a bundle: %+v", got)
	}
	b.publish(t, "2", "deny:\n  run: [git log]\n")
	wait("the second bundle is in force", func() bool { return decide("git log").Verdict == "deny" })
	if got := decide("git status"); got.Verdict != "allow" {
		t.Errorf("after the first bundle: %+v", got)
	}
	s := d.status(t)
	if s.Degraded || s.Bundle.Revision != "2" || s.Bundle.Error != "" || s.Bundle.Source != b.URL+"/org.tar.gz" || s.Bundle.Checked.IsZero() {
		t.Errorf("%+v", s.Bundle)
	}
	for revision, want := range map[string]string{"1": "revision 1 is lower than 2, which was accepted on", "3": "loading org rules: bundle 3: rules.yaml:2"} {
		b.publish(t, revision, "deny:\n  run_: [ls]\n")
		wait("the status says: "+want, func() bool { return strings.Contains(d.status(t).Bundle.Error, want) })
		wait("it was asked for again", func() bool { return b.same.Load() >= 2 })
		if got := d.status(t).Bundle; b.full.Load() != 1 || !strings.Contains(got.Error, want) {
			t.Errorf("what is refused was sent %d times: %+v", b.full.Load(), got)
		}
		if got := decide("git log"); got.Verdict != "deny" {
			t.Errorf("with a bad bundle: %+v", got)
		}
		if got := d.status(t); got.Bundle.Revision != "2" || got.Bundle.Highest != "2" {
			t.Errorf("%+v", got.Bundle)
		}
	}
	d.waitOutput(t, "a bundle was not taken, what was in force stays")
	b.Close()
	if err := d.stop(t); err != nil {
		t.Error(err)
	}
	d.start(t, "--root", root)
	if got := decide("git log"); got.Verdict != "deny" {
		t.Errorf("after a restart without the server: %+v", got)
	}
	if got := decide("ls"); got.Verdict != "allow" {
		t.Errorf("after a restart without the server: %+v", got)
	}
	wait("the status says that nobody answers", func() bool { return strings.Contains(d.status(t).Bundle.Error, "connection refused") })
	out, err := d.command("status").Output()
	if err != nil || !strings.Contains(string(out), "  bundle   revision 2 since ") {
		t.Errorf("permd status: %v\n%s", err, out)
	}
	// Nobody has touched the folder, and somebody who deletes it does not go back.
	d.kill()
	if err := os.Remove(d.data("bundles/org-bundle.tar.gz")); err != nil {
		t.Fatal(err)
	}
	d.start(t, "--root", root)
	if got := decide("ls"); got.Verdict != "ask" {
		t.Errorf("without the bundle that was kept: %+v", got)
	}
}
