package daemon

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/acp"
)

// benchCalls are the tool calls that agents ask for most, from one effect on.
// The further ones of the longer commands are what an effect more costs. None
// changes the agent's shell, or the calls after it would not be the same.
var benchCalls = []struct {
	name     string
	toolCall string
}{
	{"read", `"title":"Read src/main.go","kind":"read","rawInput":{"file_path":"PROJECT/src/main.go","offset":1,"limit":200},` +
		`"locations":[{"path":"PROJECT/src/main.go","line":1}],"_meta":{"claudeCode":{"toolName":"Read"}}`},
	{"bash", `"title":"git status","kind":"execute","rawInput":{"command":"git status","description":"Show the state of the working tree"},` +
		`"content":[{"type":"content","content":{"type":"text","text":"Show the state of the working tree"}}],` +
		`"_meta":{"claudeCode":{"toolName":"Bash"}}`},
	{"pipeline", `"title":"grep -rn TODO src | head -20","kind":"execute","rawInput":{"command":"grep -rn TODO src | head -20",` +
		`"description":"Find what is left to do"},"_meta":{"claudeCode":{"toolName":"Bash"}}`},
	{"list", `"title":"cat src/main.go && wc -l src/lib.go && head -5 README.md && git diff --stat","kind":"execute","rawInput":{"command":"cat src/main.go && wc -l src/lib.go && head -5 README.md && git diff --stat",` +
		`"description":"Look around"},"_meta":{"claudeCode":{"toolName":"Bash"}}`},
}

// benchRules is the number of rules in the user's layer.
const benchRules = 200

// benchWorld is a daemon with the journal on, in this process, and a project
// with files on the real file system.
type benchWorld struct {
	*daemon
	project string
}

func newBenchWorld(b testing.TB, cached bool) *benchWorld {
	b.Helper()
	return newWorldAt(b, cached, time.Now)
}

// newWorldAt returns such a daemon with a clock.
func newWorldAt(b testing.TB, cached bool, now func() time.Time) *benchWorld {
	b.Helper()
	temporary, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	// The names of temporary folders differ in their length, and what is allocated with it.
	home := filepath.Join(temporary, strings.Repeat("h", max(1, 79-len(temporary))))
	b.Setenv("HOME", home)
	under := func(parts ...string) string { return filepath.Join(append([]string{home}, parts...)...) }
	dirs := xdg.Dirs{
		Org: under("etc"), Config: under(".config", "permd"), Data: under(".local", "share", "permd"),
		State: under(".local", "state", "permd"), Run: under("run", "permd"), Admin: under("run", "permd-admin"),
	}
	project := under("project")
	for name, text := range map[string]string{
		filepath.Join(dirs.Config, account.PolicyDir, "rules.rego"): policytest.Rules(0, benchRules),
		filepath.Join(project, ".git", "HEAD"):                      "ref: refs/heads/main\n",
		filepath.Join(project, ".git", "objects", "ab", "cd"):       "",
		filepath.Join(project, ".git", "refs", "heads", "main"):     "",
		filepath.Join(project, "src", "main.go"):                    "package main\n",
		filepath.Join(project, "src", "lib.go"):                     "package main\n",
		filepath.Join(project, "README.md"):                         "# A project\n",
	} {
		filetest.Write(b, name, text)
	}
	d, err := openDaemon(b.Context(), dirs, true, slog.New(slog.DiscardHandler), nil, now)
	if err != nil {
		b.Fatal(err)
	}
	d.engine.FS.(*paths.Index).FS = withoutSystem{d.engine.Mounts}
	b.Cleanup(func() {
		if err := d.close(); err != nil {
			b.Error(err)
		}
	})
	if d.rules.Settings.Durability != "" && d.rules.Settings.Durability != "process" {
		b.Fatalf("durability is %q", d.rules.Settings.Durability)
	}
	if !cached {
		if d.engine.Decisions, err = d.engine.Decisions.With(func(c *decisions.Config) { c.Cache = nil }); err != nil {
			b.Fatal(err)
		}
	}
	return &benchWorld{d, project}
}

// withoutSystem has none of this machine's own settings of git, which programs obey.
type withoutSystem struct{ *mounts.FS }

func (f withoutSystem) ReadFile(p string, limit int64) ([]byte, error) {
	return f.FS.ReadFile(f.other(p), limit)
}

func (f withoutSystem) Lstat(p string) (fs.FileMode, error) { return f.FS.Lstat(f.other(p)) }

func (f withoutSystem) other(p string) string {
	if p == "/etc/gitconfig" {
		return p + ".none"
	}
	return p
}

// session is the message that declares the agent's session.
func (w *benchWorld) session() string {
	return fmt.Sprintf(`{"sessionId":"s1","cwd":%q,"agent":{"name":"claude-agent-acp","version":"0.60.0"}}`, w.project)
}

// params returns the params of the permission request for a tool call.
func (w *benchWorld) params(toolCall string) string {
	return `{"sessionId":"s1","toolCall":{"toolCallId":"toolu_01AbCdEfGh",` + strings.ReplaceAll(toolCall, "PROJECT", w.project) +
		`},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}`
}

