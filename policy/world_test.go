package policy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/policy/input/inputtest"
	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/rego"
)

// world is a store over temporary folders.
type world struct {
	root               string // contains the others
	org, user, project string
	opts               Options
	delays             delays // of stores that are opened then
}

func newWorld(t testing.TB) *world { return newWorldIn(t, t.TempDir()) }

func newWorldIn(t testing.TB, root string) *world {
	t.Helper()
	w := &world{
		delays:  defaultDelays,
		root:    root,
		org:     filepath.Join(root, "etc/permd/policy.d"),
		user:    filepath.Join(root, "home/.config/permd/policy.d"),
		project: filepath.Join(root, "home/work/p"),
	}
	for _, dir := range []string{w.org, w.user, w.project} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	table, err := programs.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := shippedProfiles()
	if err != nil {
		t.Fatal(err)
	}
	w.opts = Options{
		OrgDir: w.org, OrgOwners: policytest.Owners(),
		UserDir:  func(uint32) (string, error) { return w.user, nil },
		UID:      uint32(os.Getuid()),
		Base:     map[string][]byte{"base/base.rego": []byte("package permd.base\nimport rego.v2\nask contains \"base\" if input.effect.kind == \"run\"\n")},
		Schema:   rego.InputSchema(),
		Programs: rego.Programs(),
		Profiles: rego.Profiles(),
		Table:    table, ParsedProfiles: profiles,
	}
	return w
}

func (w *world) open(t testing.TB) *Store {
	t.Helper()
	policytest.Age(t, w.root)
	s, err := Open(context.Background(), w.opts)
	if err != nil {
		t.Fatal(err)
	}
	s.delays = w.delays
	return s
}

func rulesFor(layer, set, program, reason string) string {
	return fmt.Sprintf("package permd.%s\nimport rego.v2\n%s contains %q if input.effect.program == %q\n", layer, set, reason, program)
}

// reasons evaluates a run of a program and returns what fired, or the error.
func reasons(t testing.TB, s *Store, project, program string) []string {
	t.Helper()
	snap, err := s.Snapshot(s.opts.UID, project)
	if err != nil {
		return []string{"error: " + err.Error()}
	}
	got, err := snap.Evaluate(context.Background(), inputtest.Of(inputtest.Run(program)))
	var out []string
	for _, f := range got.Fired {
		out = append(out, fmt.Sprintf("%s %s %s", f.Rule.Layer, f.Set, f.Reason))
	}
	if err != nil {
		out = append(out, "error: "+err.Error())
	}
	return out
}

func layerStatus(t testing.TB, s *Store, layer decisions.Layer) LayerStatus {
	t.Helper()
	for _, l := range s.Status().Layers {
		if l.Layer == layer {
			return l
		}
	}
	t.Fatalf("no status of %s", layer)
	return LayerStatus{}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}
