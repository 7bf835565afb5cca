package management

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/bundles/bundlestest"
)

// TestFile: a bundle in a file is read again when it has changed.
func TestFile(t *testing.T) {
	f := newFleet(t)
	path := filepath.Join(t.TempDir(), "org.tar.gz")
	f.start(t, strings.Replace(f.config("url: http://127.0.0.1:1", ""), "service: s\n    resource: org.tar.gz", "resource: file://"+path, 1))
	l := f.manager.bundles[bundles.Org].loader.(*fileLoader)
	for _, tt := range []struct {
		data  []byte
		taken int
		want  string
	}{
		{nil, 0, "no such file"},
		{f.key.Signed(t, "1", layer("rm")), 1, ""},
		{nil, 1, "no such file"},
		{[]byte("<html>"), 1, "it is no gzipped archive"},
		{f.key.Signed(t, "2", layer("rm")), 2, ""},
		{f.key.Signed(t, "1", layer("rm")), 2, "revision 1 is lower than 2"},
	} {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if tt.data != nil {
			if err := os.WriteFile(path, tt.data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			l.read(t.Context())
			if s := f.manager.BundleStatus(bundles.Org); !strings.Contains(s.Error, tt.want) || (s.Error == "") != (tt.want == "") || len(f.taken) != tt.taken {
				t.Errorf("%+v, taken %v; want %q and %d", s, f.taken, tt.want, tt.taken)
			}
		}
	}
}

// TestStatus: OPA's status plugin reports what is in force, and why another bundle is not.
func TestStatus(t *testing.T) {
	f := newFleet(t)
	f.serves(sends(f.key.Signed(t, "3", layer("rm"))))
	reports := make(chan string, 64)
	mux := http.NewServeMux()
	mux.Handle("/org.tar.gz", f)
	mux.HandleFunc("POST /status", func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		reports <- string(data)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	f.start(t, f.config("url: "+server.URL, "    polling: {min_delay_seconds: 1, max_delay_seconds: 1}\nstatus: {service: s}\nlabels: {team: x}\n"))
	if err := f.manager.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer f.manager.Stop()
	wait := func(revision, message string) {
		t.Helper()
		for {
			var got struct {
				Labels  map[string]string
				Bundles map[string]struct {
					Revision string `json:"active_revision"`
					Message  string
				}
			}
			text := <-reports
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			if b := got.Bundles["org"]; b.Revision == revision && strings.Contains(b.Message, message) && got.Labels["team"] == "x" && got.Labels["id"] == "test" {
				return
			}
		}
	}
	wait("3", "")
	f.serves(sends(f.key.Signed(t, "2", layer("rm"))))
	wait("3", "revision 2 is lower than 3") // by the next poll of its own: OPA's Trigger races with those
}

// TestOCI: a bundle comes from a registry, as the one layer of an artefact.
func TestOCI(t *testing.T) {
	f := newFleet(t)
	registry := newRegistry()
	server := httptest.NewServer(registry)
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	registry.push("team/org", f.key.Signed(t, "1", layer("rm")))
	f.start(t, strings.Replace(f.config("type: oci, url: "+server.URL, ""), "resource: org.tar.gz", "resource: "+host+"/team/org:latest", 1))
	if err := f.manager.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	taken := func(n int, last string) func() bool {
		return func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return len(f.taken) == n && f.taken[n-1] == last
		}
	}
	eventually.Holds(t, "the first is taken", taken(1, "1"))
	registry.push("team/org", f.key.Signed(t, "2", layer("mv")))
	if why := f.poll(t); why != "" || !taken(2, "2")() {
		t.Error(why, f.taken)
	}
	registry.push("team/org", bomb(t))
	if why := f.poll(t); !strings.Contains(why, "the archive unpacks to more than 72 MiB") || !taken(2, "2")() {
		t.Error(why, f.taken)
	}
	registry.push("team/org", f.key.Signed(t, "1", layer("rm")))
	before := registry.layers()
	for range 3 {
		if why := f.poll(t); !strings.Contains(why, "revision 1 is lower than 2") || !taken(2, "2")() {
			t.Error(why, f.taken)
		}
	}
	if n := registry.layers() - before; n != 1 {
		t.Errorf("what is refused was sent %d times", n)
	}
}

// TestOCIDiscovery: the discovery bundle of a registry names bundles of the same registry, those in
// force and those that are tried; a refused one changes nothing.
func TestOCIDiscovery(t *testing.T) {
	f := newFleet(t)
	registry := newRegistry()
	server := httptest.NewServer(registry)
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	bundle := func(kind, name string) string {
		return fmt.Sprintf("bundles.%s := {\"service\": \"s\", \"resource\": \"%s/team/%s:latest\", \"signing\": {\"keyid\": \"release\", \"scope\": \"permd\"}}\n", kind, host, name)
	}
	registry.push("team/org", f.key.Signed(t, "1", layer("rm")))
	registry.push("team/next", f.key.Signed(t, "2", layer("mv")))
	registry.push("team/discovery", f.discovery(t, "1", policy(bundle("org", "org")+bundle("shadow", "next"))))
	text := strings.Replace(discoveryConfig(f.key, server.URL+", type: oci", ""), "resource: discovery.tar.gz", "resource: "+host+"/team/discovery:latest", 1)
	config, err := Parse("opa.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	dir, machine := t.TempDir(), Machine{ID: "m"}
	var mu sync.Mutex
	taken := map[bundles.Kind]string{}
	d := OpenDiscovery(t.Context(), config, machine, dir, time.Now)
	m, err := New(config, Options{
		Machine: machine, Log: slog.New(slog.DiscardHandler), Discovery: d,
		Activate: func(_ context.Context, kind bundles.Kind, data []byte) (string, error) {
			b, err := bundles.Read(kind, data, f.key.Config())
			if err != nil {
				return "", err
			}
			mu.Lock()
			defer mu.Unlock()
			taken[kind] = b.Revision
			return b.Revision, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Stop()
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "both bundles are taken", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return taken[bundles.Org] == "1" && taken[bundles.Shadow] == "2"
	})
	if s := m.DiscoveryStatus(); s.Revision != "1" || s.Source != "oci://"+host+"/team/discovery:latest" || m.Config().Address(bundles.Shadow) != "oci://"+host+"/team/next:latest" {
		t.Errorf("%+v", s)
	}
	registry.push("team/discovery", bundlestest.NewKey(t).Sign(t, f.discovery(t, "2", policy(bundle("org", "next")))))
	trigger := m.discovery.loader.(interface{ Trigger(context.Context) error })
	if err := trigger.Trigger(t.Context()); err == nil || !strings.Contains(m.DiscoveryStatus().Error, "failed to verify JWT signature") || m.Config().Address(bundles.Org) != "oci://"+host+"/team/org:latest" {
		t.Errorf("%v, %+v", err, m.DiscoveryStatus())
	}
	server.Close()
	again := OpenDiscovery(t.Context(), config, machine, dir, time.Now)
	if got := again.Effective(config).Address(bundles.Shadow); got != "oci://"+host+"/team/next:latest" {
		t.Errorf("after a restart without the registry: %q", got)
	}
}
