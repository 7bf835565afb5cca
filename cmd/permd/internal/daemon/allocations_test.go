package daemon

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/hook"
	"github.com/permd/permd/socket/httpapi"
)

var update = flag.Bool("update", false, "write the costs of requests in testdata anew")

// costRules allow the tools that are called over protocols without a shell.
const costRules = `package permd.user

import rego.v2

allow contains "the weather is public" if input.effect.tool in {"weather", "Get"}
`

// costCase is one kind of request. Its text has the words PROJECT, the project's folder,
// and 10000, the number that makes a request new. All of it is sent on one connection,
// whose sessions s1, and s2 of AAP, are declared.
type costCase struct {
	name   string
	method string
	params string
	want   string // in the answer
}

// costCases returns the calls of the benchmarks over ACP, and one call over each of the
// other protocols.
func costCases() []costCase {
	const options = `"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]`
	newWords := strings.NewReplacer(
		`"limit":200`, `"limit":10000`, `git status`, `git log -n 10000`, `head -20`, `head -10000`, `head -5`, `head -10000`,
	)
	var list []costCase
	for _, c := range benchCalls {
		list = append(list, costCase{
			"acp " + c.name, "session/request_permission",
			`{"sessionId":"s1","toolCall":{"toolCallId":"toolu_10000",` + newWords.Replace(c.toolCall) + `},` + options + `}`,
			`"outcome":"selected","optionId":"allow"`,
		})
	}
	return append(list, []costCase{
		{"permd", "permd/decide", `{"sessionId":"s1","calls":[{"callId":"c","tool":{"name":"Bash"},"input":{"command":"git log -n 10000"}}]}`, `"verdict":"allow"`},
		{"aap", "aap/permissions", `{"sessionId":"s2","agent":{"name":"helper"},"tools":[{"name":"Read"}],"turn":{"events":[{"event":"turn_start"},` +
			`{"event":"tool_call","toolCallId":"a10000","name":"Read","input":{"file_path":"src/main.go","limit":10000}},{"event":"turn_stop","stopReason":"tool_use"}]}}`, `"outcome":"execute"`},
		{"rap", "rap/invoke", `{"sessionId":"s1","toolset":{"name":"sky","endpoint":"http://127.0.0.1:9/rap","tools":[{"name":"weather","inputSchema":{"type":"object"}}]},` +
			`"operation":"weather","arguments":{"day":10000},"id":"t10000","call_id":"c","group_id":"g","thread_ancestors":[]}`, `"outcome":"run"`},
		{"otc", "otc/call", `{"sessionId":"s1","endpoint":"http://127.0.0.1:9/tools/call","tool_id":"Weather.Get","call_id":"c10000","input":{"day":10000}}`, `"outcome":"run"`},
	}...)
}

// costWorld is a daemon with its sockets in this process.
type costWorld struct {
	*benchWorld
	lines net.Conn
	web   func() net.Conn // opens a connection, which ends after some seconds without a request
	buf   []byte
}

