package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
)

// TestSummary: one line has the rules in use, and what is wrong with them.
func TestSummary(t *testing.T) {
	since := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	org := LayerStatus{Layer: decisions.Org, State: StateOK, Deny: 2, Digest: "d"}
	base := LayerStatus{Layer: decisions.Base, State: StateOK, Allow: 20, Ask: 10, Digest: "d"}
	user := LayerStatus{Layer: decisions.User, State: StateDegraded, Allow: 1, Digest: "d", Since: since, Error: "loading user rules: /u/a.rego:3: wrong"}
	never := user
	never.Digest, never.Allow = "", 0
	project := LayerStatus{Layer: decisions.Project, Project: "/p", State: StateDegraded, Since: since.Add(time.Hour), Error: "loading project rules: /p/.permd/rules.yaml:1: wrong"}
	long := user
	long.Error += strings.Repeat(" long", 100)
	tests := []struct {
		name   string
		status Status
		want   string
	}{
		{"well", Status{Layers: []LayerStatus{org, base}}, "serving 32 rules: 2 of org, 30 of base"},
		{"no rules", Status{Layers: []LayerStatus{{Layer: decisions.Org, State: StateAbsent}}}, "serving no rules"},
		{"broken", Status{Layers: []LayerStatus{org, user, base}},
			"degraded since 2026-03-04 05:06:07: loading user rules: /u/a.rego:3: wrong; serving 33 rules: 2 of org, 1 of user, 30 of base, the last that were good"},
		{"never good", Status{Layers: []LayerStatus{org, never, base}},
			"degraded since 2026-03-04 05:06:07: loading user rules: /u/a.rego:3: wrong; serving 32 rules: 2 of org, 30 of base, and every call asks"},
		{"a project that was never good, before a layer that was", Status{Layers: []LayerStatus{user, project, base}},
			"degraded since 2026-03-04 06:06:07: loading project rules: /p/.permd/rules.yaml:1: wrong (and 1 layer more); serving 31 rules: 1 of user, 30 of base, and every call in /p asks"},
		{"settings", Status{Layers: []LayerStatus{base}, Settings: "permd.toml:3: wrong", SettingsSince: since},
			"degraded since 2026-03-04 05:06:07: permd.toml:3: wrong; serving 30 rules: 30 of base, with the former settings"},
		{"long", Status{Layers: []LayerStatus{long}},
			"degraded since 2026-03-04 05:06:07: " + long.Error[:maxSummaryReason] + "…; serving 1 rule: 1 of user, the last that were good"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.status.Summary()
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if strings.HasPrefix(got, "degraded") != tt.status.Degraded() {
				t.Errorf("degraded: %v", tt.status.Degraded())
			}
		})
	}
}
