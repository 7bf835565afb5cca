package native_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/otc"
	"github.com/permd/permd/socket/rap"
)

// patience is how long the model waits for what must happen.
const patience = 5 * time.Second

// lifeWorld is a daemon's socket with all that is about questions, whose decider, memory
// and clock the model moves: what a call waits for is at a gate until the model opens it.
type lifeWorld struct {
	dir     string
	bug     string // planted, "" for none
	stop    func()
	path    string
	methods socket.Methods
	lasting *native.PersistentSessions

	mu       sync.Mutex
	now      time.Time
	digest   string
	last     int
	gates    map[string]chan string // by what waits there
	arrived  chan string
	recorded map[string][]decisions.Verdict // answers, by decision
	kept     map[string]string              // choices in force: the decision that each is of
	noLog    bool                           // answers cannot be logged
	ended    chan decisions.Owner
}

func newLifeWorld(dir, bug string) *lifeWorld {
	return &lifeWorld{
		dir: dir, bug: bug, now: time.Unix(1_700_000_000, 0), digest: "1", gates: map[string]chan string{}, arrived: make(chan string, 64),
		recorded: map[string][]decisions.Verdict{}, kept: map[string]string{}, ended: make(chan decisions.Owner, 64),
	}
}

// waitAt waits until the model opens a gate, and returns what it says.
func (w *lifeWorld) waitAt(name string) string {
	gate := make(chan string, 1)
	w.mu.Lock()
	w.gates[name] = gate
	w.mu.Unlock()
	w.arrived <- name
	select {
	case word := <-gate:
		return word
	case <-time.After(patience):
		return "nobody opens the gate"
	}
}

func (w *lifeWorld) open(name, word string) {
	w.mu.Lock()
	gate := w.gates[name]
	delete(w.gates, name)
	w.mu.Unlock()
	gate <- word
}

// Decide decides as the model says at the gate of the call.
func (w *lifeWorld) Decide(_ context.Context, reqs ...*decisions.Request) []*decisions.Decision {
	r := reqs[0]
	v := decisions.Verdict(w.waitAt("decide " + r.Call.ID))
	w.mu.Lock()
	w.last++
	d := &decisions.Decision{
		ID: fmt.Sprint("d", w.last), CallID: r.Call.ID, Verdict: v, By: decisions.ByPolicy, Reason: "the model says so", Policy: decisions.PolicyRef{Digest: w.digest},
		Effects: []decisions.EffectDecision{{Kind: effects.KindRun, Text: "x"}},
		Offer:   &decisions.Offer{Sets: []decisions.OfferSet{{Width: decisions.Width{ID: "w1"}}}, Reject: &decisions.Rejection{}},
	}
	if w.bug == "a late yes counts" {
		d.Policy.Digest = "1" // as Rules say, whatever is loaded
	}
	w.mu.Unlock()
	if w.lasting.TakeGrant(r, d) && d.Answerable() {
		d.Verdict, d.By, d.Offer = decisions.Allow, decisions.ByHuman, nil
		if w.bug == "a yes twice" {
			w.mu.Lock()
			w.bug = "a yes twice, given"
			w.mu.Unlock()
		}
	} else if v == decisions.Ask && w.bug == "a yes twice, given" {
		d.Verdict = decisions.Allow
	}
	return []*decisions.Decision{d}
}

func (w *lifeWorld) StillHolds(context.Context, *decisions.Request, *decisions.Decision) bool {
	return false
}

// Holds is asked about a late yes.
func (w *lifeWorld) Holds(_ context.Context, _ *decisions.Request, d *decisions.Decision) error {
	if w.waitAt("holds "+d.ID) != "yes" {
		return decisions.ErrChanged
	}
	return nil
}

// Keep stores a choice, if the model says so.
func (w *lifeWorld) Keep(_ context.Context, a decisions.Answer) ([]decisions.StoredChoice, error) {
	if w.waitAt("keep "+a.DecisionID) != "yes" {
		return nil, errors.New("disk full")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	id := fmt.Sprintf("k%d %s", w.last, a.Verdict)
	w.kept[id] = a.DecisionID
	scope := a.Scope
	if scope == "" {
		scope = "session"
	}
	return []decisions.StoredChoice{{ID: id, Verdict: a.Verdict, Scope: scope}}, nil
}

func (w *lifeWorld) Drop(_ context.Context, ids ...string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		if w.bug == "a choice stays" {
			return nil
		}
		delete(w.kept, id)
	}
	return nil
}

