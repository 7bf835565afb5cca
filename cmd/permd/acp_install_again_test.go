package main

import (
	"os"
	"strings"
	"testing"
)

// TestACPInstallAgain: another permd takes the place of the one that install wrote,
// and what the person wrote into its entry since stays.
func TestACPInstallAgain(t *testing.T) {
	uid := uint32(os.Geteuid())
	for client, file := range map[string]struct{ text, old, mine string }{
		"zed":       {"{}\n", `"env": {}`, `"env": {"KEY": "mine"}, "default_mode": "plan"`},
		"jetbrains": {`{"agent_servers": {"Claude": {"command": "claude-agent-acp", "args": []}}}`, `"--"`, `"--require", "--"`},
		"acpx":      {`{"agents": {"claude": {"command": "claude-agent-acp"}}}`, `acp --`, `acp --require --`},
	} {
		t.Run(client, func(t *testing.T) {
			p, e, store := acpPlaceOf(t, client, "claude")
			writeFile(t, p.path, file.text)
			if err := os.Chmod(p.path, 0o600); err != nil {
				t.Fatal(err)
			}
			install := func(program string) string {
				return string(applied(t, store, func() (*configChange, error) { return planACPInstall(p, e, store, program, uid) }))
			}
			edited := strings.Replace(install("/old/permd"), file.old, file.mine, 1)
			writeFile(t, p.path, edited)
			if got, want := install("/new/permd"), strings.Replace(edited, "/old/permd", "/new/permd", 1); got != want || !strings.Contains(got, file.mine) {
				t.Errorf("it is\n%s\nwant\n%s", got, want)
			}
			again := install("/new/permd")
			if !strings.Contains(again, file.mine) {
				t.Errorf("once more, and it is\n%s", again)
			}
		})
	}
}

// TestACPInstallAgainUnknown: what the doctor names puts another permd in front of
// an agent that only its person knows how to start.
func TestACPInstallAgainUnknown(t *testing.T) {
	uid := uint32(os.Geteuid())
	p, e, store := acpPlaceOf(t, "zed", "mine", "/opt/mine", "--acp")
	old := string(applied(t, store, func() (*configChange, error) { return planACPInstall(p, e, store, "/old/permd", uid) }))
	p, e, store = acpPlaceIn(t, e.home, "zed", "mine (permd)")
	got := string(applied(t, store, func() (*configChange, error) { return planACPInstall(p, e, store, "/new/permd", uid) }))
	if want := strings.Replace(old, "/old/permd", "/new/permd", 1); got != want {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
}
