package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/permd/permd/socket/client"
)

// daemon is a permd process with a home of its own.
type daemon struct {
	dir     string // has the home, the project and the sockets
	project string
	cmd     *exec.Cmd
	log     *os.File
}

// rules are a person's rules, as many as a careful person has. The number n makes
// each version different, so that each reload compiles.
const rules = `package permd.user

import rego.v2

allow contains "tests may run" if {
	input.effect.kind == "run"
	input.effect.program == "go"
	input.effect.subcommand in {"test", "vet", "build"}
}

ask contains "production" if {
	input.effect.kind == "connect"
	endswith(input.effect.host, ".prod.example.com")
}

deny contains "no force-push, in edition %d" if {
	input.effect.program == "git"
	input.effect.subcommand == "push"
	"--force" in input.effect.flags
}
`

// startDaemon makes the home and starts a daemon in it.
func startDaemon(ctx context.Context, o options) (*daemon, error) {
	// The name is short: the path of a socket has at most 107 bytes.
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	d := &daemon{dir: dir, project: filepath.Join(dir, "home", "project")}
	if err := d.furnish(o.settings); err != nil {
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

func (d *daemon) furnish(settings string) error {
	files := map[string]string{
		"project/.git/HEAD":    "ref: refs/heads/main\n",
		"project/go.mod":       "module example.com/soak\n",
		"project/package.json": `{"scripts":{"test":"node test.js","lint":"eslint ."}}`,
		"project/README.md":    "# A project\n",
	}
	for n := range 50 {
		files[fmt.Sprintf("project/pkg%d/file.go", n)] = "package pkg\n"
	}
	if settings != "" {
		text, err := os.ReadFile(settings)
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
	return d.editRules(0)
}

func (d *daemon) write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// editRules saves the person's rules as an editor does.
func (d *daemon) editRules(edition int) error {
	path := filepath.Join(d.dir, "home", ".config", "permd", "policy.d", "rules.rego")
	if err := d.write(path+"~", fmt.Sprintf(rules, edition)); err != nil {
		return err
	}
	return os.Rename(path+"~", path)
}

func (d *daemon) start(program string) error {
	run := filepath.Join(d.dir, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		return err
	}
	var err error
	if d.log, err = os.Create(filepath.Join(d.dir, "log")); err != nil {
		return err
	}
	d.cmd = exec.Command(program, "serve")
	d.cmd.Env = []string{
		"HOME=" + filepath.Join(d.dir, "home"), "XDG_RUNTIME_DIR=" + run, "PATH=" + os.Getenv("PATH"),
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

func (d *daemon) socket() string { return filepath.Join(d.dir, "run", "permd", "permd.sock") }
func (d *daemon) admin() string  { return filepath.Join(d.dir, "run", "permd-admin", "admin.sock") }

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

// memory is the daemon's memory by /proc/PID/status, in MiB.
type memory struct {
	RSS  float64 `json:"rss"`  // VmRSS
	HWM  float64 `json:"hwm"`  // VmHWM: the peak of VmRSS
	Anon float64 `json:"anon"` // RssAnon: heap and stacks
	File float64 `json:"file"` // RssFile: the program itself
	Shm  float64 `json:"shm"`  // RssShmem
}

func (d *daemon) memory() (memory, error) {
	var m memory
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		return m, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		name, value, _ := strings.Cut(s.Text(), ":")
		into := map[string]*float64{"VmRSS": &m.RSS, "VmHWM": &m.HWM, "RssAnon": &m.Anon, "RssFile": &m.File, "RssShmem": &m.Shm}[name]
		if into == nil {
			continue
		}
		kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		if err != nil {
			return m, fmt.Errorf("reading %s: %w", name, err)
		}
		*into = float64(kib) / 1024
	}
	if m.RSS == 0 {
		return m, errors.New("the daemon has ended")
	}
	return m, nil
}

// disk returns the size of a database with its log, in MiB.
func (d *daemon) disk(name string) float64 {
	total := int64(0)
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(filepath.Join(d.dir, "home", ".local", "share", "permd", name+suffix)); err == nil {
			total += info.Size()
		}
	}
	return float64(total) / (1 << 20)
}