func (w *lifeWorld) EndSession(decisions.Owner, string) {}

func (w *lifeWorld) EndConnection(o decisions.Owner) {
	w.ended <- o
}

// record is what the daemon does with an answer, in the journal.
func (w *lifeWorld) record(_ context.Context, id string, v decisions.Verdict, _ author.Identity, _ []decisions.StoredChoice) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.noLog {
		return errors.New("disk full")
	}
	w.recorded[id] = append(w.recorded[id], v)
	if w.bug == "the end is recorded twice" {
		w.recorded[id] = append(w.recorded[id], v)
	}
	return nil
}

// start starts the daemon, with nothing but what survives a restart.
func (w *lifeWorld) start() error {
	sessions := &decisions.Sessions{FindProject: func(_ uint32, cwd string) string { return cwd }}
	w.lasting = &native.PersistentSessions{Sessions: sessions, Now: func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.now
	}}
	deps := native.Deps{
		Sessions: sessions, Decider: w, Users: func(uid uint32) effects.User { return effects.User{UID: uid} }, Keeper: w, Persistent: w.lasting, RecordAnswer: w.record,
		Rules: func(uint32, string) string {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.bug == "a late yes counts" {
				return "1"
			}
			return w.digest
		},
	}
	w.methods = socket.Methods{}
	for _, register := range []func(socket.Methods, native.Deps){native.Register, acp.Register, otc.Register, rap.Register} {
		register(w.methods, deps)
	}
	for _, name := range []string{native.MethodDecide, otc.MethodCall, rap.MethodInvoke} {
		w.methods[name] = acp.InTurn(sessions, w.methods[name])
	}
	if w.bug == "a cancel is lost" {
		w.methods[acp.MethodCancel] = func(*socket.Conn, strictjson.Value) (func(context.Context) (any, error), error) { return nil, nil }
	}
	w.last++
	w.path = filepath.Join(w.dir, fmt.Sprint("run", w.last), "permd.sock")
	ln, err := socket.Listen(w.path, socket.ListenOptions{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = socket.Serve(ctx, ln, w.methods, socket.Options{}) // what was not answered in time is of no interest
	}()
	w.stop = func() {
		cancel()
		<-done
		// The folder of the socket is the test's own.
		_ = os.Remove(filepath.Dir(w.path))
	}
	return nil
}

// lifeConn is a client's connection.
type lifeConn struct {
	net  net.Conn
	last int

	mu      sync.Mutex
	arrives chan struct{}
	answers map[string]strictjson.Value // by id
}

func (w *lifeWorld) dial() (*lifeConn, error) {
	c, err := net.Dial("unix", w.path)
	if err != nil {
		return nil, err
	}
	l := &lifeConn{net: c, answers: map[string]strictjson.Value{}, arrives: make(chan struct{}, 1<<16)}
	go func() {
		lines := bufio.NewScanner(c)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			v := strictjson.Value(bytes.Clone(lines.Bytes()))
			l.mu.Lock()
			l.answers[string(strictjson.Find(v, "id"))] = v
			l.mu.Unlock()
			l.arrives <- struct{}{}
		}
	}()
	return l, nil
}

// send sends a request, and returns its id.
func (l *lifeConn) send(method, params string) string {
	l.last++
	id := fmt.Sprint(l.last)
	_, _ = fmt.Fprintf(l.net, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`+"\n", id, method, params)
	return id
}

func (l *lifeConn) notify(method, params string) {
	_, _ = fmt.Fprintf(l.net, `{"jsonrpc":"2.0","method":%q,"params":%s}`+"\n", method, params)
}

// has returns the answer to a request, if it has arrived.
func (l *lifeConn) has(id string) strictjson.Value {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answers[id]
}

// answer waits for the answer to a request, nil if none comes.
func (l *lifeConn) answer(id string) strictjson.Value {
	end := time.After(patience)
	for {
		if v := l.has(id); v != nil {
			return v
		}
		select {
		case <-l.arrives:
		case <-end:
			return nil
		}
	}
}

// arrive waits until something is at a gate. It returns an answer to the request that
// comes first.
func (w *lifeWorld) arrive(c *lifeConn, id string) string {
	end := time.After(patience)
	for {
		select {
		case name := <-w.arrived:
			return name
		case <-c.arrives:
			if v := c.has(id); v != nil {
				return "nothing arrives: " + string(v)
			}
		case <-end:
			return "nothing arrives"
		}
	}
}

func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "life") // t.TempDir's names are too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	return dir
}
