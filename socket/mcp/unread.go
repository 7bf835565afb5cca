package mcp

import (
	"strings"
	"time"
)

// doubtTimeout is how long requests are left open whose response may have been one that could
// not be read.
const doubtTimeout = time.Minute

// noteUnreadable handles a line of the server that cannot be read. Where it surely is the response to
// a request, that is answered with an error. Where it is meant as a message and may be the
// response to any request, those that the server has are given some time. The client would
// otherwise wait for ever.
func (g *gateway) noteUnreadable(o *outline, meant bool, why error) error {
	g.cfg.Say("a line of the server was left out: " + why.Error())
	if id := o.response(); id != "" {
		return g.passResult(&message{id: id, text: errorText(id, codeInternal, unreadResponse+why.Error())})
	}
	if id := o.request(); id != "" {
		g.mu.Lock()
		waits := g.fromServer[id] // it would take the error for its response
		g.mu.Unlock()
		if waits {
			return nil
		}
		return g.server.write(errorText(id, codeParse, "permd: "+why.Error()))
	}
	if meant && (o.methods == 0 || o.results > 0) {
		g.doubt(func(string) bool { return true })
	}
	return nil
}

// unreadResponse begins what the client is told: nobody knows whether a call has run.
const unreadResponse = "permd: the server's response cannot be passed on " + mayHaveRun + ": "

// doubt gives those of the requests that the server has some time for a response.
func (g *gateway) doubt(of func(id string) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, r := range g.fromClient {
		if r.cancel == nil && !r.doubt && of(id) {
			r.doubt = true
			time.AfterFunc(doubtTimeout, func() { g.giveUp(id, r) })
		}
	}
}

// doubtTwin doubts the request whose id is the same text as one of another type: a server may
// have made it so.
func (g *gateway) doubtTwin(id string) {
	bare := func(id string) string { return strings.Trim(id, `"`) }
	g.doubt(func(other string) bool { return bare(other) == bare(id) })
}

// giveUp answers a request with an error, unless it was answered meanwhile. A late response to
// it is left out, as that to a request that the client has cancelled.
func (g *gateway) giveUp(id string, r *request) {
	g.mu.Lock()
	if g.ended || g.fromClient[id] != r {
		g.mu.Unlock()
		return
	}
	delete(g.fromClient, id)
	g.forget(id)
	g.calls.Add(1) // the conversation does not end before the client is told
	g.mu.Unlock()
	defer g.calls.Done()
	// An error ends the conversation.
	_ = g.client.write(errorText(id, codeInternal, unreadResponse+"it may be one of those that could not be read"))
}

// forget notes that a late response to a request must not become that of another one. The
// caller holds g.mu.
func (g *gateway) forget(id string) {
	g.cancelled = append(g.cancelled[max(0, len(g.cancelled)-maxCancelled+1):], id)
}
