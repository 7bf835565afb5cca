package orgbundle

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/internal/xdg"
)

// TestOpen: what is no configuration of root, or has an error, is one; without a bundle there is
// nothing to do.
func TestOpen(t *testing.T) {
	own := []uint32{0, uint32(os.Geteuid())}
	for _, tt := range []struct {
		name, text string
		mode       os.FileMode
		want       string // of the error
	}{
		{"nothing", "", 0, ""},
		{"no bundle", "labels: {a: b}", 0o644, ""},
		{"an unknown key", "label: {a: b}", 0o644, "label is not known"},
		{"others can write", "labels: {a: b}", 0o666, "can be written by others (mode 0666)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dirs := xdg.Dirs{Org: t.TempDir(), Data: t.TempDir()}
			name := filepath.Join(dirs.Org, "opa.yaml")
			if tt.mode != 0 {
				if err := os.WriteFile(name, []byte(tt.text), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(name, tt.mode); err != nil {
					t.Fatal(err)
				}
			}
			d, err := Open(t.Context(), dirs, own, mounts.New())
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v; want %q", err, tt.want)
			}
			if err == nil && (d.Delivered() != nil || d.Status() != nil) {
				t.Errorf("%+v, %+v", d.Delivered(), d.Status())
			}
		})
	}
}

// TestStartFails: where the service cannot be used at all, the status says why.
func TestStartFails(t *testing.T) {
	dirs := xdg.Dirs{Org: t.TempDir(), Data: t.TempDir()}
	text := "services: {s: {url: 'https://x', credentials: {bearer: {token_path: /nowhere/token}}}}\nbundles: {org: {service: s}}\nplugins: {permd: {unsigned_bundles: true}}\n"
	if err := os.WriteFile(filepath.Join(dirs.Org, "opa.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), dirs, []uint32{0, uint32(os.Geteuid())}, mounts.New())
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Delivered(); got.Files != nil || !strings.Contains(got.Missing, "no bundle of https://x/bundles/org was taken yet") {
		t.Errorf("%+v", got)
	}
	changed := 0
	d.Prepare(t.Context(), Daemon{Log: slog.New(slog.DiscardHandler), Changed: func() { changed++ }})
	d.Start(t.Context())
	s := d.Status()
	if changed != 1 || !strings.Contains(s.Error, "/nowhere/token") || !s.Unsigned || s.Source != "https://x/bundles/org" {
		t.Errorf("%+v", s)
	}
	if c := d.Control(); !strings.Contains(c.Problem, "/nowhere/token") || c.ID == "" {
		t.Errorf("%+v", c)
	}
	if _, err := d.Manager(); err == nil {
		t.Error("there are services")
	}
	if lines := strings.Join(s.Lines(), "\n"); !strings.Contains(lines, "no revision is in force, from https://x/bundles/org, unsigned") {
		t.Error(lines)
	}
	var none *Delivery
	if m, err := none.Manager(); none.Delivered() != nil || none.Status() != nil || none.Control() != nil || m != nil || err != nil {
		t.Error("what is not configured has a status")
	}
	none.Run(t.Context())
}
