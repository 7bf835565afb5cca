package management

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy/bundles"
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
	registry.push(f.key.Signed(t, "1", layer("rm")))
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
	registry.push(f.key.Signed(t, "2", layer("mv")))
	if why := f.poll(t); why != "" || !taken(2, "2")() {
		t.Error(why, f.taken)
	}
	registry.push(bomb(t))
	if why := f.poll(t); !strings.Contains(why, "the archive unpacks to more than 72 MiB") || !taken(2, "2")() {
		t.Error(why, f.taken)
	}
	registry.push(f.key.Signed(t, "1", layer("rm")))
	if why := f.poll(t); !strings.Contains(why, "revision 1 is lower than 2") || !taken(2, "2")() {
		t.Error(why, f.taken)
	}
}
