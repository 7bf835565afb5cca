package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/xdg"
)

// TestPrivateGroupFiles: where people have a group of their own, files are made
// writable by it. Rules and settings of that kind are served; those that
// everybody can write are not, and the message has the command that helps.
func TestPrivateGroupFiles(t *testing.T) {
	t.Parallel()
	uid := os.Getuid()
	if !xdg.PrivateGroup(uint32(uid), uint32(os.Getgid())) {
		t.Skipf("uid %d has no private group with this system's accounts (root never has)", uid)
	}
	d := newTestDaemon(t)
	project := d.project(t, nil)
	config := filepath.Join(d.home, ".config", "permd")
	writeFile(t, filepath.Join(config, "permd.toml"), `confirm = "always"`)
	d.policy(t, "a.rego", `deny contains "no git" if input.effect.program == "git"`)
	files := []string{".", "permd.toml", "policy.d", "policy.d/a.rego"}
	mode := func(name string, bits os.FileMode) {
		t.Helper()
		if name == "." || name == "policy.d" {
			bits |= 0o111
		}
		if err := os.Chmod(filepath.Join(config, name), bits); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range files {
		mode(name, 0o664)
	}
	d.start(t)
	wantProbe(t, d.session(t, project), "deny", "policy", "no git")
	if st := d.status(t); st.Degraded {
		t.Errorf("status %+v", st.Policy)
	}
	for _, name := range files {
		mode(name, 0o666)
		out, err := d.command("reload").CombinedOutput()
		path := filepath.Join(config, name)
		if name != "permd.toml" && (err == nil || !strings.Contains(string(out), path) || !strings.Contains(string(out), "can be written by everybody")) {
			t.Errorf("%s that everybody can write: %v\n%s", name, err, out)
		}
		if name == "permd.toml" && (err == nil || !strings.Contains(string(out), path) || !strings.Contains(string(out), "can be written by others")) {
			t.Errorf("%s that everybody can write: %v\n%s", name, err, out)
		}
		mode(name, 0o664)
	}
	d.reload(t)
}
