package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/permd/permd/bench/internal/cputime"
)

// web is the server of bundles, which passes what machines report on to the receiver.
type web interface {
	start(ctx context.Context) error
	stop() error
	// hang has the server accept connections and answer nothing, until it is called with false.
	hang(bool) error
	address() string
	accessLog() string
	// cpu is the processor time that it has used since its start.
	cpu() (time.Duration, error)
}

// nginx is the server with the configuration of examples/fleet.
type nginx struct {
	program, dir string
	addr         string
	cmd          *exec.Cmd
	before       time.Duration // the processor time of earlier processes
}

// errNoNginx says that there is none.
var errNoNginx = errors.New("nginx is not installed: install it (on Debian, apt-get install nginx-light), name it with -nginx, or use -server go")

// findNginx returns the program.
func findNginx(named string) (string, error) {
	if named == "" {
		named = "nginx"
	}
	for _, name := range []string{named, "/usr/sbin/" + named, "/usr/local/sbin/" + named, "/opt/homebrew/bin/" + named} {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", errNoNginx
}

// newNginx writes the configuration into the site's folder.
func newNginx(program, repository string, s *site, receiver string) (*nginx, error) {
	text, err := os.ReadFile(filepath.Join(repository, "examples/fleet/nginx.conf"))
	if err != nil {
		return nil, err
	}
	n := &nginx{program: program, dir: s.dir}
	if n.addr, err = freeAddress(); err != nil {
		return nil, err
	}
	temp := filepath.Join(s.dir, "nginx")
	if err := os.Mkdir(temp, 0o700); err != nil {
		return nil, err
	}
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;\n" // the folder is private
	}
	folders := "http {\n"
	for _, name := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		folders += fmt.Sprintf("    %s_temp_path %s;\n", name, filepath.Join(temp, name))
	}
	for _, change := range [][2]string{
		{"worker_processes auto;", user + "worker_processes auto;"},
		{"worker_rlimit_nofile 65536;", ""}, // what this process may have
		{"/run/nginx.pid", filepath.Join(s.dir, "nginx.pid")},
		{"/var/log/nginx/permd-error.log", n.errorLog()},
		{"/var/log/nginx/permd.log", n.accessLog()},
		{"http {\n", folders},
		{"/etc/nginx/policy.crt", s.certificate()},
		{"/etc/nginx/policy.key", s.certificateKey()},
		{"server 127.0.0.1:8282;", "server " + receiver + ";"},
		{"listen 443 ssl", "listen " + n.addr + " ssl"},
		{"root /srv/permd/www;", "root " + s.www() + ";"},
	} {
		if bytes.Count(text, []byte(change[0])) != 1 {
			return nil, fmt.Errorf("examples/fleet/nginx.conf must have %q exactly once", change[0])
		}
		text = bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1)
	}
	return n, os.WriteFile(n.config(), text, 0o600)
}

func (n *nginx) config() string    { return filepath.Join(n.dir, "nginx.conf") }
func (n *nginx) errorLog() string  { return filepath.Join(n.dir, "nginx-error.log") }
func (n *nginx) accessLog() string { return filepath.Join(n.dir, "access.log") }
func (n *nginx) address() string   { return n.addr }

// freeAddress returns an address of the loopback on which nothing listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func (n *nginx) start(ctx context.Context) error {
	cmd := exec.Command(n.program, "-p", n.dir, "-e", n.errorLog(), "-c", n.config(), "-g", "daemon off;")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting nginx: %w", err)
	}
	n.cmd = cmd
	if err := answers(ctx, n.addr); err != nil {
		text, _ := os.ReadFile(n.errorLog())
		return fmt.Errorf("nginx did not start: %w\n%s%s", errors.Join(err, n.stop()), out.String(), text)
	}
	return nil
}

// answers waits until something listens on an address.
func answers(ctx context.Context, addr string) error {
	deadline := time.Now().Add(20 * time.Second)
	for {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			return c.Close()
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return errors.Join(err, ctx.Err())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (n *nginx) stop() error {
	if n.cmd == nil {
		return nil
	}
	used, _ := n.cpu()
	n.before = used
	cmd := n.cmd
	n.cmd = nil
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil // it was ended
	}
	return err
}

func (n *nginx) hang(yes bool) error {
	signal := syscall.SIGCONT
	if yes {
		signal = syscall.SIGSTOP
	}
	var errs []error
	for _, pid := range n.pids() {
		errs = append(errs, syscall.Kill(pid, signal))
	}
	return errors.Join(errs...)
}

// pids are the processes: the master and its workers.
func (n *nginx) pids() []int {
	if n.cmd == nil {
		return nil
	}
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	pids := []int{n.cmd.Process.Pid}
	if err != nil {
		return pids
	}
	for line := range strings.Lines(string(out)) {
		var pid, parent int
		if _, err := fmt.Sscan(line, &pid, &parent); err == nil && parent == n.cmd.Process.Pid {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (n *nginx) cpu() (time.Duration, error) {
	sum := n.before
	for _, pid := range n.pids() {
		used, err := cputime.Of(pid)
		if err != nil {
			return sum, err
		}
		sum += used
	}
	return sum, nil
}
