package orgbundle

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/bundles/bundlestest"
)

// opaYAML is a configuration, with a section that says where rules come from.
func opaYAML(key bundlestest.Key, section string) string {
	return fmt.Sprintf("services: {s: {url: 'http://127.0.0.1:1'}}\nkeys:\n  %s:\n    algorithm: ES256\n    scope: %s\n    key: |\n      %s\n%s\n",
		bundlestest.KeyID, bundlestest.Scope, strings.ReplaceAll(strings.TrimSpace(key.Public), "\n", "\n      "), section)
}

// delivering is a Delivery with revision 1 in force.
func delivering(t *testing.T) (*Delivery, bundlestest.Key) {
	t.Helper()
	dirs, key := xdg.Dirs{Org: t.TempDir(), Data: t.TempDir()}, bundlestest.NewKey(t)
	text := opaYAML(key, "bundles: {org: {service: s, signing: {keyid: release, scope: permd}}}")
	if err := os.WriteFile(filepath.Join(dirs.Org, "opa.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	data := key.Signed(t, "1", map[string]string{"rules.yaml": "deny:\n  run: [rm]\n"})
	k := bundles.Keep(bundles.Org, filepath.Join(dirs.Data, folder), key.Config(), time.Now)
	b, _, err := k.Read(data)
	if err == nil {
		err = k.Store(b, data)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), dirs, []uint32{0, uint32(os.Geteuid())}, mounts.New())
	if err != nil {
		t.Fatal(err)
	}
	return d, key
}

// TestAppliedMeanwhile: a bundle that is being taken while a discovered configuration comes into
// force is noted: the status has it, and none before it is taken after it.
func TestAppliedMeanwhile(t *testing.T) {
	d, key := delivering(t)
	data := key.Signed(t, "2", map[string]string{"rules.yaml": "deny:\n  run: [cp]\n"})
	taking := d.in.of(bundles.Org)
	b, _, err := taking.keeper.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	d.open(d.in, d.in)
	if err := taking.keeper.Store(b, data); err != nil {
		t.Fatal(err)
	}
	taking.last = b
	if s := d.Status(); s.Revision != "2" || s.Highest != "2" {
		t.Errorf("%+v", s)
	}
	old := key.Signed(t, "1", map[string]string{"rules.yaml": "deny:\n  run: [rm]\n"})
	if _, _, err := d.in.of(bundles.Org).keeper.Read(old); err == nil || !strings.Contains(err.Error(), "revision 1 is lower than 2") {
		t.Errorf("an earlier revision: %v", err)
	}
}

// TestChangeToDiscovery: rules that are in force stay when opa.yaml names them no more and has
// discovery in their place, and until that has answered.
func TestChangeToDiscovery(t *testing.T) {
	d, key := delivering(t)
	d.daemon.Daemon, d.daemon.ctx = Daemon{Log: slog.New(slog.DiscardHandler), Changed: func() {}}, t.Context()
	text := opaYAML(key, "discovery: {service: s, resource: d.tar.gz, signing: {keyid: release, scope: permd}}")
	if err := os.WriteFile(filepath.Join(d.dirs.Org, "opa.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	text2, config, err := d.read()
	if err != nil {
		t.Fatal(err)
	}
	in := d.keptOf(t.Context(), text2, config, d.in)
	if in.discovery == nil || in.discovery.Effective(config).Sources[bundles.Org] != nil {
		t.Fatal("the configuration names a bundle before anything was discovered")
	}
	d.takeOver(in, d.in)
	if k := in.of(bundles.Org); k == nil || k.last == nil || k.last.Revision != "1" || k.keeper.Accepted() == nil {
		t.Errorf("%+v", k)
	}
}
