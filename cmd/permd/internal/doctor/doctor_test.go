package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/daemon"
	"github.com/permd/permd/cmd/permd/internal/findings"
	"github.com/permd/permd/cmd/permd/internal/orgbundle"
	"github.com/permd/permd/cmd/permd/internal/service"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/journal/chain"
	"github.com/permd/permd/decisions/underway"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/packaging"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/management"
	"github.com/permd/permd/remember"
)

// TestDoctorDeliveries: what was taken of the organisation's servers becomes findings.
func TestDoctorDeliveries(t *testing.T) {
	now := time.Now()
	good := orgbundle.Status{BundleStatus: management.BundleStatus{Checked: now}, Revision: "5"}
	with := func(change func(*orgbundle.Status)) *orgbundle.Status {
		s := good
		change(&s)
		return &s
	}
	discovered := &management.DiscoveryStatus{BundleStatus: management.BundleStatus{Checked: now}, Revision: "3"}
	for _, tt := range []struct {
		name    string
		control *orgbundle.Control
		bundle  *orgbundle.Status
		want    []string // STATE CHECK: a part of the text
	}{
		{"nothing", nil, nil, nil},
		{"well", &orgbundle.Control{Discovery: discovered, Shadow: &good}, &good, []string{"ok discovery: revision 3, the server answered at", "ok bundle: revision 5", "ok shadow bundle: revision 5"}},
		{"opa.yaml", &orgbundle.Control{Problem: "opa.yaml:1: x"}, nil, []string{"error opa.yaml: it is not in force as it is: opa.yaml:1: x"}},
		{"missing", &orgbundle.Control{}, with(func(s *orgbundle.Status) { s.Revision, s.Error = "", "not found" }), []string{"error bundle: none is in force, so every call may ask: not found"}},
		{"unreachable", &orgbundle.Control{}, with(func(s *orgbundle.Status) { s.Error, s.Since = "connection refused", now }), []string{"warn bundle: revision 5 is in force, and no other was taken since"}},
		{"expired", &orgbundle.Control{}, with(func(s *orgbundle.Status) { s.Expired, s.Expires = true, now }), []string{"warn bundle: revision 5 expired at"}},
		{"not answered", &orgbundle.Control{}, with(func(s *orgbundle.Status) { s.Checked = time.Time{} }), []string{"warn bundle: revision 5 is in force, and the server has not answered yet"}},
		{"kept", &orgbundle.Control{}, with(func(s *orgbundle.Status) { s.Kept = "it is cut off" }), []string{"ok bundle: revision 5", "warn bundle: what was kept of it is not in force: it is cut off"}},
		{"not discovered", &orgbundle.Control{Discovery: &management.DiscoveryStatus{BundleStatus: management.BundleStatus{Error: "x"}}, Shadow: &orgbundle.Status{BundleStatus: management.BundleStatus{Error: "y"}}}, nil,
			[]string{"error discovery: none is in force, so every call may ask: x", "warn shadow bundle: nothing is tried: y"}},
	} {
		x := &examination{}
		x.deliveries(&daemon.Status{Control: tt.control, Bundle: tt.bundle})
		if len(x.All) != len(tt.want) {
			t.Errorf("%s: %+v", tt.name, x.All)
			continue
		}
		for i, f := range x.All {
			if got := fmt.Sprintf("%s %s: %s", f.State, f.Check, f.Text); !strings.Contains(got, tt.want[i]) || f.State != findings.OK && f.Fix == "" {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want[i])
			}
		}
	}
}

