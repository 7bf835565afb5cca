package decisionlog

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy/decisionlogs"
	"github.com/permd/permd/policy/management"
)

// services makes a manager of a file, and another when that has changed.
type services struct {
	file string
	text string
	made *management.Manager
}

func (s *services) get() (*management.Manager, error) {
	text, err := os.ReadFile(s.file)
	if err != nil || string(text) == s.text {
		return s.made, nil
	}
	c, err := management.Parse(s.file, text)
	if err != nil {
		return nil, err
	}
	s.text = string(text)
	s.made, err = management.New(c, management.Options{Machine: management.Machine{ID: "m", Version: "1", Labels: map[string]string{"app": "permd"}}, Log: slog.New(slog.DiscardHandler)})
	return s.made, err
}

// TestTarget: where the log goes follows the files, and a file that cannot be used is an error,
// with its name, so that nothing is sent.
func TestTarget(t *testing.T) {
	dirs := xdg.Dirs{Org: filepath.Join(t.TempDir(), "org")}
	tg := &target{dirs: dirs, services: (&services{file: filepath.Join(dirs.Org, "opa.yaml")}).get}
	write := func(name, text string) { filetest.Write(t, filepath.Join(dirs.Org, name), text) }
	const service = "services:\n  a:\n    url: http://127.0.0.1:1\n"
	for _, step := range []struct{ name, text, want string }{
		{"", "", "nowhere"},
		{"opa.yaml", service, "nowhere"},
		{"opa.yaml", service + "decision_logs:\n  service: a\n", "a"},
		{"opa.yaml", service + "decision_logs:\n  service: b\n", `decision_logs.service is "b"`},
		{"opa.yaml", service + "decision_logs:\n  servise: a\n", "servise"},
		{"opa.yaml", service + "decision_logs:\n  service: a\n  mask_decision: /x/mask\n", "a"},
		{"log.d/mask.rego", "package x\n\nimport rego.v1\n\nmask contains \"/input\"\n", "a, masked"},
		{"log.d/mask.rego", "package x\n\nmask contains\n", "mask.rego"},
		{"log.d/mask.rego", "package x\n\nimport rego.v1\n\nmask contains http.send({}).body\n", "http.send"},
		{"log.d/mask.rego", "package x\n\nimport rego.v1\n\nmask contains \"/input\"\n", "a, masked"},
	} {
		if step.name != "" {
			write(step.name, step.text)
		}
		made, err := tg.get()
		got := "nowhere"
		switch {
		case err != nil:
			got = err.Error()
		case made != nil:
			if got = made.Config.Service; made.Policy != nil {
				got += ", masked"
			}
		}
		if err == nil && got != step.want || !strings.Contains(got, step.want) {
			t.Errorf("with %s %q: %s, want %s", step.name, step.text, got, step.want)
		}
	}
	if err := os.Chmod(filepath.Join(dirs.Org, "log.d", "mask.rego"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := tg.get(); err == nil || !strings.Contains(err.Error(), "mask.rego") {
		t.Errorf("a policy that others can write is used: %v", err)
	}
}

// TestStatus: the status and the metrics say what waits, that it fails and why, and what was
// acknowledged.
func TestStatus(t *testing.T) {
	root := t.TempDir()
	dirs := xdg.Dirs{Org: filepath.Join(root, "org"), Data: filepath.Join(root, "data"), State: filepath.Join(root, "state")}
	j, err := journal.Open(journal.Options{Path: filepath.Join(dirs.Data, "decisions.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Append(t.Context(), &decisions.Record{Time: time.Now().Add(-time.Hour), Decision: decisions.Decision{ID: "d1", Verdict: decisions.Deny}}); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the database has it", func() bool { return j.Status().Head.Seq == 1 })
	status := make(chan int, 64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case code := <-status:
			w.WriteHeader(code)
		default:
			w.WriteHeader(503)
		}
	}))
	defer s.Close()
	u := New(dirs, (&services{file: filepath.Join(dirs.Org, "opa.yaml")}).get, j.Reader, slog.New(slog.DiscardHandler), time.Now)
	if st := u.Status(); st != nil || Lines(st, time.Now()) != nil {
		t.Errorf("without a configuration: %+v", st)
	}
	filetest.Write(t, filepath.Join(dirs.Org, "opa.yaml"), "services:\n  audit:\n    url: "+s.URL+"\ndecision_logs:\n  service: audit\n  reporting: {min_delay_seconds: 1, max_delay_seconds: 1}\n")
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(Metrics{u})
	metric := func(name, label string) float64 {
		all, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			for _, m := range f.GetMetric() {
				if f.GetName() == "permd_decision_log_"+name && (label == "" || m.GetLabel()[0].GetValue() == label) {
					return m.GetGauge().GetValue() + m.GetCounter().GetValue()
				}
			}
		}
		return -1
	}
	if metric("lag_records", "") != -1 {
		t.Error("there are metrics without a configuration")
	}
	go u.Run(t.Context())
	var lines string
	says := func(words ...string) func() bool {
		return func() bool {
			lines = strings.Join(Lines(u.Status(), time.Now()), "\n")
			for _, w := range words {
				if !strings.Contains(lines, w) {
					return false
				}
			}
			return true
		}
	}
	eventually.Holds(t, "the status says that it fails", says("sent to audit: nothing is acknowledged yet", "1 decision wait", "cannot be sent since", "the service answered 503 Service Unavailable"), func() string { return lines })
	if metric("failing", "") != 1 || metric("lag_records", "") != 1 || metric("lag_seconds", "") < 3600 || metric("uploads_total", "failed") < 1 {
		t.Error("the metrics do not say so")
	}
	for range cap(status) {
		status <- 200
	}
	eventually.Holds(t, "the status says that it was sent", says("decision 1 acknowledged"), func() string { return lines })
	eventually.Holds(t, "the metrics say so", func() bool {
		return metric("failing", "") == 0 && metric("lag_records", "") == 0 && metric("lag_seconds", "") == 0 && metric("uploads_total", "ok") == 1 && metric("events_total", "") == 1
	})
	if lines := Lines(&decisionlogs.Status{Lost: 3, MaskError: "x"}, time.Now()); len(lines) != 3 || !strings.Contains(lines[1], "3 decisions were removed") {
		t.Errorf("%q", lines)
	}
}
