package decisions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSystem: an engine that serves several people does not read files for a person
// that the person cannot read, whatever rules allow.
func TestSystem(t *testing.T) {
	for name, tt := range map[string]struct {
		system, open bool
		want         Verdict
	}{
		"one person":                          {want: Allow},
		"several, a folder for its owner":     {system: true, want: Ask},
		"several, a folder that all may read": {system: true, open: true, want: Allow},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, e := newFakes(t)
			e, err := e.With(func(c *Config) { c.System = tt.system })
			if err != nil {
				t.Fatal(err)
			}
			req := bash(t, "cat private/a")
			req.Call.User.UID = uint32(os.Getuid()) + 1
			mode := os.FileMode(0o700)
			if tt.open {
				mode = 0o755
			}
			dir := filepath.Join(req.Call.Cwd, "private")
			if err := os.Mkdir(dir, mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, mode); err != nil { // whatever the umask
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
				if d != dir {
					if err := os.Chmod(d, 0o755); err != nil {
						break // not owned by this user
					}
				}
			}
			if d := e.Decide(t.Context(), req)[0]; d.Verdict != tt.want {
				t.Errorf("%s: %s, want %s", d.Verdict, d.Reason, tt.want)
			}
		})
	}
}

// systemPolicy is a policy for the system-wide mode.
type systemPolicy struct {
	Policy
	system bool
}

func (p systemPolicy) System() bool { return p.system }

// TestSystemIsOneSetting: policy and engine cannot have different modes.
func TestSystemIsOneSetting(t *testing.T) {
	p, _, _, e := newFakes(t)
	for _, policy := range []bool{false, true} {
		for _, engine := range []bool{false, true} {
			_, err := e.With(func(c *Config) { c.Policy, c.System = systemPolicy{p, policy}, engine })
			if (err == nil) != (policy == engine) || err != nil && !strings.Contains(err.Error(), "System is") {
				t.Errorf("policy %v, engine %v: error %v", policy, engine, err)
			}
		}
	}
}
