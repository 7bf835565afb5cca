package daemon

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/permd/permd/decisions"
)

// TestMetricsOfFailures: an allow that could not be logged was sent as an ask, and
// is counted as one.
func TestMetricsOfFailures(t *testing.T) {
	d := &daemon{started: time.Now()}
	m := newMetrics(d)
	m.registry.Unregister(state{d, m})
	j := m.count(failingJournal{})
	_ = j.Append(t.Context(), allowRecord(), allowRecord()) // it fails
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "permd_decisions_total" {
			continue
		}
		if got := f.String(); len(f.GetMetric()) != 1 || !strings.Contains(got, "failure") || !strings.Contains(got, `"ask"`) {
			t.Errorf("counted as %s", got)
		}
		return
	}
	t.Error("nothing was counted")
}

// TestMetricsPage: docs/protocol.md has every metric with its labels.
func TestMetricsPage(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(text), "\n### Metrics\n")
	page, _, _ = strings.Cut(page, "\n## ")
	documented := map[string]string{}
	code := regexp.MustCompile("`([a-z_]+)`")
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.HasPrefix(line, "| `permd_") {
			continue
		}
		var labels []string
		for _, m := range code.FindAllStringSubmatch(cells[2], -1) {
			labels = append(labels, m[1])
		}
		slices.Sort(labels)
		for _, m := range code.FindAllStringSubmatch(cells[1], -1) {
			documented[m[1]] = strings.Join(labels, ", ")
		}
	}
	d := &daemon{started: time.Now()}
	m := newMetrics(d)
	ch := make(chan *prometheus.Desc, 100)
	m.registry.Describe(ch)
	close(ch)
	served := map[string]string{}
	parts := regexp.MustCompile(`fqName: "([a-z_]+)".*variableLabels: \{([a-z_,]*)\}`)
	for desc := range ch {
		p := parts.FindStringSubmatch(desc.String())
		if p == nil {
			t.Fatalf("%s", desc)
		}
		labels := strings.Split(p[2], ",")
		slices.Sort(labels)
		served[p[1]] = strings.Join(labels, ", ")
	}
	if diff := cmp.Diff(served, documented); diff != "" {
		t.Errorf("metrics (-served +documented):\n%s", diff)
	}
}

type failingJournal struct{}

func (failingJournal) Append(context.Context, ...*decisions.Record) error {
	return errors.New("no room")
}

func allowRecord() *decisions.Record {
	return &decisions.Record{Decision: decisions.Decision{Verdict: decisions.Allow, By: decisions.ByPolicy}}
}
