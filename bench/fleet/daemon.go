package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/permd/permd/socket/client"
)

// daemon is a real permd process of the fleet.
type daemon struct {
	name string
	n    int    // among the daemons
	dir  string // has the home, the organisation's folder and the sockets
	cmd  *exec.Cmd
	log  *os.File
}

// buildPermd builds the program unless one is named.
func buildPermd(ctx context.Context, named, dir string) (string, error) {
	if named != "" {
		return filepath.Abs(named)
	}
	program := filepath.Join(dir, "permd")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/permd/permd/cmd/permd")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building permd: %w\n%s", err, out)
	}
	return program, nil
}

// startDaemon starts a daemon with the configuration that a machine has.
func (f *fleet) startDaemon(ctx context.Context, program string, n int) (*daemon, error) {
	m := f.newMachine(f.o.machines + n)
	d := &daemon{name: m.name(), n: n, dir: filepath.Join(f.dir, "d"+fmt.Sprint(n))}
	org := filepath.Join(d.dir, "root", "etc", "permd")
	err := errors.Join(os.MkdirAll(org, 0o755), os.MkdirAll(d.run(), 0o700), os.MkdirAll(d.home(), 0o700))
	if err == nil {
		kept := filepath.Join(d.home(), ".local", "share", "permd", "bundles")
		err = errors.Join(os.MkdirAll(kept, 0o700), os.WriteFile(filepath.Join(kept, "machine-id"), []byte(m.id), 0o600))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(org, "opa.yaml"), []byte(m.opaYAML()), 0o644)
	}
	if err == nil {
		d.log, err = os.Create(filepath.Join(d.dir, "log"))
	}
	if err != nil {
		return nil, err
	}
	d.cmd = exec.Command(program, "serve", "--root", filepath.Join(d.dir, "root"))
	d.cmd.Env = []string{"HOME=" + d.home(), "XDG_RUNTIME_DIR=" + d.run(), "PATH=" + os.Getenv("PATH")}
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting permd: %w", err)
	}
	deadline := time.Now().Add(time.Minute)
	for {
		_, err := d.bundle(ctx)
		if err == nil {
			return d, nil
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			d.end()
			return nil, fmt.Errorf("permd did not start: %w\n%s", err, d.logged())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (d *daemon) home() string { return filepath.Join(d.dir, "home") }
func (d *daemon) run() string  { return filepath.Join(d.dir, "run") }

// logged returns the end of what the daemon has logged.
func (d *daemon) logged() string {
	text, err := os.ReadFile(d.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4<<10):])
}

// machineOf is the simulated machine with the same configuration.
func (f *fleet) machineOf(d *daemon) *machine { return f.newMachine(f.o.machines + d.n) }

func (f *fleet) isDaemon(name string) bool {
	return slices.ContainsFunc(f.daemons, func(d *daemon) bool { return d.name == name })
}

// configure gives the daemon the configuration that a machine has now.
func (d *daemon) configure(ctx context.Context, m *machine) error {
	name := filepath.Join(d.dir, "root", "etc", "permd", "opa.yaml")
	if err := os.WriteFile(name+"~", []byte(m.opaYAML()), 0o644); err != nil {
		return err
	}
	if err := os.Rename(name+"~", name); err != nil {
		return err
	}
	if err := d.call(ctx, "permd-admin/admin.sock", "permd/reload", struct{}{}, nil); err != nil {
		return fmt.Errorf("the daemon %s does not read its changed configuration: %w\n%s", d.name, err, d.logged())
	}
	return nil
}

// bundleState is what the status says of the bundle.
type bundleState struct {
	Revision string `json:"revision"`
	Error    string `json:"error"`
}

func (d *daemon) call(ctx context.Context, socket, method string, params, result any) error {
	c, err := client.Dial(ctx, filepath.Join(d.run(), socket), client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Call(ctx, method, params, result)
}

// bundle asks the daemon for its status.
func (d *daemon) bundle(ctx context.Context) (bundleState, error) {
	var s struct {
		Bundle bundleState `json:"bundle"`
	}
	err := d.call(ctx, "permd-admin/admin.sock", "permd/status", struct{}{}, &s)
	return s.Bundle, err
}

// verdict asks the daemon about a command of an agent.
func (d *daemon) verdict(ctx context.Context, command string) (string, error) {
	c, err := client.Dial(ctx, filepath.Join(d.run(), "permd/permd.sock"), client.Options{})
	if err != nil {
		return "", err
	}
	defer c.Close()
	session := map[string]any{"sessionId": "s", "cwd": d.home(), "agent": map[string]string{"name": "claude-agent-acp", "version": "0.100.0"}, "client": map[string]string{"name": "fleet", "version": "1"}}
	if err := c.Call(ctx, "permd/session", session, nil); err != nil {
		return "", err
	}
	var got struct {
		Decisions []struct {
			Verdict string `json:"verdict"`
		} `json:"decisions"`
	}
	err = c.Call(ctx, "permd/decide", map[string]any{"sessionId": "s", "calls": []any{
		map[string]any{"callId": "c", "tool": map[string]string{"name": "Bash"}, "input": map[string]string{"command": command}},
	}}, &got)
	if err == nil && len(got.Decisions) != 1 {
		err = errors.New("the daemon did not decide")
	}
	if err != nil {
		return "", err
	}
	return got.Decisions[0].Verdict, nil
}

// await waits until the status of each daemon's bundle is as wanted.
func (f *fleet) awaitDaemons(ctx context.Context, revision, problem string) error {
	for _, d := range f.daemons {
		deadline := time.Now().Add(f.limit())
		for {
			got, err := d.bundle(ctx)
			if err == nil && got.Revision == revision && (got.Error == "") == (problem == "") && strings.Contains(got.Error, problem) {
				break
			}
			if ctx.Err() != nil || time.Now().After(deadline) {
				return errors.Join(err, ctx.Err(), fmt.Errorf("the daemon %s has revision %q and says %q, want revision %q and %q\n%s", d.name, got.Revision, got.Error, revision, problem, d.logged()))
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

// checkVerdict asks all daemons about a command.
func (f *fleet) checkVerdict(ctx context.Context, command, want string) error {
	for _, d := range f.daemons {
		got, err := d.verdict(ctx, command)
		if err != nil {
			return fmt.Errorf("asking the daemon %s: %w", d.name, err)
		}
		if got != want {
			return fmt.Errorf("the daemon %s answers %q to %q, want %q", d.name, got, command, want)
		}
	}
	return nil
}

func (d *daemon) end() {
	if d.cmd != nil && d.cmd.Process != nil {
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		_ = d.cmd.Wait()
	}
	if d.log != nil {
		d.log.Close()
	}
}
