package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
)

// TestFailuresClients is [TestFailures] for clients that hold or break off what they
// have begun. Others are served all the time, and nothing is left of them afterwards.
func TestFailuresClients(t *testing.T) {
	failures(t, []failure{
		{"5,000 connections", manyConnections},
		{"5,000 connections, above the limit", manyRefused},
		{"clients that write a byte at a time", slowWriters},
		{"clients that vanish in the middle", vanishingClients},
	})
}

// connections is how many clients connect at the same time.
const connections = 5000

// maxManyRSS bounds the memory of a daemon with so many connections, in MiB.
const maxManyRSS = 256

// needDescriptors skips a test that opens more than the limit of this process.
func needDescriptors(t *testing.T, n uint64) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur < n { // Go raises the soft limit to the hard one
		t.Skipf("%d descriptors are needed, the limit is %d", n, limit.Cur)
	}
}

// rss is the memory that the daemon uses, VmRSS or VmHWM, in MiB.
func (d *testDaemon) rss(t *testing.T, name string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			if err != nil {
				t.Fatal(err)
			}
			return kib / 1024
		}
	}
	t.Fatalf("no %s in %s", name, text)
	return 0
}

// held are the descriptors and goroutines of a daemon that listens for HTTP.
type held struct{ descriptors, goroutines int }

func (d *testDaemon) held(t *testing.T, c *httpClient) (h held) {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	h.descriptors = len(open)
	line := c.samples(t, "permd_goroutines ")
	if len(line) != 1 {
		t.Fatalf("permd_goroutines is %q", line)
	}
	if h.goroutines, err = strconv.Atoi(strings.TrimPrefix(line[0], "permd_goroutines ")); err != nil {
		t.Fatal(err)
	}
	return h
}

// wantNoneLeft waits until a daemon holds as much as before, but for a few.
func (d *testDaemon) wantNoneLeft(t *testing.T, c *httpClient, before held) {
	t.Helper()
	const few = 16 // of the daemon's own work
	eventually.Holds(t, "nothing is left of the clients", func() bool {
		now := d.held(t, c)
		return now.descriptors <= before.descriptors+few && now.goroutines <= before.goroutines+few
	}, func() string { return fmt.Sprintf("%+v, before %+v", d.held(t, c), before) })
}

// manyConnections: all are served, in little memory.
func manyConnections(t *testing.T) {
	connections := connections
	if testload.Race {
		connections = 1000
	}
	needDescriptors(t, uint64(connections)+200)
	d := newTestDaemon(t)
	project := d.project(t, nil)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "permd.toml"), fmt.Sprintf(
		"[limits]\nconnections = %[1]d\nconnections_per_user = %[1]d\n[http]\nlisten = \"unix\"\n", connections+10))
	d.start(t)
	c := d.http(t)
	first := d.session(t, project)
	wantAllowed(t, first)
	before := d.held(t, c)
	var all []*wire
	for n := range connections {
		w := d.session(t, project)
		all = append(all, w)
		if n%500 == 0 {
			wantAllowed(t, first)
		}
	}
	for n := 0; n < connections; n += 100 {
		wantAllowed(t, all[n])
	}
	wantAllowed(t, first)
	if got := d.rss(t, "VmHWM"); got > maxManyRSS && !testload.Race {
		t.Errorf("%d connections take %d MiB, more than %d", connections, got, maxManyRSS)
	} else {
		t.Logf("%d connections with a session: at most %d MiB", connections, got)
	}
	for _, w := range all {
		w.Close()
	}
	d.wantNoneLeft(t, c, before)
	wantAllowed(t, first)
}

// manyRefused: those above the limit get an error and are closed; those within it are
// served.
func manyRefused(t *testing.T) {
	needDescriptors(t, connections+200)
	d, c := startHTTP(t, "unix")
	project := d.project(t, nil)
	first := d.session(t, project)
	wantAllowed(t, first)
	before := d.held(t, c)
	const perUser = 128 // by default
	served, refused := 0, 0
	var all []net.Conn
	for range connections {
		w := d.wire(t)
		all = append(all, w)
		switch got := w.ask(t, declaration("s1", project)); {
		case got == (answer{}) && len(all) < perUser:
			served++
		case got.Code == -32051 || got == (answer{}): // refused, or closed before it could be read
			refused++
		default:
			t.Fatalf("connection %d: %+v", len(all), got)
		}
	}
	wantAllowed(t, first)
	if served != perUser-1 || refused != connections-served {
		t.Errorf("%d were served and %d refused", served, refused)
	}
	if got := d.rss(t, "VmHWM"); got > maxManyRSS && !testload.Race {
		t.Errorf("%d connections take %d MiB, more than %d", connections, got, maxManyRSS)
	}
	for _, w := range all {
		w.Close()
	}
	d.wantNoneLeft(t, c, before)
	wantAllowed(t, first)
}

// slowWriters: messages that come byte by byte are read to their end, and nobody waits
// for them.
func slowWriters(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	w := d.session(t, project)
	slow := make([]*wire, 64)
	for i := range slow {
		slow[i] = d.session(t, project)
	}
	line := decideLine(probe) + "\n"
	for n := range line {
		for _, s := range slow {
			if _, err := io.WriteString(s, line[n:n+1]); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.ask(t, decideLine(probe)); got.Verdict != "allow" {
			t.Fatalf("after %d bytes: %+v", n, got)
		}
	}
	for _, s := range slow {
		if got := s.next(t); got.Verdict != "allow" {
			t.Errorf("a message that came byte by byte: %+v", got)
		}
	}
}

// vanishingClients: clients close or reset the connection at any byte of any message,
// and with requests and questions open.
func vanishingClients(t *testing.T) {
	d, c := startHTTP(t, "unix")
	project := d.project(t, nil)
	w := d.session(t, project)
	wantAllowed(t, w)
	before := d.held(t, c)
	random := rand.New(rand.NewPCG(1, 2))
	var text bytes.Buffer
	for n, line := range []string{
		declaration("s1", project), decideLine(probe), acpLine(probe), decideLine("make install"), acpLine("make install"), decideLine("rm -rf /"),
	} {
		text.WriteString(withID(line, n+1) + "\n")
	}
	for n := range 600 {
		gone := d.wire(t)
		if _, err := gone.Write(text.Bytes()[:random.IntN(text.Len()+1)]); err != nil {
			t.Fatal(err)
		}
		if n%3 == 0 { // some read something first
			if err := gone.Close(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if n%3 == 1 {
			if err := gone.Conn.(*net.UnixConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, gone.lines); err != nil {
				t.Fatal(err)
			}
		}
		gone.Close()
		if n%50 == 0 {
			wantAllowed(t, w)
		}
	}
	d.wantNoneLeft(t, c, before)
	wantAllowed(t, w)
	got := w.ask(t, decideLine(probe))
	d.wantLogged(t, got)
	if st := d.status(t); st.Degraded || st.Sessions != 1 {
		t.Errorf("degraded: %v, %d sessions, want only that of the client that stayed", st.Degraded, st.Sessions)
	}
}
