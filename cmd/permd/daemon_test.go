package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/permd/permd/cmd/permd/internal/daemon"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// asPermd makes this test binary the permd program.
const asPermd = "PERMD_TEST_AS_PERMD"

// testDaemon is a real daemon, a process of its own with a home of its own.
type testDaemon struct {
	home, run string
	env       []string
	mcp       mcpPeers // of startMCP
	cmd       *exec.Cmd
	output    lockedBuffer

	beforeStart, afterStart func()   // of followPage, nil for nothing
	stubs                   []string // programs of followPage that do nothing
}

// longestTest is how long a test with daemons may take on a slow machine.
const longestTest = 2 * time.Minute

// newTestDaemon makes the home; start starts the daemon.
func newTestDaemon(t *testing.T) *testDaemon {
	t.Helper()
	testload.Time(t, longestTest)
	// Socket paths are short: 107 bytes are all that the kernel takes.
	run, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	d := &testDaemon{home: t.TempDir(), run: run}
	d.env = []string{
		asPermd + "=1", "HOME=" + d.home, "XDG_RUNTIME_DIR=" + run, "PATH=" + os.Getenv("PATH"),
		"GOCOVERDIR=" + t.TempDir(),
	}
	t.Cleanup(func() { d.kill() })
	return d
}

// startDaemon is a daemon that answers.
func startDaemon(t *testing.T) *testDaemon {
	t.Helper()
	d := newTestDaemon(t)
	d.start(t)
	return d
}

func (d *testDaemon) start(t *testing.T, args ...string) {
	t.Helper()
	d.cmd = d.command(append([]string{"serve"}, args...)...)
	d.cmd.Stdout, d.cmd.Stderr = &d.output, &d.output
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.waitAnswers(t)
}

// waitAnswers waits until the daemon answers.
func (d *testDaemon) waitAnswers(t *testing.T) {
	t.Helper()
	eventually.Holds(t, "the daemon answers", func() bool {
		c, err := client.Dial(context.Background(), d.socket(), client.Options{})
		if err != nil {
			return false
		}
		defer c.Close()
		// The socket takes connections before the rules are read.
		return c.Call(t.Context(), "permd/close", map[string]string{"sessionId": "none"}, nil) == nil
	}, d.output.String)
}

// command is a permd process in the daemon's home.
func (d *testDaemon) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = d.env
	return cmd
}

func (d *testDaemon) socket() string { return filepath.Join(d.run, "permd", "permd.sock") }

func (d *testDaemon) adminSocket() string {
	return filepath.Join(d.run, "permd-admin", "admin.sock")
}

func (d *testDaemon) data(name string) string {
	return filepath.Join(d.home, ".local", "share", "permd", name)
}

// dial connects to the decision socket.
func (d *testDaemon) dial(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), d.socket(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// kill ends the daemon as a crash would.
func (d *testDaemon) kill() {
	if d.cmd != nil && d.cmd.Process != nil {
		d.cmd.Process.Kill()
		d.cmd.Wait()
		d.cmd = nil
	}
}

// stop ends the daemon as a service manager would and returns how it ended.
func (d *testDaemon) stop(t *testing.T) error {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := d.cmd.Wait()
	d.cmd = nil
	return err
}

// waitOutput waits until the daemon has printed that.
func (d *testDaemon) waitOutput(t *testing.T, want string) {
	t.Helper()
	eventually.Holds(t, fmt.Sprintf("the daemon prints %q", want), func() bool { return strings.Contains(d.output.String(), want) }, d.output.String)
}

// waitStored waits until that many decisions are stored, whether in the journal's
// spool or in its database.
func (d *testDaemon) waitStored(t *testing.T, decisions int64) {
	t.Helper()
	eventually.Holds(t, fmt.Sprintf("%d decisions are stored", decisions), func() bool { return d.status(t).Journal.Last >= decisions }, d.output.String)
}

// status asks the daemon how it is, as permd status does.
func (d *testDaemon) status(t *testing.T) (s daemon.Status) {
	t.Helper()
	if err := d.manage(t, admin.MethodStatus, struct{}{}, &s); err != nil {
		t.Fatalf("asking for the status: %v", err)
	}
	return s
}

// manage calls a method of the management socket, which costs much less than a process of
// permd. The commands themselves are tested by testdata/script.
func (d *testDaemon) manage(t *testing.T, method string, params, result any) error {
	t.Helper()
	c, err := client.Dial(t.Context(), d.adminSocket(), client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Call(t.Context(), method, params, result)
}

// records are the newest of the journal, as permd log list reads them: through the
// daemon, or from the file if none runs.
func (d *testDaemon) records(t *testing.T) []decisions.Record {
	t.Helper()
	return d.recordsThat(t, decisions.RecordFilter{})
}

// recordsThat returns the newest records that match a filter.
func (d *testDaemon) recordsThat(t *testing.T, filter decisions.RecordFilter) []decisions.Record {
	t.Helper()
	filter.Limit = admin.MaxList
	var log interface {
		Page(ctx context.Context, f decisions.RecordFilter) (admin.Records, error)
	}
	if c, err := client.Dial(t.Context(), d.adminSocket(), client.Options{}); err == nil {
		defer c.Close()
		log = records.Remote{Client: c}
	} else {
		file, err := journal.OpenReadOnly(journal.Options{Path: d.data("decisions.db")})
		if err != nil {
			t.Fatalf("opening the journal: %v", err)
		}
		defer file.Close()
		log = records.Journal{Reader: file}
	}
	list, err := log.Page(t.Context(), filter)
	if err != nil {
		t.Fatalf("listing the journal: %v", err)
	}
	recs := make([]decisions.Record, len(list.Records))
	for i, rec := range list.Records {
		if rec.Unreadable != "" {
			t.Fatalf("a decision cannot be read: %s", rec.Unreadable)
		}
		recs[i] = *rec
	}
	return recs
}

// wantLogged wants every answer that is a decision in the journal.
func (d *testDaemon) wantLogged(t *testing.T, answers ...answer) {
	t.Helper()
	logged := d.verdicts(t, 0)
	for _, a := range answers {
		if a.Verdict != "" && logged[a.ID] == "" {
			t.Errorf("answered, but not logged: %+v", a)
		}
	}
}

// verdicts returns the journal's verdicts of the decisions after a sequence number, by
// their ids. It reads page by page: one list has at most [admin.MaxList] records, and a
// fast machine decides more in a moment.
func (d *testDaemon) verdicts(t *testing.T, after int64) map[string]string {
	t.Helper()
	verdicts := map[string]string{}
	for before := int64(0); ; {
		page := d.recordsThat(t, decisions.RecordFilter{Before: before})
		if len(page) == 0 || page[len(page)-1].Seq <= after {
			return verdicts
		}
		for _, rec := range page {
			if rec.Seq > after {
				verdicts[rec.Decision.ID] = string(rec.Decision.Verdict)
			}
		}
		before = page[0].Seq
	}
}

// project makes a checkout with those files and returns its root.
func (d *testDaemon) project(t *testing.T, files map[string]string) string {
	t.Helper()
	root := filepath.Join(d.home, "project")
	for name, text := range files {
		writeFile(t, filepath.Join(root, name), text)
	}
	if err := os.MkdirAll(filepath.Join(root, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	return root
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
