package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// rules are the person's rules for all harnesses: one command of each verdict.
// permd's default, which asks, decides everything else.
const rules = `allow:
  run: ["touch ran-allow", "touch ran-down", "touch ran-gone"]
ask:
  run: ["touch ran-ask", "touch ran-bypass", "touch ran-managed", "touch ran-waits", "touch ran-waits-no", "touch ran-in-vain"]
deny:
  run: ["touch ran-deny"]
`

// daemon is a permd daemon with its own home and run-time folder.
type daemon struct {
	home, run string
	cmd       *exec.Cmd
}

func startDaemon(ctx context.Context, permd, dir string) (*daemon, error) {
	// The path of a socket must be short.
	run, err := os.MkdirTemp("", "pl")
	if err != nil {
		return nil, err
	}
	d := &daemon{home: filepath.Join(dir, "permd"), run: run}
	policy := filepath.Join(d.home, ".config", "permd", "policy.d")
	if err := os.MkdirAll(policy, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(policy, "rules.yaml"), []byte(rules), 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "permd.log"))
	if err != nil {
		return nil, err
	}
	d.cmd = exec.CommandContext(ctx, permd, "serve")
	d.cmd.Env = []string{"HOME=" + d.home, "XDG_RUNTIME_DIR=" + run, "PATH=" + os.Getenv("PATH")}
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.Cancel = func() error { return d.cmd.Process.Signal(syscall.SIGTERM) }
	d.cmd.WaitDelay = 10 * time.Second
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting permd: %w", err)
	}
	socket := filepath.Join(run, "permd", "permd.sock")
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(socket); err == nil {
			return d, nil
		}
		if time.Now().After(deadline) {
			d.stop()
			return nil, fmt.Errorf("permd did not start; see %s", log.Name())
		}
	}
}

func (d *daemon) stop() {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	_ = d.cmd.Wait()
	_ = os.RemoveAll(d.run)
}
