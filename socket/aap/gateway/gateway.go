// Package gateway is a server of the Agent Application Protocol, version 3, in front of
// another one. Clients and servers need not know of it: it passes sessions, turns and
// histories on, except that permd decides each call before the client or the server runs it.
//
// A call that nobody has allowed reaches nobody who could run it. Calls of the client are
// held until they are decided. Permissions of the server's tools are given or refused by
// permd; where a person has to answer, the client asks its own, or the gateway waits for
// permd allow. Whatever cannot be read in exactly one way is not passed on.
package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/gatehttp"
)

// Bounds of what a gateway reads and keeps.
const (
	maxBody     = 8 << 20  // bytes of a request, a response or a turn
	maxParts    = 16 << 10 // of a turn, without the pieces of texts that wait for no call
	maxSessions = 256
	maxWaits    = 12 // questions of a session that wait for permd allow at one time
	maxLate     = 4  // those of calls that were denied meanwhile; permd takes 16 waits of a connection
	// Turns of the server for one request of the client: all, and those in a row in which
	// nothing may run.
	maxTurns  = 256
	maxDenied = 16
)

// Timeouts.
const (
	turnTimeout   = time.Hour        // for a turn of the server
	shortTimeout  = time.Minute      // for all other requests to it, and those to permd
	busyTimeout   = 5 * time.Second  // for another request of the same session
	writeTimeout  = 30 * time.Second // for a client that does not read
	aliveInterval = 15 * time.Second // between comments in a stream that waits
	lateTime      = 30 * time.Minute // in which a question can be answered after its call was denied
)

// Config is the configuration of a gateway.
type Config struct {
	// Upstream is the server's base URL, http or https.
	Upstream *url.URL
	// Key is the server's API key. If it is "", the client's Authorization is passed on.
	Key string
	// Token is what a client has to give as its API key, "" for nothing.
	Token string
	// Cwd is the absolute path of the folder that the client's tools work in.
	Cwd string
	// Client names the program whose tools the client's are.
	Client effects.Party
	// KeepTrust is set if the server may run the tools without asking that a client trusts.
	KeepTrust bool
	// NoClientAnswers is set if what a client answers is not taken for its person's answer.
	NoClientAnswers bool
	// Wait is how long a call waits for permd allow; 0 for not at all.
	Wait time.Duration
	// Sent keeps which permissions were sent to the server. It may be nil.
	Sent *gatehttp.Sent
	// Dial connects to permd.
	Dial func(context.Context) (*client.Client, error)
	// Say reports something to the person. It must not block.
	Say func(string)
}

// Gateway serves HTTP.
type Gateway struct {
	cfg      Config
	endpoint string // the server's address, without secrets
	http     *http.Client
	ended    context.Context
	end      context.CancelFunc

	memory      gatehttp.Room  // for answers of the server, by sessions
	late        sync.WaitGroup // waits for answers to questions of denied calls
	readTimeout time.Duration  // set by tests

	mu       sync.Mutex
	sessions map[string]*session
}

// New returns a gateway. Close ends it.
func New(cfg Config) (*Gateway, error) {
	switch u := cfg.Upstream; {
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.User != nil, u.RawQuery != "", u.Fragment != "", u.Opaque != "":
		return nil, fmt.Errorf("the server's address must be http:// or https:// with a host, and no user, query or fragment")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // the address is the server's
	transport.DisableCompression = true
	transport.DisableKeepAlives = true // a request on a connection that ends may have arrived
	g := &Gateway{
		cfg: cfg, endpoint: strings.TrimRight(cfg.Upstream.String(), "/"), sessions: map[string]*session{},
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	g.ended, g.end = context.WithCancel(context.Background())
	return g, nil
}

// Close ends all waits and the connections to permd and to the server.
func (g *Gateway) Close() {
	g.end()
	g.mu.Lock()
	list := g.sessions
	g.sessions = map[string]*session{}
	g.mu.Unlock()
	for _, s := range list {
		s.turn <- struct{}{} // requests end with g.ended
		s.daemon.Close()
		<-s.turn
	}
	g.late.Wait()
	g.http.CloseIdleConnections()
}

// ServeHTTP serves one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f := g.checkRequest(r); f != nil {
		w.Header().Set("Connection", "close")
		f.write(w)
		return
	}
	if r.Body == nil || r.Body == http.NoBody {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // the server may take longer
	}
	id, rest, ok := sessionPath(r.URL)
	var f *fault
	switch {
	case r.URL.Path == "/meta" && r.Method == http.MethodGet, r.URL.Path == "/sessions" && r.Method == http.MethodGet:
		f = g.pass(w, r, r.URL.Path)
	case r.URL.Path == "/sessions" && r.Method == http.MethodPost:
		f = g.createSession(w, r)
	case !ok:
		f = &fault{http.StatusNotFound, "no such path"}
	case rest == "turns" && r.Method == http.MethodPost:
		f = g.turns(w, r, id)
	case rest == "history" && r.Method == http.MethodGet:
		f = g.history(w, r, id)
	case rest == "" && r.Method == http.MethodGet:
		f = g.pass(w, r, r.URL.EscapedPath())
	case rest == "" && r.Method == http.MethodDelete:
		g.forget(id)
		f = g.pass(w, r, r.URL.EscapedPath())
	default:
		f = &fault{http.StatusNotFound, "no such path"}
	}
	if f != nil {
		f.write(w)
	}
}

// sessionPath splits /sessions/ID/REST.
func sessionPath(u *url.URL) (id, rest string, ok bool) {
	p, ok := strings.CutPrefix(u.EscapedPath(), "/sessions/")
	if !ok {
		return "", "", false
	}
	id, rest, _ = strings.Cut(p, "/")
	return id, rest, isPlainID(id)
}

// isPlainID reports whether a session's id stands in a path as it is: a server, or what is in
// front of it, may take any other for more than one segment.
func isPlainID(id string) bool {
	return id != "" && id != "." && id != ".." && len(id) <= socket.MaxName && url.PathEscape(id) == id
}

// fault is an error response: of the protocol's form, an object with the member error.
type fault struct {
	status int
	text   string
}

func (f *fault) write(w http.ResponseWriter) {
	reply(w, f.status, []byte(`{"error":`+quote(f.text)+`}`))
}