// TestDoctorCondition: the daemon's status becomes findings, each with a fix.
func TestDoctorCondition(t *testing.T) {
	for _, tt := range []struct {
		name  string
		s     daemon.Status
		state findings.State
		text  string
		fix   string
	}{
		{"well", daemon.Status{Version: buildinfo.Version(), PID: 7}, findings.OK, "pid 7", ""},
		{"another version", daemon.Status{Version: "v0.0.1", PID: 7}, findings.Warn, "it is version v0.0.1, pid 7", "start it again: permd serve"},
		{"settings", daemon.Status{Version: buildinfo.Version(), Policy: policy.Status{Settings: "permd.toml:1: x"}}, findings.Error, "permd.toml:1: x", "permd reload"},
		{"waiting rules", daemon.Status{Version: buildinfo.Version(), Policy: policy.Status{Waiting: &policy.Waiting{Mode: "manual", Parts: []string{"org", "user"}}}}, findings.Warn, `changed org and user rules wait since 0001-01-01`, "permd policy replay"},
		{"rules", daemon.Status{Version: buildinfo.Version(), Policy: policy.Status{Layers: []policy.LayerStatus{{Layer: decisions.User, Error: "a.rego:1: x"}}}}, findings.Error, "the user rules are not what their files say: a.rego:1: x", "permd reload"},
		{"journal", daemon.Status{Version: buildinfo.Version(), Journal: journal.Status{Failing: "the disk is full"}}, findings.Error, "nothing is allowed: the disk is full", "df "},
		{"little space", daemon.Status{Version: buildinfo.Version(), Journal: journal.Status{Retention: journal.Retention{LowSpace: true, Free: 300 << 20}}}, findings.Warn, "only 300 MiB left", "df "},
		{"lost head", daemon.Status{Version: buildinfo.Version(), Lost: []chain.Head{{Hash: strings.Repeat("5", 64), Seq: 7}}}, findings.Error, "it had the head 555555555555, with decision 7", "permd log verify"},
		{"retention", daemon.Status{Version: buildinfo.Version(), Journal: journal.Status{Retention: journal.Retention{Failing: "the disk is full"}}}, findings.Warn, "cannot be removed from the journal: the disk is full", "permd status"},
		{"file system", daemon.Status{Version: buildinfo.Version(), Unanswered: []mounts.Stuck{{Mount: "/mnt/x", Looks: 2, Since: time.Now()}}}, findings.Warn, "2 looks stuck for 0s below /mnt/x", "permd status"},
		{"stuck", daemon.Status{Version: buildinfo.Version(), Stuck: []daemon.StuckDecisions{{Where: underway.AtJournal, Count: 3, Since: time.Now()}}}, findings.Warn, "3 decisions stuck for 0s waiting for the journal", "permd status"},
		{"socket", daemon.Status{Version: buildinfo.Version(), Sockets: []daemon.SocketProblem{{Socket: "admin", Path: "/run/x", Problem: "/run/x is a file"}}}, findings.Error, "clients do not find it: /run/x is a file", "ls -l /run/x"},
		{"self-check", daemon.Status{Version: buildinfo.Version(), SelfCheck: "a decision is stuck"}, findings.Error, "its own check failed: a decision is stuck", "start it again"},
		{"memory", daemon.Status{Version: buildinfo.Version(), Memory: remember.Status{Degraded: []string{"it was damaged"}}}, findings.Warn, "the memory is degraded: it was damaged", "permd status"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			x := &examination{dirs: xdg.Dirs{Config: filepath.Join(dir, "permd"), Data: dir}}
			x.daemonState(&tt.s)
			last := x.All[len(x.All)-1]
			if last.State != tt.state || !strings.Contains(last.Text, tt.text) || !strings.Contains(last.Fix, tt.fix) || tt.state != findings.OK && last.Fix == "" {
				t.Errorf("found %+v", x.All)
			}
		})
	}
}

// Units that an older permd wrote are told from those of this one.
func TestDoctorOutdatedUnits(t *testing.T) {
	dir := t.TempDir()
	x := &examination{dirs: xdg.Dirs{Config: filepath.Join(dir, "permd")}}
	program := filepath.Join(dir, "bin")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	units, err := packaging.UserUnits(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range units {
		u.Text = strings.Replace(u.Text, "[Unit]\n", "[Unit]\nX-Permd-Old=yes\n", 1)
		if err := os.MkdirAll(service.Here().Dir(x.dirs), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(service.Here().Dir(x.dirs), u.Name), service.Marked(u.Text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x.units()
	if len(x.All) == 0 || x.All[0].State != findings.Warn || !strings.Contains(x.All[0].Text, "another version") ||
		!strings.Contains(x.All[0].Fix, "permd service install --exec "+program) {
		t.Errorf("found %+v", x.All)
	}
}