func newCostWorld(t *testing.T, cached bool) *costWorld {
	t.Helper()
	w := &costWorld{benchWorld: newBenchWorld(t, cached), buf: make([]byte, 64<<10)}
	if err := os.WriteFile(filepath.Join(w.dirs.Config, account.PolicyDir, "use.rego"), []byte(costRules), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.rules.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	methods := w.engine.Methods()
	w.lines = benchServe(t, func(ctx context.Context, ln net.Listener) error {
		return socket.Serve(ctx, ln, methods, socket.Options{})
	}).Conn
	w.web = func() net.Conn {
		return benchServe(t, func(ctx context.Context, ln net.Listener) error {
			return httpapi.Serve(ctx, ln, httpapi.Deps{Methods: methods, Health: w.healthOf}, httpapi.Options{})
		}).Conn
	}
	w.send(t, w.lines, w.line("permd/session", w.session()), `"result"`)
	// Memory that is kept for the journal has its full size.
	look := strings.ReplaceAll(costCases()[0].params, "PROJECT", w.project)
	for range 8000 {
		w.send(t, w.lines, w.line(costCases()[0].method, look), `"result"`)
	}
	// The folder's name may have any digits and letters, so only the rest is another's.
	w.send(t, w.lines, w.line("permd/session", fmt.Sprintf(`{"sessionId":"s2","cwd":%q,"client":{"name":"claude-agent-acp","version":"0.60.0"}}`, w.project)), `"result"`)
	return w
}

func (w *costWorld) line(method, params string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`+"\n", method, params)
}

// send sends a request and reads its answer, up to the end of a line. Neither allocates.
func (w *costWorld) send(t *testing.T, c net.Conn, request []byte, want string) {
	if _, err := c.Write(request); err != nil {
		t.Fatal(err)
	}
	n := 0
	for n == 0 || w.buf[n-1] != '\n' {
		more, err := c.Read(w.buf[n:])
		if err != nil {
			t.Fatal(err)
		}
		n += more
	}
	if !bytes.Contains(w.buf[:n], []byte(want)) {
		t.Fatalf("not what is to be measured: %s\n%s", request, w.buf[:n])
	}
}

// requests returns what sends one request of each kind. The number makes it new.
func (w *costWorld) requests(t *testing.T) (names []string, send []func(request []byte), texts []func(n int) []byte) {
	add := func(name string, text func(n int) []byte, f func([]byte)) {
		names, texts, send = append(names, name), append(texts, text), append(send, f)
	}
	numbered := func(text string) func(int) []byte {
		return func(n int) []byte {
			return []byte(strings.ReplaceAll(strings.ReplaceAll(text, "10000", fmt.Sprint(10000+n)), "PROJECT", w.project))
		}
	}
	for _, c := range costCases() {
		add(c.name, numbered(string(w.line(c.method, c.params))), func(request []byte) { w.send(t, w.lines, request, c.want) })
	}
	body := `{"input":{"tool":{"name":"Bash"},"args":{"command":"git log -n 10000"},"session":{"sessionId":"s1","cwd":"PROJECT","agent":{"name":"claude-agent-acp","version":"0.60.0"}}}}`
	post := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: permd\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", httpapi.PathDecision, len(strings.ReplaceAll(body, "PROJECT", w.project)), body)
	web := sync.OnceValue(w.web)
	add("http", numbered(post), func(request []byte) { w.post(t, web(), request) })
	input := `{"session_id":"h1","transcript_path":"/tmp/t","cwd":"PROJECT","permission_mode":"default","hook_event_name":"PreToolUse",` +
		`"tool_name":"Bash","tool_input":{"command":"git log -n 10000"},"tool_use_id":"u"}`
	declare := w.line("permd/session", fmt.Sprintf(`{"sessionId":"h1","cwd":%q,"agent":{"name":"claude-code"},"client":{"name":"permd hook"},"harness":"claude"}`, w.project))
	add("hook", numbered(input), func(request []byte) { w.hook(t, declare, request) })
	return names, send, texts
}

// post sends a request over HTTP; its answer ends with its body.
func (w *costWorld) post(t *testing.T, c net.Conn, request []byte) {
	if _, err := c.Write(request); err != nil {
		t.Fatal(err)
	}
	n, err := c.Read(w.buf)
	if err != nil || !bytes.Contains(w.buf[:n], []byte(`"decision":"allow"`)) {
		t.Fatalf("%v: not what is to be measured: %s", err, w.buf[:n])
	}
}

// hook does what permd hook does, which has a connection for each call.
func (w *costWorld) hook(t *testing.T, declare, input []byte) {
	h := hook.ByName("claude")
	r, err := h.Read(input)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("unix", w.lines.RemoteAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w.send(t, c, declare, `"result"`)
	decide := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":2,"method":"permd/decide","params":{"sessionId":"h1","calls":[{"callId":"u","tool":{"name":"Bash"},"input":%s}]}}`+"\n", r.Call.Input)
	w.send(t, c, decide, `"verdict":"allow"`)
	if err := c.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(w.buf); !errors.Is(err, io.EOF) {
		t.Fatalf("after the last answer: %v", err)
	}
}

// cost is what one request allocates.
type cost struct{ allocations, bytes float64 }

const (
	costWarm    = 40
	costBatches = 32
	costCalls   = 16 // of a batch
	// costRequests is how many requests costOf makes.
	costRequests = costWarm + costBatches*costCalls
)