// The same call again and again is what the decision cache is for; without it,
// each is one that was never asked before.
// caller returns a function that calls a method as a client whose session is declared.
func (w *benchWorld) caller(b *testing.B) func(b *testing.B, method string, params []byte) any {
	b.Helper()
	methods := w.engine.Methods()
	conn := &socket.Conn{ID: 1, Peer: decisions.Peer{UID: uint32(os.Geteuid()), PID: int32(os.Getpid())}}
	call := func(b *testing.B, method string, params []byte) any {
		run, err := methods[method](conn, strictjson.Value(params))
		if err != nil {
			b.Fatal(err)
		}
		result, err := run(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		return result
	}
	call(b, "permd/session", []byte(w.session()))
	return call
}

func BenchmarkRequest(b *testing.B)       { benchRequest(b, false) }
func BenchmarkRequestCached(b *testing.B) { benchRequest(b, true) }

// benchRequest is a whole request in process, from the params of its message to
// the encoded answer, the journal included.
func benchRequest(b *testing.B, cached bool) {
	w := newBenchWorld(b, cached)
	call := w.caller(b)
	for _, c := range benchCalls {
		b.Run(c.name, func(b *testing.B) {
			params := []byte(w.params(c.toolCall))
			b.ReportAllocs()
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				result := call(b, acp.MethodRequestPermission, params)
				body, err := json.Marshal(result, json.Deterministic(true))
				if err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
				mustAllow(b, body)
			}
			b.ReportMetric(micros(took, 10), "p10-µs")
			b.ReportMetric(micros(took, 50), "p50-µs")
			b.ReportMetric(micros(took, 99), "p99-µs")
		})
	}
}

func BenchmarkSocket(b *testing.B)       { benchSocket(b, false) }
func BenchmarkSocketCached(b *testing.B) { benchSocket(b, true) }

// benchSocket measures a request and its answer over the socket, and a raw echo of
// the same bytes, in turns. The budget is their ratio: for a call with one effect
// at most 4, and 3 with the cache.
func benchSocket(b *testing.B, cached bool) {
	w := newBenchWorld(b, cached)
	served, echoed := w.serve(b), echoLines(b)
	roundTrip(b, served, []byte(`{"jsonrpc":"2.0","id":0,"method":"permd/session","params":`+w.session()+"}\n"))
	for _, c := range benchCalls {
		b.Run(c.name, func(b *testing.B) {
			line := []byte(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":` + w.params(c.toolCall) + "}\n")
			var request, echo []time.Duration
			var n int
			for b.Loop() {
				_, took := roundTrip(b, echoed, line)
				echo = append(echo, took)
				answer, took := roundTrip(b, served, line)
				request = append(request, took)
				mustAllow(b, answer)
				n = bytes.Count(answer, []byte(`"row":`))
			}
			b.ReportMetric(micros(echo, 50), "echo-p50-µs")
			b.ReportMetric(micros(request, 10), "p10-µs")
			b.ReportMetric(micros(request, 50), "p50-µs")
			b.ReportMetric(micros(request, 99), "p99-µs")
			b.ReportMetric(micros(request, 50)/micros(echo, 50), "×echo")
			b.ReportMetric(float64(n), "effects")
		})
	}
}

// mustAllow stops a benchmark if a call is not allowed: the shipped rules allow
// every call here.
func mustAllow(b *testing.B, answer []byte) {
	if !bytes.Contains(answer, []byte(`"outcome":"selected","optionId":"allow"`)) {
		b.Fatalf("not allowed: %s", answer)
	}
}

// benchConn is the client's end of a connection.
type benchConn struct {
	net.Conn
	r *bufio.Reader
}

// roundTrip sends a line and waits for the one that answers it.
func roundTrip(b *testing.B, c *benchConn, line []byte) ([]byte, time.Duration) {
	start := time.Now()
	if _, err := c.Write(line); err != nil {
		b.Fatal(err)
	}
	answer, err := c.r.ReadSlice('\n')
	if err != nil {
		b.Fatal(err)
	}
	return answer, time.Since(start)
}

// serve serves the decision socket and connects to it.
func (w *benchWorld) serve(b *testing.B) *benchConn {
	b.Helper()
	return benchServe(b, func(ctx context.Context, ln net.Listener) error {
		return socket.Serve(ctx, ln, w.engine.Methods(), socket.Options{})
	})
}

// echoLines sends each line back unchanged.
func echoLines(b *testing.B) *benchConn {
	b.Helper()
	return benchServe(b, func(_ context.Context, ln net.Listener) error {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		defer c.Close()
		r := bufio.NewReaderSize(c, 64<<10)
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				return nil
			}
			if _, err := c.Write(line); err != nil {
				return err
			}
		}
	})
}

func benchServe(b testing.TB, serve func(context.Context, net.Listener) error) *benchConn {
	b.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		b.Fatal(err)
	}
	ln, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, ln) }()
	c, err := net.Dial("unix", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		c.Close()
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		ln.Close()
		os.RemoveAll(dir)
	})
	return &benchConn{c, bufio.NewReaderSize(c, 64<<10)}
}

// micros is a percentile in microseconds.
func micros(took []time.Duration, percent int) float64 {
	slices.Sort(took)
	return float64(took[len(took)*percent/100].Nanoseconds()) / 1000
}
