package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// startMounted starts the daemon in user and mount namespaces of its own, in which the
// shell command has mounted something. The command gets the arguments as $1 and so on.
// The test is skipped where that is not possible.
func (d *testDaemon) startMounted(t *testing.T, mount string, args ...string) {
	t.Helper()
	script := `permd=$1; shift; ` + mount + ` && exec "$permd" serve`
	d.cmd = exec.Command("/bin/sh", append([]string{"-c", script, "sh", os.Args[0]}, args...)...)
	d.cmd.Env = d.env
	d.cmd.Stdout, d.cmd.Stderr = &d.output, &d.output
	d.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if err := d.cmd.Start(); err != nil {
		t.Skipf("no user namespaces here: %v", err)
	}
	failed := func() bool {
		return strings.Contains(d.output.String(), "mount: ") || strings.Contains(d.output.String(), "sh: ")
	}
	eventually.Holds(t, "the daemon", func() bool { return strings.Contains(d.output.String(), "  try ") || failed() }, d.output.String)
	if failed() {
		t.Skipf("nothing can be mounted here: %s", d.output.String())
	}
}
