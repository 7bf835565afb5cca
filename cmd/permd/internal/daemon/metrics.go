package daemon

import (
	"context"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/permd/permd/cmd/permd/internal/decisionlog"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy"
)

// metrics are what /metrics shows. No label has more than a few values, and none
// contains text of a request.
type metrics struct {
	registry *prometheus.Registry

	decisions    *prometheus.CounterVec
	seconds      *prometheus.HistogramVec
	outcomes     *prometheus.CounterVec
	changes      *prometheus.CounterVec
	reloads      *prometheus.CounterVec
	httpRequests *prometheus.CounterVec

	// connections by socket.
	decisionConns, adminConns, httpConns atomic.Int64

	mu      sync.Mutex
	digest  string    // of the rules
	changed time.Time // since when it is that
}

// newMetrics are the metrics of a daemon.
func newMetrics(d *daemon) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		registry:  prometheus.NewRegistry(),
		decisions: counter("permd_decisions_total", "Decisions, over all sockets.", "verdict", "decided_by"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "permd_decision_seconds", Help: "How long decisions took, the journal included.",
			Buckets: prometheus.ExponentialBuckets(25e-6, 2, 16), // to 0.8 s
		}, []string{"verdict"}),
		outcomes:     counter("permd_outcomes_total", "Calls of which something is known that the verdict does not say.", "outcome"),
		changes:      counter("permd_policy_changes_total", "Changes of rules that were seen.", "result"),
		reloads:      counter("permd_reloads_total", "Readings of the rules that somebody asked for.", "result"),
		httpRequests: counter("permd_http_requests_total", "Requests over HTTP.", "path", "status"),
		changed:      d.started,
	}
	for _, c := range []prometheus.Collector{m.decisions, m.seconds, m.outcomes, m.changes, m.reloads, m.httpRequests, state{d, m}, decisionlog.Metrics{Uploader: d.sender}} {
		m.registry.MustRegister(c) // of our own literals
	}
	return m
}

// handler answers with the metrics, in one form: what is compressed for a client
// costs more than it saves on one machine.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{DisableCompression: true, MaxRequestsInFlight: 4})
}

// served counts a request.
func (m *metrics) served(path string, status int) {
	m.httpRequests.WithLabelValues(path, strconv.Itoa(status)).Inc()
}

// reloaded counts a requested reload.
func (m *metrics) reloaded(err error) {
	if m == nil {
		return
	}
	result := "ok"
	if err != nil {
		result = "failed"
	}
	m.reloads.WithLabelValues(result).Inc()
}

// rulesChanged takes in that rules, or the state of a layer, have changed.
func (m *metrics) rulesChanged(st policy.Status, digest string, now time.Time) {
	if m == nil {
		return
	}
	result := "ok"
	if st.Degraded() {
		result = "degraded"
	}
	m.changes.WithLabelValues(result).Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.digest != digest {
		m.digest, m.changed = digest, now
	}
}

func (m *metrics) since() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// count is a journal whose decisions are counted.
func (m *metrics) count(j decisions.Journal, onFailure decisions.Verdict) decisions.Journal {
	return countingJournal{j, m, onFailure}
}

// countingJournal is a journal whose decisions are counted after they were stored, as
// the verdicts that are sent.
type countingJournal struct {
	decisions.Journal
	metrics   *metrics
	onFailure decisions.Verdict // of an allow that cannot be logged
}

// Append stores the records.
func (c countingJournal) Append(ctx context.Context, recs ...*decisions.Record) error {
	start := time.Now()
	err := c.Journal.Append(ctx, recs...)
	took := time.Since(start)
	for _, r := range recs {
		d := &r.Decision
		if d.Outcome != "" {
			c.metrics.outcomes.WithLabelValues(string(d.Outcome)).Inc()
			if d.Outcome == decisions.RanUnprompted || d.Outcome == decisions.RanDespiteDeny {
				continue // nobody waits for a decision
			}
		}
		verdict, by := d.Verdict, d.By
		if err != nil && verdict == decisions.Allow {
			// It leaves as a question, or as a deny.
			verdict, by = decisions.Stricter(decisions.Ask, c.onFailure), decisions.ByFailure
		}
		c.metrics.decisions.WithLabelValues(string(verdict), string(by)).Inc()
		c.metrics.seconds.WithLabelValues(string(verdict)).Observe((time.Duration(r.LatencyNS) + took).Seconds())
	}
	return err
}

