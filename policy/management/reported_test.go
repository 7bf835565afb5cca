package management

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// TestReportStatus tests that the status says why a service does not take reports, and since when it
// does again.
func TestReportStatus(t *testing.T) {
	f := newFleet(t)
	f.serves(sends(f.key.Signed(t, "1", layer("rm"))))
	var taken atomic.Bool
	mux := http.NewServeMux()
	mux.Handle("/org.tar.gz", f)
	mux.HandleFunc("POST /status/p", func(w http.ResponseWriter, r *http.Request) {
		if !taken.Load() {
			http.Error(w, "<html>no", http.StatusServiceUnavailable)
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	f.start(t, f.config("url: "+server.URL, "    polling: {min_delay_seconds: 1, max_delay_seconds: 1}\nstatus: {service: s, partition_name: p}\n"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if s := f.manager.ReportStatus(); s == nil || s.Service != "s" || s.Error != "" || !s.Sent.IsZero() {
		t.Errorf("before the first report: %+v", s)
	}
	if err := f.manager.Start(ctx); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the status says what the service replies", func() bool {
		s := f.manager.ReportStatus()
		return s.Error == "the server replied with 503 Service Unavailable" && s.Sent.IsZero() && !s.Since.IsZero()
	})
	taken.Store(true)
	eventually.Holds(t, "the status says that reports are taken", func() bool {
		s := f.manager.ReportStatus()
		return s.Error == "" && !s.Sent.IsZero() && s.Since.IsZero()
	})
	server.CloseClientConnections()
	server.Close()
	eventually.Holds(t, "the status says that nobody answers, and when a report was taken last", func() bool {
		s := f.manager.ReportStatus()
		return strings.Contains(s.Error, "connection refused") && !s.Sent.IsZero()
	})
	cancel()
	f.manager.Stop()
}

// TestReportStatusNone tests that without a configuration of reports there is no status of them.
func TestReportStatusNone(t *testing.T) {
	f := newFleet(t)
	f.start(t, f.config("url: http://127.0.0.1:1", ""))
	if s := f.manager.ReportStatus(); s != nil {
		t.Errorf("%+v", s)
	}
	f.manager.Stop()
}
