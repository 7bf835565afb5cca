package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/permd/permd/bench/internal/cputime"
	"github.com/permd/permd/examples/receivers/decisionlogs/receiver"
)

// receiverCommand starts this program as the receiver, so that its processor time is its own.
const receiverCommand = "receive"

// reported is what a machine reported last of one bundle, by OPA's status plugin.
type reported struct {
	Revision string          `json:"active_revision"`
	Message  string          `json:"message,omitempty"`
	Metrics  json.RawMessage `json:"metrics,omitempty"`
}

// summary is what the receiver knows of status reports.
type summary struct {
	Reports  int64                          `json:"reports"`
	Bytes    int64                          `json:"bytes"`
	Machines map[string]map[string]reported `json:"machines"` // by the label machine and the bundle
}

// statuses keeps the last report of each machine.
type statuses struct {
	mu sync.Mutex
	summary
}

// ServeHTTP takes a status report.
func (s *statuses) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	var report struct {
		Labels  map[string]string   `json:"labels"`
		Bundles map[string]reported `json:"bundles"`
	}
	if err == nil {
		err = json.Unmarshal(data, &report)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Reports++
	s.Bytes += int64(len(data))
	if len(report.Bundles) > 0 {
		s.Machines[report.Labels["machine"]] = report.Bundles
	}
}

// receive serves until its standard input ends. It prints its address.
func receive(args []string, in io.Reader, out io.Writer) error {
	f := flag.NewFlagSet(receiverCommand, flag.ContinueOnError)
	dir := f.String("dir", "", "the folder of the database")
	if err := f.Parse(args); err != nil {
		return err
	}
	store, err := receiver.Open(filepath.Join(*dir, "audit.db"))
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	logs, err := receiver.Handler(store, token)
	if err != nil {
		return err
	}
	all := &statuses{summary: summary{Machines: map[string]map[string]reported{}}}
	mux := http.NewServeMux()
	mux.Handle("/logs", logs)
	mux.Handle("POST /status", all)
	mux.HandleFunc("GET /summary", func(w http.ResponseWriter, r *http.Request) {
		all.mu.Lock()
		defer all.mu.Unlock()
		_ = json.NewEncoder(w).Encode(&all.summary)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, l.Addr())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = server.Close()
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// receiverProcess takes the logs and reports of machines, in a process of its own.
type receiverProcess struct {
	cmd   *exec.Cmd
	stdin io.Closer
	addr  string
	dir   string
}

func startReceiver(dir string) (*receiverProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &receiverProcess{cmd: exec.Command(self, receiverCommand, "-dir", dir), dir: dir}
	r.cmd.Stderr = os.Stderr
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the receiver: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the receiver: %w", err), r.stop())
	}
	r.addr = strings.TrimSpace(line)
	return r, nil
}

func (r *receiverProcess) stop() error {
	if r.cmd == nil {
		return nil
	}
	cmd := r.cmd
	r.cmd = nil
	return errors.Join(r.stdin.Close(), cmd.Wait())
}

func (r *receiverProcess) cpu() (time.Duration, error) {
	if r.cmd == nil {
		return 0, errors.New("the receiver has ended")
	}
	return cputime.Of(r.cmd.Process.Pid)
}

// summary asks what was reported.
func (r *receiverProcess) summary() (s summary, err error) {
	resp, err := http.Get("http://" + r.addr + "/summary")
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	return s, json.NewDecoder(resp.Body).Decode(&s)
}
