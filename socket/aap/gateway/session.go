package gateway

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
)

// session is a session of the server. What is not said otherwise is used by one request at a
// time, which has the turn.
type session struct {
	id   string
	turn chan struct{} // holds one while a request has the turn
	used time.Time     // guarded by Gateway.mu

	agent  string
	server []tool // the server's, nil if they are not known
	client []tool
	daemon *client.SessionConn
	conn   *client.Client // to permd, on which pending is known; nil for none

	pending *batch
	late    []context.CancelFunc // of the waits for answers that come after a denial, the oldest first
	// posted are calls whose permissions may have arrived at the server: it may have run them.
	posted map[string]bool
	// texts are the ends of what the server has said, for keyFilter.
	texts map[string]string
}

// newSession returns a session of which nothing is known but its id, if that is.
func (g *Gateway) newSession(id string) *session {
	s := &session{id: id, turn: make(chan struct{}, 1), posted: map[string]bool{}}
	s.daemon = client.NewSessionConn(g.cfg.Dial, shortTimeout, func() *client.Session {
		party := g.cfg.Client
		return &client.Session{ID: s.id, Cwd: g.cfg.Cwd, Client: &party}
	})
	return s
}

// createSession opens a session on the server.
func (g *Gateway) createSession(w http.ResponseWriter, r *http.Request) *fault {
	body, f := readBody(w, r)
	if f != nil {
		return f
	}
	s := g.newSession("")
	if f := s.configure(body); f != nil {
		return f
	}
	if f := checkMembers(body, "agent", "tools", "messages"); f != nil {
		return f
	}
	if f := checkSeed(body); f != nil {
		return f
	}
	if s.agent == "" {
		return &fault{http.StatusBadRequest, "agent.name is missing"}
	}
	if body, f = g.withTrust(body); f != nil {
		return f
	}
	held := g.memory.Begin("")
	defer held.Free()
	status, data, f := g.fetch(r.Context(), held, http.MethodPost, "/sessions", "", r, encode(body))
	if f != nil {
		return f
	}
	o, err := readObject(data)
	if err == nil {
		s.id, err = nameIn(o, "sessionId")
	}
	if err != nil || !isPlainID(s.id) {
		return &fault{http.StatusBadGateway, "the server's answer has no sessionId, or one that cannot stand in a path"}
	}
	g.keep(s, false)
	// A server of another version may put a turn into its answer, which nobody has decided.
	reply(w, status, []byte(`{"sessionId":`+quote(s.id)+`}`))
	return nil
}

// configure takes the tools that a request names.
func (s *session) configure(body strictjson.Object) *fault {
	if nearMiss(body, "agent", "tools", "messages", "stream") != nil {
		return &fault{http.StatusBadRequest, "a member's name differs from a known one only by case"}
	}
	if v, ok := body.Get("agent"); ok && strictjson.Kind(v) != 'n' {
		o, err := members(v, "name", "tools", "options")
		if err != nil {
			return &fault{http.StatusBadRequest, "agent: " + err.Error()}
		}
		tools, err := readTools(o, "tools")
		if err != nil {
			return &fault{http.StatusBadRequest, "agent: " + err.Error()}
		}
		if name := text(o, "name"); name != "" {
			if s.agent != "" && s.agent != name || len(name) > socket.MaxName {
				return &fault{http.StatusBadRequest, "agent.name is too long, or not that of the session"}
			}
			s.agent = name
		}
		if tools != nil {
			s.server = tools
		}
	}
	tools, err := readTools(body, "tools")
	if err != nil {
		return &fault{http.StatusBadRequest, err.Error()}
	}
	if tools != nil {
		s.client = tools
	}
	return nil
}

// withTrust returns a request as the server gets it: no tool runs undecided because a
// client trusts it.
func (g *Gateway) withTrust(body strictjson.Object) (strictjson.Object, *fault) {
	v, ok := body.Get("agent")
	if !ok || g.cfg.KeepTrust || strictjson.Kind(v) != '{' {
		return body, nil
	}
	v, err := withoutTrust(v)
	if err != nil {
		return nil, &fault{http.StatusBadRequest, "agent: " + err.Error()}
	}
	return set(body, "agent", v), nil
}

// keep keeps a session, and returns it, or the one of its id that is known already. Of too
// many, the one that is not used for the longest time is forgotten; its client resumes it.
func (g *Gateway) keep(s *session, ifNew bool) *session {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.used = time.Now()
	if former := g.sessions[s.id]; former != nil {
		if ifNew {
			return former
		}
		former.closeIdle()
	}
	g.sessions[s.id] = s
	if len(g.sessions) > maxSessions {
		var oldest *session
		for _, o := range g.sessions {
			if o != s && (oldest == nil || o.used.Before(oldest.used)) {
				oldest = o
			}
		}
		delete(g.sessions, oldest.id)
		oldest.closeIdle()
	}
	return s
}

func (g *Gateway) forget(id string) {
	g.mu.Lock()
	s := g.sessions[id]
	delete(g.sessions, id)
	g.mu.Unlock()
	if s != nil {
		s.closeIdle()
	}
}

// find returns a session with the turn in it, which release gives back. One that is not known
// is read from the server.
func (g *Gateway) find(ctx context.Context, id string, from *http.Request) (s *session, release func(), f *fault) {
	g.mu.Lock()
	if s = g.sessions[id]; s != nil {
		s.used = time.Now()
	}
	g.mu.Unlock()
	if s == nil {
		if s, f = g.readSession(ctx, id, from); f != nil {
			return nil, nil, f
		}
	}
	late := time.NewTimer(busyTimeout)
	defer late.Stop()
	select {
	case s.turn <- struct{}{}:
		if g.isKnown(s) {
			return s, func() { <-s.turn }, nil
		}
		<-s.turn
		return g.find(ctx, id, from) // it was forgotten meanwhile
	case <-ctx.Done():
	case <-late.C:
	}
	return nil, nil, &fault{http.StatusConflict, "another turn of this session is running"}
}

func (g *Gateway) isKnown(s *session) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sessions[s.id] == s
}

// readSession reads a session that another gateway, or none, has opened.
func (g *Gateway) readSession(ctx context.Context, id string, from *http.Request) (*session, *fault) {
	held := g.memory.Begin(id)
	defer held.Free()
	_, data, f := g.fetch(ctx, held, http.MethodGet, "/sessions/"+url.PathEscape(id), "", from, nil)
	if f != nil {
		return nil, f
	}
	s := g.newSession(id)
	o, err := readObject(data)
	if err == nil {
		f = s.configure(o)
	}
	if err != nil || f != nil || s.agent == "" {
		return nil, &fault{http.StatusBadGateway, "the server does not say which agent and tools the session has"}
	}
	return g.keep(s, true), nil
}

// permd returns the connection to permd on which the session is declared. A new one knows of
// no batch.
func (s *session) permd(ctx context.Context) (*client.Client, error) {
	c, _, err := s.daemon.Connection(ctx)
	if c != s.conn {
		s.conn, s.pending = c, nil
	}
	return c, err
}

// closeIdle closes a session's connection once nobody has the turn.
func (s *session) closeIdle() {
	go func() {
		s.turn <- struct{}{}
		s.daemon.Close()
		<-s.turn
	}()
}
