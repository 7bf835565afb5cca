// Package gateway is a tool server of the Reactive Agent Protocol that has permd decide each
// invocation before it runs: permd rap. It offers the tools of a configuration, sends the
// arguments of calls that may run to their servers over HTTP, and posts what becomes of each
// call to the callback address of the runtime.
//
// It decides nothing, remembers nothing and shows nothing to a person: the daemon does the
// first two, the runtime the last.
package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/gatehttp"
)

// Bounds of a gateway.
const (
	maxBody           = 1 << 20 // bytes of a request
	maxCalls          = 256     // calls that have no result yet
	maxAsking         = 192     // of those that wait for a person: the others need places, too
	maxThreadAsking   = 64      // of one thread
	maxFinished       = 4096    // ids of calls that have one
	maxToolAnswer     = 8 << 20 // bytes of a tool's answer
	maxCallbackAnswer = 64 << 10
	// Questions that permd allow lists, at a time: permd takes no more of one connection.
	maxWaits        = 12
	waitLimit       = time.Hour        // for one request of permd/wait; it is repeated
	connectTimeout  = 10 * time.Second // for a connection to permd, for each call
	callbackTimeout = 10 * time.Second // for one attempt
	endTimeout      = 3 * time.Second  // for the last results when the gateway ends
)

// Options are what a gateway needs besides its configuration.
type Options struct {
	Listener net.Listener
	Token    string // see gatehttp.Server
	Sent     *gatehttp.Sent
	Cwd      string // the folder of the session that calls are part of
	Dial     func(context.Context) (*client.Client, error)
	// Say shows a line to who runs the gateway.
	Say func(string)
}

// Gateway serves the tools of a configuration.
type Gateway struct {
	*Config
	o Options
	// What is allowed for threads ends with each connection.
	daemon  *client.SessionConn
	session *client.Session
	base    string // its own address

	memory gatehttp.Room // for answers of tools, by the runtimes' addresses
	waits  chan struct{} // holds one for each question that permd allow lists
	ending chan struct{} // closed when the gateway ends
	runs   sync.WaitGroup

	mu         sync.Mutex
	calls      map[callID]*call // without a result, and finished ones
	finished   []callID         // oldest first
	unfinished int              // calls without a result
	questions  map[string]*call // by the secret of their response_url
	asking     map[string]int   // calls that wait for a person, by their threads
	allAsking  int              // in all threads

	saying sync.Mutex
	silent bool // Serve has returned
}

// New returns a gateway.
func New(c *Config, o Options) *Gateway {
	host := "permd"
	if at, ok := o.Listener.Addr().(*net.TCPAddr); ok {
		host = at.String()
	}
	session := &client.Session{ID: "permd-rap-" + rand.Text(), Cwd: o.Cwd}
	return &Gateway{
		Config: c, o: o, base: "http://" + host, ending: make(chan struct{}), waits: make(chan struct{}, maxWaits), calls: map[callID]*call{}, questions: map[string]*call{}, asking: map[string]int{},
		session: session, daemon: client.NewSessionConn(o.Dial, connectTimeout, func() *client.Session { return session }),
	}
}

// Serve serves until ctx is cancelled or the listener fails. Calls that are not finished
// then end with an error.
func (g *Gateway) Serve(ctx context.Context) error {
	defer g.daemon.Close()
	s := gatehttp.Server{
		Token: g.o.Token, Handler: http.HandlerFunc(g.serve),
		Refuse: func(w http.ResponseWriter, _ *http.Request, f *gatehttp.Refusal) { refuse(w, f) },
		Open:   func(path string) bool { return strings.HasPrefix(path, choicePath) },
	}
	stop := context.AfterFunc(ctx, g.cancelAll)
	defer stop()
	err := s.Serve(ctx, g.o.Listener)
	g.cancelAll()
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.runs.Wait()
	}()
	select {
	case <-done:
	case <-time.After(endTimeout):
	}
	g.saying.Lock()
	defer g.saying.Unlock()
	g.silent = true
	return err
}

// say shows a line, unless Serve has returned.
func (g *Gateway) say(text string) {
	g.saying.Lock()
	defer g.saying.Unlock()
	if !g.silent {
		g.o.Say(text)
	}
}

var (
	errEnding    = errors.New("the gateway ends")
	errCancelled = errors.New("the call was cancelled")
)

// cancelAll ends all calls.
func (g *Gateway) cancelAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.ending:
		return
	default:
	}
	close(g.ending)
	for _, c := range g.calls {
		c.cancel(errEnding)
	}
}

func refuse(w http.ResponseWriter, f *gatehttp.Refusal) {
	body, err := json.Marshal(map[string]*gatehttp.Refusal{"error": f})
	if err != nil {
		body = []byte("{}")
	}
	gatehttp.Reply(w, f.Status, body)
}

// The paths that the protocol names, and that of answers to questions, which is followed by
// a secret.
const (
	toolsetPath = "/.well-known/rap-toolset"
	invokePath  = "/invoke"
	closePath   = "/close_thread"
	cancelPath  = "/cancel_tool_call"
	statusPath  = "/tool_call_status"
	choicePath  = "/user_choice_response/"
)

func (g *Gateway) serve(w http.ResponseWriter, r *http.Request) {
	handle, method := map[string]func([]byte) (any, *gatehttp.Refusal){
		invokePath: g.invoke, closePath: g.closeThread, cancelPath: g.cancelCall, statusPath: g.status,
	}[r.RequestURI], http.MethodPost
	secret, isChoice := strings.CutPrefix(r.RequestURI, choicePath)
	switch {
	case isChoice:
		handle = func(body []byte) (any, *gatehttp.Refusal) { return g.choice(secret, body) }
	case r.RequestURI == toolsetPath:
		method = http.MethodGet
	case handle == nil:
		refuse(w, &gatehttp.Refusal{Status: http.StatusNotFound, Code: "path", Message: "there is nothing at this path"})
		return
	}
	if r.Method != method {
		w.Header().Set("Allow", method)
		refuse(w, &gatehttp.Refusal{Status: http.StatusMethodNotAllowed, Code: "method", Message: "this path wants " + method})
		return
	}
	if handle == nil {
		reply(w, g.discovered())
		return
	}
	body, f := gatehttp.ReadBody(w, r, maxBody)
	if f == nil && strictjson.Check(body) != nil {
		f = &gatehttp.Refusal{Status: http.StatusBadRequest, Code: "json", Message: "the body cannot be read in exactly one way"}
	}
	var answer any = struct{}{}
	if f == nil {
		answer, f = handle(body)
	}
	if f != nil {
		refuse(w, f)
		return
	}
	reply(w, answer)
}

func reply(w http.ResponseWriter, answer any) {
	body, err := json.Marshal(answer)
	if err != nil {
		refuse(w, &gatehttp.Refusal{Status: http.StatusInternalServerError, Code: "internal", Message: "the answer cannot be written"})
		return
	}
	gatehttp.Reply(w, http.StatusOK, body)
}

// discovered is the toolset as the discovery endpoint shows it.
func (g *Gateway) discovered() any {
	var set map[string]any
	_ = strictjson.Unmarshal(g.toolset, &set) // it was written by this program
	set["endpoint"] = g.base + invokePath
	return set
}
