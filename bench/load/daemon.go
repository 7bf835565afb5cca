package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/permd/permd/socket/client"
)

// folders is how many folders the project has.
const folders = 50

// spareConnections is how many connections there may be besides those of the clients:
// clients that vanished may still be counted.
const spareConnections = 64

// daemon is a permd process with a home of its own.
type daemon struct {
	dir     string // has the home, the project and the sockets
	project string
	http    string // the socket for HTTP
	cmd     *exec.Cmd
	log     *os.File
}

// startDaemon makes the home and starts a daemon in it.
func startDaemon(ctx context.Context, o options) (*daemon, error) {
	// The name is short: the path of a socket has at most 107 bytes.
	dir, err := os.MkdirTemp("", "load")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	d := &daemon{dir: dir, project: filepath.Join(dir, "home", "project")}
	if err := d.furnish(o); err != nil {
		d.end()
		return nil, fmt.Errorf("writing the home's files: %w", err)
	}
	program := o.program
	if program == "" {
		program = filepath.Join(dir, "permd")
		build := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/permd/permd/cmd/permd")
		if out, err := build.CombinedOutput(); err != nil {
			d.end()
			return nil, fmt.Errorf("building permd: %w\n%s", err, out)
		}
	}
	if err := d.start(program); err != nil {
		d.end()
		return nil, err
	}
	return d, nil
}

func (d *daemon) furnish(o options) error {
	files := map[string]string{
		"project/.git/HEAD":    "ref: refs/heads/main\n",
		"project/go.mod":       "module example.com/load\n",
		"project/package.json": `{"scripts":{"test":"node test.js","lint":"eslint ."}}`,
		"project/README.md":    "# A project\n",
	}
	for n := range folders {
		files[fmt.Sprintf("project/pkg%d/file.go", n)] = "package pkg\n"
	}
	// The socket for HTTP has the metrics.
	own := fmt.Sprintf("[limits]\nconnections = %[1]d\nconnections_per_user = %[1]d\n\n[http]\nlisten = \"unix\"\n", o.clients+spareConnections)
	files[".config/permd/permd.toml"] = own
	if o.settings != "" {
		text, err := os.ReadFile(o.settings)
		if err != nil {
			return err
		}
		files[".config/permd/permd.toml"] = string(text)
	}
	for name, text := range files {
		if err := d.write(filepath.Join(d.dir, "home", name), text); err != nil {
			return err
		}
	}
	return nil
}

func (d *daemon) write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// save writes a file as an editor does.
func (d *daemon) save(path, text string) error {
	if err := d.write(path+"~", text); err != nil {
		return err
	}
	return os.Rename(path+"~", path)
}

func (d *daemon) start(program string) error {
	run := d.run()
	if err := os.Mkdir(run, 0o700); err != nil {
		return err
	}
	var err error
	if d.log, err = os.Create(filepath.Join(d.dir, "log")); err != nil {
		return err
	}
	d.cmd = exec.Command(program, "serve")
	d.cmd.Env = []string{
		"HOME=" + d.home(), "XDG_RUNTIME_DIR=" + run, "PATH=" + os.Getenv("PATH"),
		"GODEBUG=" + os.Getenv("GODEBUG"), "GOMEMLIMIT=" + os.Getenv("GOMEMLIMIT"), "GOGC=" + os.Getenv("GOGC"),
	}
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	if err := d.cmd.Start(); err != nil {
		return fmt.Errorf("starting permd: %w", err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		c, err := client.Dial(context.Background(), d.admin(), client.Options{})
		if err == nil {
			err = c.Call(context.Background(), "permd/status", struct{}{}, nil)
			c.Close()
		}
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(d.log.Name())
			return fmt.Errorf("permd did not start: %w\n%s", err, text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (d *daemon) home() string   { return filepath.Join(d.dir, "home") }
func (d *daemon) run() string    { return filepath.Join(d.dir, "run") }
func (d *daemon) socket() string { return filepath.Join(d.run(), "permd", "permd.sock") }
func (d *daemon) admin() string  { return filepath.Join(d.run(), "permd-admin", "admin.sock") }

// end stops the daemon and removes its home.
func (d *daemon) end() {
	if d.cmd != nil && d.cmd.Process != nil {
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		_ = d.cmd.Wait()
	}
	if d.log != nil {
		d.log.Close()
	}
	_ = os.RemoveAll(d.dir)
}
