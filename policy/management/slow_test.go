package management

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy/bundles"
)

// within sets how long servers may take, for a test.
func within(t *testing.T, answer, report time.Duration) {
	t.Helper()
	read, send := readWithin, sendWithin
	readWithin, sendWithin = answer, report
	t.Cleanup(func() { readWithin, sendWithin = read, send })
}

// hangs answers with the beginning of a body, and no more until the client has gone.
func hangs(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "x")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// TestDiscoverSlow: however a server answers for a discovery bundle, the configuration stays, and
// the status says why.
func TestDiscoverSlow(t *testing.T) {
	within(t, time.Minute, time.Minute)
	f := newFleet(t)
	server := httptest.NewServer(f)
	defer server.Close()
	d := newDiscovering(t, f, server.URL, "", "")
	f.serves(sends(f.discovery(t, "1", naming("good", ""))))
	if why := d.discover(t); why != "" {
		t.Fatal(why)
	}
	for _, tt := range []struct {
		name  string
		serve http.HandlerFunc
		slow  bool
		want  string
	}{
		{"a part, and no more", hangs, true, "the server did not answer in full within 300ms"},
		{"nothing", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, true, "the server did not answer in full within 300ms"},
		{"a page", sends([]byte("<html><body>log in</body></html>")), false, "it is no gzipped archive, but a page of HTML"},
		{"no end", func(w http.ResponseWriter, r *http.Request) {
			for chunk := make([]byte, 1<<20); r.Context().Err() == nil; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, false, "the answer is larger than 16 MiB"},
		{"a failure", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, false, "server replied with Internal Server Error"},
	} {
		f.serves(tt.serve)
		readWithin = time.Minute
		if tt.slow {
			readWithin = 300 * time.Millisecond
		}
		if why := d.discover(t); !strings.Contains(why, tt.want) || d.org() != "/good" || d.manager.DiscoveryStatus().Revision != "1" {
			t.Errorf("%s: %q, %q; want %s", tt.name, why, d.org(), tt.want)
		}
	}
}

// TestSlowElsewhere: while a server takes the whole time for a discovery bundle and for a report,
// bundles of rules are taken, and the end of the manager waits for neither.
func TestSlowElsewhere(t *testing.T) {
	within(t, time.Hour, time.Hour) // nothing but the end of the manager ends a request
	f := newFleet(t)
	var hanging, reports atomic.Int32
	mux := http.NewServeMux()
	mux.Handle("/org.tar.gz", f)
	mux.HandleFunc("/discovery.tar.gz", func(w http.ResponseWriter, r *http.Request) {
		hanging.Add(1)
		defer hanging.Add(-1)
		hangs(w, r)
	})
	mux.HandleFunc("POST /status", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		reports.Add(1)
		defer reports.Add(-1)
		hangs(w, r)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	newDiscovering(t, f, server.URL, "", fmt.Sprintf("bundles: {org: {service: s, resource: org.tar.gz, polling: {min_delay_seconds: 1, max_delay_seconds: 1}, signing: {keyid: %s}}}\nstatus: {service: s}\n", "release"))
	f.serves(sends(f.key.Signed(t, "1", layer("rm"))))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := f.manager.Start(ctx); err != nil {
		t.Fatal(err)
	}
	taken := func(revision string) func() bool {
		return func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return len(f.taken) > 0 && f.taken[len(f.taken)-1] == revision
		}
	}
	eventually.Holds(t, "both requests hang", func() bool { return hanging.Load() == 1 && reports.Load() == 1 })
	eventually.Holds(t, "a bundle is taken", taken("1"))
	f.serves(sends(f.key.Signed(t, "2", layer("mv"))))
	eventually.Holds(t, "the next bundle is taken", taken("2"))
	if s := f.manager.BundleStatus(bundles.Org); s.Error != "" || hanging.Load() != 1 || reports.Load() != 1 {
		t.Errorf("%+v, %d and %d hang", s, hanging.Load(), reports.Load())
	}
	cancel() // as a daemon does first
	f.manager.Stop()
	eventually.Holds(t, "no request is left", func() bool { return hanging.Load() == 0 && reports.Load() == 0 })
}

// TestSlowReport: a server that does not end its answer to a report gets later ones.
func TestSlowReport(t *testing.T) {
	within(t, time.Minute, 50*time.Millisecond)
	f := newFleet(t)
	f.serves(sends(f.key.Signed(t, "1", layer("rm"))))
	var reports atomic.Int32
	mux := http.NewServeMux()
	mux.Handle("/org.tar.gz", f)
	mux.HandleFunc("POST /status", func(w http.ResponseWriter, r *http.Request) {
		reports.Add(1)
		hangs(w, r)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	f.start(t, f.config("url: "+server.URL, "    polling: {min_delay_seconds: 1, max_delay_seconds: 1}\nstatus: {service: s}\n"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := f.manager.Start(ctx); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "five reports were sent", func() bool { return reports.Load() >= 5 })
	cancel()
	f.manager.Stop()
}
