package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The servers.
const (
	serverEcho     = "echo"
	serverFloor    = "floor" // the echo, with the system calls of a decision
	serverHTTPEcho = "http-echo"
	serverPermd    = "permd"       // journal: durability = "process", the default
	serverPower    = "permd-power" // journal: durability = "power"
	serverOff      = "permd-off"   // a build without a journal, which there is no setting for
	serverOPA      = "opa"
	serverOPALog   = "opa-log"       // with OPA's decision log
	serverCounted  = "permd-counted" // a build that says what it allocates; no times are taken of it
)

// server is a process that is measured.
type server struct {
	name    string
	socket  string
	http    bool
	session string // the line that declares a session on each connection, "" for none
	cmd     *exec.Cmd
	log     *os.File
	open    []*connection
}

// world is a folder with a home, a project and the sockets of all servers.
type world struct {
	dir     string
	home    string
	project string
	servers map[string]*server
	missing []string // what could not be measured, and why
}

func newWorld() (*world, error) {
	// The name is short: the path of a socket has at most 107 bytes.
	dir, err := os.MkdirTemp("", "sp")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	w := &world{dir: dir, home: filepath.Join(dir, "home"), servers: map[string]*server{}}
	w.project = filepath.Join(w.home, "project")
	for name, text := range map[string]string{
		// A whole repository, as git init makes it: git would not take anything else for one, and
		// look in the folders above.
		"project/.git/HEAD":               "ref: refs/heads/main\n",
		"project/.git/config":             "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
		"project/.git/objects/info/packs": "",
		"project/.git/refs/heads/main":    "4b825dc642cb6eb9a060e54bf8d69288fbee4904\n",
		"project/src/main.go":             "package main\n",
		"project/README.md":               "# A project\n",
	} {
		if err := write(filepath.Join(w.home, name), text); err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// start starts a server and waits until it accepts connections.
func (w *world) start(s *server) error {
	log, err := os.Create(filepath.Join(w.dir, s.name+".log"))
	if err != nil {
		return err
	}
	s.log = log
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", s.name, err)
	}
	w.servers[s.name] = s
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		c, err := s.connect()
		if err == nil {
			s.open = append(s.open, c)
			return nil
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("%s does not answer: %w\n%s", s.name, err, text)
		}
	}
}

// connect opens a connection, with its session.
func (s *server) connect() (*connection, error) {
	c, err := dial(s.socket, s.http)
	if err != nil || s.session == "" {
		return c, err
	}
	answer, err := c.roundTrip([]byte(s.session))
	if err == nil && !strings.Contains(string(answer), `"result"`) {
		err = fmt.Errorf("a session is not declared: %s", answer)
	}
	return c, err
}

// connections returns n connections, which stay open.
func (s *server) connections(n int) ([]*connection, error) {
	for len(s.open) < n {
		c, err := s.connect()
		if err != nil {
			return nil, fmt.Errorf("connecting to %s: %w", s.name, err)
		}
		s.open = append(s.open, c)
	}
	return s.open[:n], nil
}

// usage is the memory of a process, in MiB.
type usage struct {
	RSS  float64 `json:"rss_mib"`      // resident now
	Peak float64 `json:"rss_peak_mib"` // the most it was
	Anon float64 `json:"anon_mib"`     // of it heap and stacks
}

func (s *server) usage() (usage, error) {
	var u usage
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return u, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		if err != nil {
			continue // not a line of those below
		}
		switch name {
		case "VmRSS":
			u.RSS = kib / 1024
		case "VmHWM":
			u.Peak = kib / 1024
		case "RssAnon":
			u.Anon = kib / 1024
		}
	}
	return u, nil
}

// stop ends a server.
func (s *server) stop() {
	for _, c := range s.open {
		c.conn.Close()
	}
	if s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
	}
	if s.log != nil {
		s.log.Close()
	}
}

// close ends all servers and removes the folder.
func (w *world) close() {
	for _, s := range w.servers {
		s.stop()
	}
	_ = os.RemoveAll(w.dir)
}

// startEcho starts this program as an echo server.
func (w *world) startEcho(ctx context.Context, name, what string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	s := &server{name: name, socket: filepath.Join(w.dir, name), http: what == echoHTTP}
	s.cmd = exec.CommandContext(ctx, program, echoFlag, what, s.socket)
	return w.start(s)
}