// costOf returns the cost of a call of f, the least of several batches: what runs in the
// background only adds, such as what moves records to the database every 200 ms. So a
// batch is short, for a slow machine too.
func costOf(f func(i int)) cost {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	for i := range costWarm {
		f(i)
	}
	least := cost{math.MaxFloat64, math.MaxFloat64}
	for i := costWarm; i < costRequests; i += costCalls {
		now := allocated(func() {
			for n := range costCalls {
				f(i + n)
			}
		})
		least.allocations = min(least.allocations, now.allocations/costCalls)
		least.bytes = min(least.bytes, now.bytes/costCalls)
	}
	return least
}

func allocated(f func()) cost {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return cost{float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc)}
}

// costsFile holds the costs of requests, which are the same on every machine. A change
// that needs more says so by changing the number.
const costsFile = "testdata/allocations.txt"

// TestAllocations holds what a request allocates, from its line to the answer's, to the
// numbers that are checked in, 2 in 100 more or less:
//
//   - repeated: the same request again and again;
//   - words: each request has a word that none had before;
//   - new: nothing is cached.
func TestAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("long: 500 requests of each kind; TestNothingGrows is the quick one")
	}
	skipUncounted(t)
	rows := []string{}
	measured := map[string]cost{}
	for _, world := range []struct {
		cached bool
		kinds  []string
	}{{true, []string{"repeated", "words"}}, {false, []string{"new"}}} {
		w := newCostWorld(t, world.cached)
		names, send, texts := w.requests(t)
		for i, name := range names {
			all := make([][]byte, costRequests)
			for n := range all {
				all[n] = texts[i](n)
			}
			for _, kind := range world.kinds {
				row := name + " " + kind
				rows = append(rows, row)
				measured[row] = costOf(func(n int) {
					if kind == "repeated" {
						n = 0
					}
					send[i](all[n])
				})
			}
		}
	}
	slices.Sort(rows)
	if *update {
		writeCosts(t, rows, measured)
	}
	want := readCosts(t)
	for _, row := range rows {
		w, ok := want[row]
		if !ok {
			t.Errorf("%s: not in %s", row, costsFile)
			continue
		}
		delete(want, row)
		tolerance := 0.02
		if !strings.HasSuffix(row, " repeated") || strings.HasPrefix(row, "hook ") {
			// A connection that ends overlaps with the next one; and maps of more than eight
			// members have more or less memory at random.
			tolerance = 0.05
		}
		if m := measured[row]; math.Abs(m.allocations-w.allocations) > max(1, tolerance*w.allocations) || math.Abs(m.bytes-w.bytes) > max(64, tolerance*w.bytes) {
			t.Errorf("%s: %.1f allocations and %.0f bytes, %.0f and %.0f in %s; if it must be so: go test ./cmd/permd/internal/daemon -run TestAllocations -update",
				row, m.allocations, m.bytes, w.allocations, w.bytes, costsFile)
		}
	}
	for row := range want {
		t.Errorf("%s: in %s and not measured", row, costsFile)
	}
}

func skipUncounted(t *testing.T) {
	t.Helper()
	if testload.Race {
		t.Skip("the race detector allocates")
	}
	if testing.CoverMode() != "" {
		t.Skip("counting covered lines changes what is inlined")
	}
}

func writeCosts(t *testing.T, rows []string, measured map[string]cost) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "# What a request allocates (TestAllocations), with %s.\n# allocations   bytes  request\n", goVersion())
	for _, row := range rows {
		fmt.Fprintf(&b, "%13.0f %7.0f  %s\n", math.Round(measured[row].allocations), math.Round(measured[row].bytes), row)
	}
	if err := os.WriteFile(costsFile, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readCosts(t *testing.T) map[string]cost {
	t.Helper()
	data, err := os.ReadFile(costsFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if version := goVersion(); runtime.GOARCH != "amd64" || !strings.Contains(lines[0], version+".") {
		t.Skipf("the numbers are of another version of Go or another processor: %s, not %s on %s", lines[0], version, runtime.GOARCH)
	}
	costs := map[string]cost{}
	for _, line := range lines[2:] {
		var c cost
		fields := strings.Fields(line)
		if _, err := fmt.Sscan(line, &c.allocations, &c.bytes); err != nil || len(fields) < 4 {
			t.Fatalf("%s: %q: %v", costsFile, line, err)
		}
		costs[strings.Join(fields[2:], " ")] = c
	}
	return costs
}

// goVersion is the version of Go without its patch, which changes no numbers.
func goVersion() string {
	parts := strings.SplitN(runtime.Version(), ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