// Prompt implements [decisions.PromptJournal].
func (c countingJournal) Prompt() bool {
	j, ok := c.Journal.(decisions.PromptJournal)
	return ok && j.Prompt()
}

// state reads the daemon's status.
type state struct {
	daemon  *daemon
	metrics *metrics
}

// The metrics that are computed for each request of /metrics.
var (
	descDegraded        = desc("permd_policy_degraded", "1 while rules are not what their files say.")
	descLayers          = desc("permd_policy_layers", "How many layers are in that state.", "layer", "state")
	descRules           = desc("permd_policy_rules", "Rules in use.", "layer", "set")
	descChanged         = desc("permd_policy_changed_timestamp_seconds", "Since when the rules are those in use.")
	descRecords         = desc("permd_journal_records_total", "Decisions that were stored.")
	descFailed          = desc("permd_journal_failed_total", "Attempts to store decisions that failed.")
	descQueued          = desc("permd_journal_queued", "Decisions that wait to be stored.")
	descCapacity        = desc("permd_journal_capacity", "How many may wait.")
	descSpooled         = desc("permd_journal_spooled_bytes", "What is stored and not yet in the database.")
	descFailing         = desc("permd_journal_failing", "1 while decisions cannot be stored.")
	descStalled         = desc("permd_journal_stalled", "1 while the database takes none.")
	descRemoved         = desc("permd_journal_removed_total", "Decisions that were removed since the journal exists.")
	descBytes           = desc("permd_journal_bytes", "Size of the journal's database in use.")
	descShadow          = desc("permd_shadow_calls_total", "Calls that rules were tried on.", "result")
	descFree            = desc("permd_journal_free_bytes", "Free space of the journal's file system.")
	descLowSpace        = desc("permd_journal_low_space", "1 while the journal's file system is almost full.")
	descChoices         = desc("permd_choices", "Remembered choices.", "verdict")
	descUnconfirm       = desc("permd_choices_unconfirmed", "Allows that wait for a person to confirm them.")
	descMemory          = desc("permd_memory_degraded", "1 while something is wrong with the memory.")
	descAllowsOff       = desc("permd_memory_allows_off", "1 while remembered allows do not count.")
	descLost            = desc("permd_memory_lost", "1 while rejects may be lost, so that every call asks.")
	descUnanswered      = desc("permd_files_unanswered", "Looks at files that wait for a file system that does not answer.", "mount")
	descUnansweredSince = desc("permd_files_unanswered_since_timestamp_seconds", "Since when the first of them waits.", "mount")
	descStuck           = desc("permd_decisions_stuck", "Decisions that are under way for too long.", "where", "mount")
	descStuckSince      = desc("permd_decisions_stuck_since_timestamp_seconds", "Since when the first of them is under way.", "where", "mount")
	descSockets         = desc("permd_socket_missing", "1 while clients do not find the daemon at a socket's path.", "socket")
	descSelfCheck       = desc("permd_self_check_failing", "1 while the check fails that the service manager waits for.")
	descSessions        = desc("permd_sessions", "Sessions.")
	descConns           = desc("permd_connections", "Connections.", "socket")
	descGoroutines      = desc("permd_goroutines", "Goroutines of the daemon.")
	descStart           = desc("permd_start_time_seconds", "When the daemon started.")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe sends the descriptions.
func (s state) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descDegraded, descLayers, descRules, descChanged, descRecords, descFailed, descQueued, descCapacity, descSpooled,
		descFailing, descStalled, descRemoved, descBytes, descShadow, descFree, descLowSpace, descChoices, descUnconfirm, descMemory,
		descAllowsOff, descLost, descUnanswered, descUnansweredSince,
		descStuck, descStuckSince, descSockets, descSelfCheck, descSessions, descConns, descGoroutines, descStart,
	} {
		ch <- d
	}
}

