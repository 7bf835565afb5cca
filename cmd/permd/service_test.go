package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/packaging"
)

// assigned is what an installed unit assigns to a key that it has once.
func assigned(t *testing.T, d *testDaemon, unit, key string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(d.home, ".config", "systemd", "user", unit))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), "\n"+key+"=")
	value, _, ended := strings.Cut(rest, "\n")
	if !ok || !ended || strings.Contains(rest, "\n"+key+"=") {
		t.Fatalf("%s does not assign %s once", unit, key)
	}
	return strings.ReplaceAll(value, "%t", d.run)
}

// TestInstalledUnits starts and stops the daemon as systemd would by the units of
// permd service install: with their sockets and names, their command line, and the
// paths that clients connect to.
func TestInstalledUnits(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts and stops daemons; TestSocketActivation is the quick one")
	}
	t.Parallel()
	tool, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		t.Skip("systemd-socket-activate is not installed (package systemd)")
	}
	d := newTestDaemon(t)
	if out, err := d.command("service", "install", "--exec", os.Args[0]).CombinedOutput(); err != nil {
		t.Fatalf("permd service install: %v\n%s", err, out)
	}
	var args, names []string
	for _, unit := range []string{packaging.DecisionSocket, packaging.AdminSocket} {
		path := assigned(t, d, unit, "ListenStream")
		// systemd makes the folder with this mode.
		if mode := assigned(t, d, unit, "DirectoryMode"); mode != "0700" {
			t.Errorf("%s: DirectoryMode=%s", unit, mode)
		}
		if mode := assigned(t, d, unit, "SocketMode"); mode != "0600" {
			t.Errorf("%s: SocketMode=%s", unit, mode)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-l", path)
		names = append(names, assigned(t, d, unit, "FileDescriptorName"))
	}
	args = append(args, "--fdname="+strings.Join(names, ":"))
	for _, v := range d.env {
		args = append(args, "-E", v)
	}
	d.cmd = exec.Command(tool, append(args, strings.Fields(assigned(t, d, packaging.Service, "ExecStart"))...)...)
	d.cmd.Stdout, d.cmd.Stderr = &d.output, &d.output
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.waitListening(t, len(names))
	// The doctor is the first client.
	out, err := d.command("doctor").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\n0 errors") {
		t.Errorf("permd doctor: %v\n%s", err, out)
	}
	if err := d.stop(t); err != nil {
		t.Errorf("the daemon ended with %v:\n%s", err, d.output.String())
	}
	for _, unit := range []string{packaging.DecisionSocket, packaging.AdminSocket} {
		if _, err := os.Lstat(assigned(t, d, unit, "ListenStream")); err != nil {
			t.Errorf("the manager's socket is gone: %v", err)
		}
	}
}
