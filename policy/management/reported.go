package management

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/util"
)

// ReportStatus is how reports to a service are sent.
type ReportStatus struct {
	Service string    `json:"service"`
	Sent    time.Time `json:"sent,omitzero"` // when the service took the last one
	// Error is why it did not take the newest one, and Since when that began; "" if it did.
	Error string    `json:"error,omitzero"`
	Since time.Time `json:"since,omitzero"`
}

// reported notes how reports were sent: OPA's status plugin tells that to its log alone. It is safe
// for concurrent use.
type reported struct {
	changed func()

	mu     sync.Mutex
	path   string // what the path of a report ends with, "" if none are sent
	status ReportStatus
}

// configure follows the configuration of reports, nil for none.
func (r *reported) configure(of json.RawMessage) {
	var c struct {
		Service   string `json:"service"`
		Partition string `json:"partition_name"`
	}
	path := ""
	if of != nil && util.Unmarshal(of, &c) == nil {
		path = "/status/" + c.Partition // as OPA's plugin has it
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if path != r.path || c.Service != r.status.Service {
		r.path, r.status = path, ReportStatus{Service: c.Service}
	}
}

// note notes what became of a request, if that was a report.
func (r *reported) note(req *http.Request, resp *http.Response, err error) {
	if r == nil || req.Method != http.MethodPost {
		return
	}
	text := ""
	switch {
	case err != nil:
		text = err.Error()
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		text = "the server replied with " + resp.Status
	}
	now := time.Now()
	r.mu.Lock()
	if r.path == "" || !strings.HasSuffix(req.URL.Path, r.path) {
		r.mu.Unlock()
		return
	}
	before := r.status.Error
	switch {
	case text == "":
		r.status.Sent, r.status.Error, r.status.Since = now, "", time.Time{}
	case text != before:
		r.status.Error, r.status.Since = text, now
	}
	r.mu.Unlock()
	if text != before {
		r.changed()
	}
}

// ReportStatus returns how reports are sent, nil if none are to be.
func (m *Manager) ReportStatus() *ReportStatus {
	m.reported.mu.Lock()
	defer m.reported.mu.Unlock()
	if m.reported.path == "" {
		return nil
	}
	s := m.reported.status
	return &s
}
