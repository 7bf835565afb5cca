package daemon

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/internal/testload"
)

// systemCallsFile holds how many system calls a request takes.
const systemCallsFile = "testdata/system_calls.txt"

// countedCalls are the system calls that a request makes, or would make if it opened more.
// Not counted are those of Go's scheduler, which depend on the time.
var countedCalls = []string{
	"read", "write", "pread64", "pwrite64", "openat", "close", "fstat", "newfstatat", "statx", "getdents64", "readlinkat", "lseek",
	"fsync", "fdatasync", "connect", "socket", "epoll_ctl", "mmap", "munmap", "clone3", "clone",
}

const (
	// tracedEnv is set in the process that is traced.
	tracedEnv = "PERMD_TEST_TRACED"
	// tracedMark begins the paths that the traced process looks up before and after the
	// requests of a kind.
	tracedMark = "/permd-test-mark/"
	// tracedRequests is how many requests of a kind are counted.
	tracedRequests = 60
)

// TestSystemCalls counts the system calls of requests with strace, and compares them with
// the numbers that are checked in. Counted are those of the daemon and of its client, who
// needs a write and a read, but neither what moves records to the database later nor reads for
// which there is nothing yet.
func TestSystemCalls(t *testing.T) {
	if os.Getenv(tracedEnv) != "" {
		traced(t)
		return
	}
	if testing.Short() {
		t.Skip("long: hundreds of requests of each kind under strace")
	}
	if runtime.GOARCH != "amd64" || testload.Race {
		t.Skip("the numbers are those of amd64, without the race detector")
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("missing: strace")
	}
	got := traceRequests(t, strace)
	if *update {
		text := "# System calls of a request and its client (TestSystemCalls).\n" + strings.Join(got, "\n") + "\n"
		if err := os.WriteFile(systemCallsFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(systemCallsFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(want)), "\n")[1:]
	// On a busy machine what comes in one piece may be read in two. Who differs is counted again.
	for range 2 {
		if slices.Equal(got, lines) || len(got) != len(lines) {
			break
		}
		for i, line := range traceRequests(t, strace) {
			if i < len(lines) && line == lines[i] {
				got[i] = line
			}
		}
	}
	if !slices.Equal(got, lines) {
		t.Errorf("system calls of a request; if it must be so: go test ./cmd/permd/internal/daemon -run TestSystemCalls -update\ngot:\n%s\nwant:\n%s",
			strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

// traceRequests counts the system calls of requests in a process of their own.
func traceRequests(t *testing.T, strace string) []string {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	cmd := exec.CommandContext(t.Context(), strace, "-f", "--seccomp-bpf", "-qq", "-y", "-s", "0", "-e", "trace="+strings.Join(countedCalls, ","), "-o", trace,
		os.Args[0], "-test.run=^TestSystemCalls$", "-test.count=1")
	cmd.Env = append(os.Environ(), tracedEnv+"=1", "GOMAXPROCS=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("PTRACE")) || bytes.Contains(out, []byte("ptrace")) {
			t.Skipf("strace may not trace here: %s", out)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	return countTraced(string(data))
}

// traced makes the requests whose system calls are counted.
func traced(t *testing.T) {
	w := newCostWorld(t, true)
	names, send, texts := w.requests(t)
	var st unix.Stat_t
	mark := func(name string) { _ = unix.Lstat(tracedMark+name, &st) }
	for i, name := range names {
		if name == "hook" {
			continue // is measured as a process
		}
		for _, kind := range []string{"repeated", "words"} {
			all := make([][]byte, tracedRequests+20)
			for n := range all {
				all[n] = texts[i](n + 1)
				if kind == "repeated" {
					all[n] = texts[i](0)
				}
			}
			for _, request := range all[:20] {
				send[i](request)
			}
			mark(strings.ReplaceAll(name+" "+kind, " ", "_"))
			for _, request := range all[20:] {
				send[i](request)
			}
			mark("end")
		}
	}
}

// countTraced returns a line for each kind of request, with the calls of one request,
// rounded.
func countTraced(trace string) (lines []string) {
	kind, counts := "", map[string]int{}
	for line := range strings.Lines(trace) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), " ")
		line = strings.TrimSpace(line)
		if _, after, ok := strings.Cut(line, tracedMark); ok {
			name, _, _ := strings.Cut(after, `"`)
			if name != "end" {
				kind, counts = name, map[string]int{}
				continue
			}
			one := fmt.Sprintf("%-20s", strings.ReplaceAll(kind, "_", " "))
			for _, call := range countedCalls {
				if n := math.Round(float64(counts[call]) / tracedRequests); n > 0 {
					one += fmt.Sprintf(" %s=%.0f", call, n)
				}
			}
			lines, kind = append(lines, one), ""
			continue
		}
		call, _, ok := strings.Cut(line, "(")
		if strings.Contains(line, " = -1 EAGAIN ") {
			// Whether a reader looks for more before it is there depends on the time.
			if rest, resumed := strings.CutPrefix(line, "<... "); resumed && kind != "" {
				call, _, _ = strings.Cut(rest, " ")
				counts[call]--
			}
			continue
		}
		switch {
		case kind == "" || !ok || strings.HasPrefix(line, "<..."):
		case strings.Contains(line, "decisions.db") && !strings.Contains(line, "decisions.db.spool"):
			// What was stored moves to the database, independently of requests.
		default:
			counts[call]++
		}
	}
	slices.Sort(lines)
	return lines
}