// Collect reads the state.
func (s state) Collect(ch chan<- prometheus.Metric) {
	put := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) { put(d, prometheus.GaugeValue, v, labels...) }
	flag := func(d *prometheus.Desc, on bool) {
		v := 0.0
		if on {
			v = 1
		}
		gauge(d, v)
	}
	st := s.daemon.status()
	flag(descDegraded, st.Policy.Degraded())
	s.layers(st.Policy.Layers, gauge)
	gauge(descChanged, seconds(s.metrics.since()))
	put(descRecords, prometheus.CounterValue, float64(st.Journal.Records))
	put(descFailed, prometheus.CounterValue, float64(st.Journal.Failed))
	gauge(descQueued, float64(st.Journal.Queued))
	gauge(descCapacity, float64(st.Journal.Capacity))
	gauge(descSpooled, float64(st.Journal.Spooled))
	flag(descFailing, st.Journal.Failing != "")
	flag(descStalled, st.Journal.Stalled != "")
	kept := &st.Journal.Retention
	put(descRemoved, prometheus.CounterValue, float64(kept.Removed))
	gauge(descBytes, float64(kept.Bytes))
	gauge(descFree, float64(kept.Free))
	tried := s.daemon.shadow.Totals()
	put(descShadow, prometheus.CounterValue, float64(tried.Same), "same")
	put(descShadow, prometheus.CounterValue, float64(tried.Different), "different")
	put(descShadow, prometheus.CounterValue, float64(tried.NotCompared), "not_compared")
	flag(descLowSpace, kept.LowSpace)
	gauge(descChoices, float64(st.Memory.Allows), "allow")
	gauge(descChoices, float64(st.Memory.Rejects), "reject")
	gauge(descUnconfirm, float64(st.Memory.Unconfirmed))
	flag(descMemory, len(st.Memory.Degraded) > 0)
	flag(descAllowsOff, st.Memory.AllowsOff)
	flag(descLost, st.Memory.Lost != "")
	for _, s := range st.Unanswered {
		mount := strings.ToValidUTF8(s.Mount, "\uFFFD")
		gauge(descUnanswered, float64(s.Looks), mount)
		gauge(descUnansweredSince, seconds(s.Since), mount)
	}
	for _, d := range st.Stuck {
		gauge(descStuck, float64(d.Count), string(d.Where), d.Mount)
		gauge(descStuckSince, seconds(d.Since), string(d.Where), d.Mount)
	}
	for _, p := range st.Sockets {
		gauge(descSockets, 1, p.Socket)
	}
	flag(descSelfCheck, st.SelfCheck != "")
	gauge(descSessions, float64(st.Sessions))
	gauge(descConns, float64(s.metrics.decisionConns.Load()), "decision")
	gauge(descConns, float64(s.metrics.adminConns.Load()), "admin")
	gauge(descConns, float64(s.metrics.httpConns.Load()), "http")
	gauge(descGoroutines, float64(runtime.NumGoroutine()))
	gauge(descStart, seconds(st.Started))
}

// layers counts them: there is one for each project, and projects have names.
func (s state) layers(list []policy.LayerStatus, gauge func(*prometheus.Desc, float64, ...string)) {
	type key struct{ layer, what string }
	states, rules := map[key]int{}, map[key]int{}
	for i := range list {
		l := &list[i]
		states[key{string(l.Layer), string(l.State)}]++
		for set, n := range map[decisions.Set]int{decisions.SetAllow: l.Allow, decisions.SetAsk: l.Ask, decisions.SetDeny: l.Deny} {
			rules[key{string(l.Layer), string(set)}] += n
		}
	}
	for k, n := range states {
		gauge(descLayers, float64(n), k.layer, k.what)
	}
	for k, n := range rules {
		gauge(descRules, float64(n), k.layer, k.what)
	}
}

// seconds is a time as Prometheus has it.
func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
