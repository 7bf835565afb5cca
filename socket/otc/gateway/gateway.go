// Package gateway is a tool server of Open Tool Calling (draft 1.0) in front of others:
// it serves their tools, asks permd about each call, and forwards what may run, with
// credentials that its callers never see.
//
// It decides nothing, and remembers nothing but which calls it has sent: no call with an
// id is sent twice. Whatever fails before a call is sent is a call that has not run;
// whatever fails after it is one of which nobody knows, which is said and kept.
package gateway

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/gatehttp"
	"github.com/permd/permd/socket/mcp"
)

// The paths of the protocol, and the one where callers look for a person's answer.
const (
	pathHealth   = "/health"
	pathTools    = "/tools"
	pathCall     = "/tools/call"
	pathApproval = "/approvals/"
)

// Options are what a gateway needs besides its configuration.
type Options struct {
	Dial func(context.Context) (*client.Client, error) // connects to permd
	Cwd  string                                        // of the session whose rules and choices count
	Pins *mcp.Pins                                     // what the tools were when they last ran
	// Token is required from callers on a loopback address; "" on a Unix socket.
	Token string
	Sent  *gatehttp.Sent
	Say   func(string) // says what went wrong, for a person
}

// Gateway serves one configuration.
type Gateway struct {
	config    *Config
	session   *client.Session
	daemon    *client.SessionConn
	pins      *mcp.Pins
	sent      *gatehttp.Sent
	token     string
	approvals string // the address before a decision's id

	ctx        context.Context // ends with Serve
	background sync.WaitGroup
	records    records
	memory     gatehttp.Room // for answers of tool servers, by the users that calls are for
	waits      chan struct{} // holds one for each question that permd allow lists

	sayMu sync.Mutex
	tell  func(string) // nil after Serve

	mu        sync.Mutex
	questions map[string]*pendingAnswer
	order     []string // of questions, the oldest first
}

// New returns a gateway.
func New(c *Config, o Options) *Gateway {
	session := &client.Session{ID: "otc-" + rand.Text(), Cwd: o.Cwd}
	return &Gateway{
		config: c, pins: o.Pins, sent: o.Sent, tell: o.Say, token: o.Token, session: session,
		daemon:  client.NewSessionConn(o.Dial, connectTimeout, func() *client.Session { return session }),
		records: records{by: map[string]*record{}}, questions: map[string]*pendingAnswer{}, waits: make(chan struct{}, maxWaits),
	}
}

// Serve serves until ctx ends or ln fails, and closes ln.
func (g *Gateway) Serve(ctx context.Context, ln net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	g.ctx = ctx
	host := "permd"
	if _, ok := ln.Addr().(*net.TCPAddr); ok {
		host = ln.Addr().String()
	}
	g.approvals = "http://" + host + pathApproval
	s := &gatehttp.Server{Token: g.token, KeyHeader: headerKey, Open: isOpen, Refuse: refuse, Handler: http.HandlerFunc(g.handle)}
	err := s.Serve(ctx, ln)
	cancel()
	g.daemon.Close()
	g.background.Wait()
	g.sayMu.Lock()
	defer g.sayMu.Unlock()
	g.tell = nil
	return err
}

// say says what went wrong, for a person. Requests that outlive Serve say nothing.
func (g *Gateway) say(text string) {
	g.sayMu.Lock()
	defer g.sayMu.Unlock()
	if g.tell != nil {
		g.tell(text)
	}
}

// isOpen reports whether a path needs no token: the health by the protocol, and whether a
// person has answered, which only who has the id of a decision can ask for.
func isOpen(path string) bool { return path == pathHealth || strings.HasPrefix(path, pathApproval) }

// refuse answers a request that is not served. Whatever is wrong with a call before it is
// made is 400 in this protocol.
func refuse(w http.ResponseWriter, r *http.Request, f *gatehttp.Refusal) {
	status := f.Status
	if r.RequestURI == pathCall && r.Method == http.MethodPost {
		status = http.StatusBadRequest
	}
	reply(w, &response{status: status, body: marshal(errorBody{Message: f.Message, Developer: fromSource(ownSource, f.Code)})}, nil)
}

func reply(w http.ResponseWriter, a *response, c *call) {
	w.Header().Set("OXP-Version", oxpVersion)
	w.Header().Set(headerSource, a.source())
	gatehttp.Reply(w, a.status, a.wrapped(c)...)
}

func (g *Gateway) handle(w http.ResponseWriter, r *http.Request) {
	path, method := r.RequestURI, r.Method
	id, approval := strings.CutPrefix(path, pathApproval)
	want := http.MethodGet
	switch {
	case path == pathCall:
		want = http.MethodPost
	case path != pathHealth && path != pathTools && !approval:
		refuse(w, r, &gatehttp.Refusal{Status: http.StatusNotFound, Code: "not_found", Message: "There is no such path"})
		return
	}
	if method != want {
		w.Header().Set("Allow", want)
		refuse(w, r, &gatehttp.Refusal{Status: http.StatusMethodNotAllowed, Code: "method", Message: "The method must be " + want})
		return
	}
	if v := r.Header["Oxp-Version"]; len(v) > 1 || len(v) == 1 && v[0] != oxpVersion && v[0] != "1" {
		reply(w, refusal("This version of the protocol is not supported: OXP-Version must be "+oxpVersion, ""), nil)
		return
	}
	switch path {
	case pathHealth:
		a := &response{status: http.StatusOK, body: strictjson.Value(`{"status":"ok"}`)}
		if _, _, err := g.daemon.Connection(r.Context()); err != nil {
			a = &response{status: http.StatusServiceUnavailable, body: marshal(errorBody{Message: "permd cannot be asked"})}
		}
		reply(w, a, &call{})
	case pathTools:
		held := g.memory.Begin("")
		defer held.Free()
		reply(w, g.tools(r.Context(), held), &call{})
	case pathCall:
		g.serveCall(w, r)
	default:
		g.serveApproval(w, id)
	}
}

func (g *Gateway) serveCall(w http.ResponseWriter, r *http.Request) {
	wait, ok := gatehttp.PreferredWait(r.Header, g.config.wait)
	if !ok {
		reply(w, refusal("The wait of Prefer must be a number of seconds", ""), nil)
		return
	}
	body, f := gatehttp.ReadBody(w, r, maxCallRequest)
	if f != nil {
		refuse(w, r, f)
		return
	}
	c, why := readCall(body)
	if why != "" {
		reply(w, refusal(why, ""), nil)
		return
	}
	if wait > 0 {
		release, alone := gatehttp.Hold(r.Context())
		defer release()
		if !alone {
			wait = 0 // nobody would know whether the caller is still there
		}
	}
	held := g.memory.Begin(c.user)
	defer held.Free()
	reply(w, g.call(r.Context(), held, c, wait), c)
}

// serveApproval says whether a person has answered, and how they can. The answer itself is
// given to permd, which knows who gives it.
func (g *Gateway) serveApproval(w http.ResponseWriter, id string) {
	g.mu.Lock()
	q := g.questions[id]
	g.mu.Unlock()
	if q == nil {
		reply(w, &response{status: http.StatusNotFound, body: marshal(errorBody{Message: "There is no such question"})}, nil)
		return
	}
	said := map[string]string{"status": q.state()}
	if said["status"] == statusPending {
		said["message"] = "Answer with: permd allow " + q.id
	}
	reply(w, &response{status: http.StatusOK, body: marshal(said)}, &call{})
}
