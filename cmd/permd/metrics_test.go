package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// samples returns the lines of /metrics that have one of these prefixes.
func (c *httpClient) samples(t *testing.T, prefixes ...string) (lines []string) {
	t.Helper()
	got := c.send(t, "GET", "/metrics", "")
	if got.Status != 200 {
		t.Fatalf("%+v", got)
	}
	for line := range strings.Lines(got.Body) {
		for _, p := range prefixes {
			if strings.HasPrefix(line, p) {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	return lines
}

// TestMetrics: decisions of all sockets are counted with the verdict that was sent, and
// the state is that of permd status.
func TestMetrics(t *testing.T) {
	if testing.Short() {
		t.Skip("long: calls over each socket")
	}
	t.Parallel()
	d, c := startHTTP(t, "unix")
	project := d.project(t, nil)
	w := d.session(t, project)
	for range 3 {
		wantAllowed(t, w) // two decisions each
	}
	wantHTTPAllowed(t, c, project)
	c.shell(t, project, "make install")
	c.shell(t, project, "rm -rf /")
	c.send(t, "POST", "/v1/nothing", "{}")
	c.send(t, "POST", "/v1/calls", "{")
	want := []string{
		`permd_connections{socket="admin"} 0`,
		`permd_connections{socket="decision"} 1`,
		`permd_connections{socket="http"} 1`,
		`permd_decision_seconds_count{verdict="allow"} 7`,
		`permd_decision_seconds_count{verdict="ask"} 1`,
		`permd_decision_seconds_count{verdict="deny"} 1`,
		`permd_decisions_total{decided_by="policy",verdict="allow"} 7`,
		`permd_decisions_total{decided_by="policy",verdict="ask"} 1`,
		`permd_decisions_total{decided_by="policy",verdict="deny"} 1`,
		`permd_http_requests_total{path="/v1/calls",status="400"} 1`,
		`permd_http_requests_total{path="/v1/data/permd/decision",status="200"} 3`,
		`permd_http_requests_total{path="other",status="404"} 1`,
		`permd_journal_failing 0`,
		`permd_journal_records_total 9`,
		`permd_policy_degraded 0`,
	}
	got := c.samples(t, "permd_connections", "permd_decision_seconds_count", "permd_decisions_total", "permd_http_requests_total",
		"permd_journal_failing", "permd_journal_records_total", "permd_policy_degraded")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	changed := c.samples(t, "permd_policy_changed")
	d.policy(t, "x.rego", `deny contains "x" if input.effect.program == "x"`)
	d.reload(t)
	if again := c.samples(t, "permd_policy_changed"); cmp.Equal(changed, again) {
		t.Errorf("the rules have changed, and the time is %s", again)
	}
	d.policy(t, "x.rego", "deny contains 7")
	_ = d.command("reload").Run() // it fails
	if got := c.samples(t, "permd_policy_degraded", "permd_reloads_total"); !cmp.Equal(got, []string{
		"permd_policy_degraded 1", `permd_reloads_total{result="failed"} 1`, `permd_reloads_total{result="ok"} 1`,
	}) {
		t.Errorf("with broken rules: %s", got)
	}
	if got := c.samples(t, `permd_policy_changes_total{result="degraded"}`); len(got) != 1 {
		t.Errorf("changes: %s", got)
	}
}
