package httpapi

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/gatehttp"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/otc"
	"github.com/permd/permd/socket/sockettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// decider notes what it is asked, and answers with verdict.
type decider struct {
	sockettest.Unchanged

	mu      sync.Mutex
	asked   []*decisions.Request
	verdict decisions.Verdict
	message string
	do      func(ctx context.Context) // before it answers
	broken  bool                      // it returns no valid decision
	// numbered decisions have ids of their own; otherwise all have the same.
	numbered bool
}

func (d *decider) Decide(ctx context.Context, reqs ...*decisions.Request) []*decisions.Decision {
	d.mu.Lock()
	d.asked = append(d.asked, reqs...)
	do := d.do
	d.mu.Unlock()
	if do != nil {
		do(ctx)
	}
	if d.broken {
		return nil
	}
	var made []*decisions.Decision
	for _, r := range reqs {
		id := "d1"
		if d.numbered {
			id = rand.Text()
		}
		made = append(made, &decisions.Decision{
			ID: id, CallID: r.Call.ID, Verdict: d.verdict, Reason: "because of rule 7", Message: d.message,
			Effects: []decisions.EffectDecision{},
		})
	}
	return made
}

func (d *decider) requests() []*decisions.Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked
}

// served is a running server.
type served struct {
	*decider
	network, address string
	log              *lockedLog
	stop             context.CancelFunc
	ended            chan error
	statuses         sync.Map // how often each path and status
	prepared         atomic.Int64
	waiting          *native.WaitingQuestions
}

type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

const testToken = "secret-token-of-the-test-0123456789"

// shortDir is a private folder with a path that is short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// serveUnix serves on a Unix socket.
func serveUnix(t *testing.T, o Options) *served {
	t.Helper()
	path := filepath.Join(shortDir(t), "http", "http.sock")
	ln, err := socket.Listen(path, socket.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, ln, "unix", path, o)
}

// serveLoopback serves on a loopback address.
func serveLoopback(t *testing.T, o Options) *served {
	t.Helper()
	ln, err := gatehttp.ListenLoopback("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Token, o.Owner = testToken, decisions.Peer{UID: 1000, GID: 1000}
	return serveOn(t, ln, "tcp", ln.Addr().String(), o)
}

func serveOn(t *testing.T, ln net.Listener, network, address string, o Options) *served {
	t.Helper()
	s := &served{
		decider: &decider{verdict: decisions.Allow}, network: network, address: address,
		log: new(lockedLog), ended: make(chan error, 1), waiting: new(native.WaitingQuestions),
	}
	sessions := new(decisions.Sessions)
	methods := socket.Methods{}
	native.Register(methods, native.Deps{
		Sessions: sessions, Decider: s.decider, Waiting: s.waiting,
		Users:      func(uid uint32) effects.User { return effects.User{UID: uid} },
		Prepare:    func(context.Context, uint32, string) { s.prepared.Add(1) },
		Persistent: &native.PersistentSessions{Sessions: sessions, Now: time.Now},
	})
	otc.Register(methods, native.Deps{Sessions: sessions, Decider: s.decider, Users: func(uid uint32) effects.User { return effects.User{UID: uid} }})
	o.Socket.Logger = slog.New(slog.NewTextHandler(s.log, nil))
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	deps := Deps{
		Methods: methods,
		Health:  func(context.Context) ([]string, error) { return nil, nil },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "permd_up 1\n") }),
		Served: func(path string, status int) {
			n, _ := s.statuses.LoadOrStore(fmt.Sprint(path, " ", status), new(int))
			s.log.mu.Lock()
			*n.(*int)++
			s.log.mu.Unlock()
		},
	}
	go func() { s.ended <- Serve(ctx, ln, deps, o) }()
	t.Cleanup(func() {
		s.stop()
		if err, ok := <-s.ended; ok && err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return s
}

// dial connects. The connection has a deadline of a minute.
func (s *served) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial(s.network, s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(eventually.Limit)); err != nil {
		t.Fatal(err)
	}
	return c
}

// answered is an answer as it was read.
type answered struct {
	status int
	header http.Header
	body   string
}

func (s *served) send(t *testing.T, raw string) answered {
	t.Helper()
	c := s.dial(t)
	// A server that has already answered may not read the rest.
	_, _ = io.WriteString(c, raw)
	method, _, _ := strings.Cut(raw, " ")
	return readAnswerTo(t, bufio.NewReader(c), method)
}

func readAnswer(t *testing.T, r *bufio.Reader) answered {
	t.Helper()
	return readAnswerTo(t, r, "POST")
}

func readAnswerTo(t *testing.T, r *bufio.Reader, method string) answered {
	t.Helper()
	resp, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		t.Errorf("reading the answer: %v", err)
		return answered{}
	}
	defer resp.Body.Close()
	// Of a request that was not read to its end the connection may be reset after
	// the answer.
	body, _ := io.ReadAll(resp.Body)
	return answered{resp.StatusCode, resp.Header, string(body)}
}

// The parts of a request that is well formed.
const (
	okInput = `{"input":{"tool":{"name":"deploy"},"args":{"to":"staging"}}}`
	okCalls = `{"calls":[{"callId":"c1","tool":{"name":"deploy"},"input":{"to":"staging"}}]}`
)

// post is a request as it goes over the wire. Headers replace those that it would
// have; one that is "" is left out.
func (s *served) post(path, body string, headers ...string) string {
	return s.request("POST", path, body, append([]string{
		"Content-Type", "application/json", "Content-Length", fmt.Sprint(len(body)),
	}, headers...)...)
}

func (s *served) request(method, path, body string, headers ...string) string {
	values := map[string]string{"Host": s.address, "Authorization": "Bearer " + testToken}
	if s.network == "unix" {
		values = map[string]string{"Host": "localhost"}
	}
	names := []string{"Host", "Authorization"}
	for i := 0; i+1 < len(headers); i += 2 {
		if _, ok := values[headers[i]]; !ok {
			names = append(names, headers[i])
		}
		values[headers[i]] = headers[i+1]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", method, path)
	for _, name := range names {
		if v := values[name]; v != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", name, v)
		}
	}
	return b.String() + "\r\n" + body
}
