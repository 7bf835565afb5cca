package decisionlog

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/policy/decisionlogs"
)

// Lines say how far the log was sent. There are none if it is not to be sent.
func Lines(s *decisionlogs.Status, now time.Time) (lines []string) {
	if s == nil {
		return nil
	}
	service := ""
	if s.Service != "" {
		service = " to " + s.Service
	}
	acknowledged := "nothing is acknowledged yet"
	if !s.AcknowledgedAt.IsZero() {
		acknowledged = fmt.Sprintf("decision %d acknowledged %s", s.Acknowledged, s.AcknowledgedAt.Local().Format(time.DateTime))
	}
	lines = append(lines, fmt.Sprintf("sent%s: %s", service, acknowledged))
	if s.Waiting > 0 {
		lines = append(lines, fmt.Sprintf("%s wait to be sent, the first for %s", cli.Plural(int(s.Waiting), "decision"), max(0, now.Sub(s.WaitingSince)).Round(time.Second)))
	}
	if s.Error != "" {
		lines = append(lines, fmt.Sprintf("cannot be sent since %s: %s", s.FailingSince.Local().Format(time.DateTime), s.Error))
	}
	if s.Lost > 0 {
		lines = append(lines, fmt.Sprintf("%s were removed by the journal's limits before they were sent", cli.Plural(int(s.Lost), "decision")))
	}
	if s.MaskError != "" {
		lines = append(lines, "a policy that masks failed, and decisions were sent without input and result: "+s.MaskError)
	}
	return lines
}

// The metrics.
var (
	descLag      = desc("permd_decision_log_lag_records", "Decisions that wait to be sent.")
	descLagTime  = desc("permd_decision_log_lag_seconds", "How old the first decision is that waits to be sent.")
	descUploads  = desc("permd_decision_log_uploads_total", "Uploads since the start.", "result")
	descEvents   = desc("permd_decision_log_events_total", "Events that the service has acknowledged since the start.")
	descDropped  = desc("permd_decision_log_dropped_total", "Decisions that are not sent, since the start.", "why")
	descErased   = desc("permd_decision_log_erased_total", "Events that were sent without input and result, since the start.", "why")
	descFailing  = desc("permd_decision_log_failing", "1 while the log cannot be sent.")
	descriptions = []*prometheus.Desc{descLag, descLagTime, descUploads, descEvents, descDropped, descErased, descFailing}
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Metrics are the metrics of an uploader. There are none without one, and while the log is not
// to be sent.
type Metrics struct{ Uploader *decisionlogs.Uploader }

// Describe sends the descriptions.
func (Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descriptions {
		ch <- d
	}
}

// Collect reads the state.
func (m Metrics) Collect(ch chan<- prometheus.Metric) {
	if m.Uploader == nil {
		return
	}
	s := m.Uploader.Status()
	if s == nil {
		return
	}
	c := m.Uploader.Counts()
	put := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	lag, failing := 0.0, 0.0
	if s.Waiting > 0 {
		lag = max(0, time.Since(s.WaitingSince).Seconds())
	}
	if s.Error != "" {
		failing = 1
	}
	put(descLag, prometheus.GaugeValue, float64(s.Waiting))
	put(descLagTime, prometheus.GaugeValue, lag)
	put(descUploads, prometheus.CounterValue, float64(c.Uploads), "ok")
	put(descUploads, prometheus.CounterValue, float64(c.Failed), "failed")
	put(descEvents, prometheus.CounterValue, float64(c.Events))
	put(descDropped, prometheus.CounterValue, float64(c.Dropped), "policy")
	put(descDropped, prometheus.CounterValue, float64(c.Lost), "removed")
	put(descErased, prometheus.CounterValue, float64(c.Unmasked), "masking_failed")
	put(descErased, prometheus.CounterValue, float64(c.Shortened), "too_large")
	put(descFailing, prometheus.GaugeValue, failing)
}
