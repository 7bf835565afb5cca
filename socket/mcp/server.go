package mcp

import (
	"bytes"
	"strings"

	"github.com/permd/permd/internal/strictjson"
)

// serverMethods are the requests of a server that the gateway passes on. Another one could be shown
// to the person by a client that reads its method otherwise, without the name of the server.
var serverMethods = map[string]bool{
	"ping": true, methodElicit: true, methodSample: true, methodListRoots: true,
	"tasks/get": true, "tasks/result": true, "tasks/list": true, "tasks/cancel": true,
}

// serverNotifications are the notifications of a server that the gateway passes on.
var serverNotifications = map[string]bool{
	notedCancelled: true, notedToolsChanged: true, "notifications/progress": true, notedMessage: true,
	"notifications/resources/updated": true, "notifications/resources/list_changed": true, "notifications/prompts/list_changed": true,
	"notifications/tasks/status": true, "notifications/elicitation/complete": true, "notifications/subscriptions/acknowledged": true,
}

// readServer handles a line of the server. What it prints besides messages is left out.
func (g *gateway) readServer(line []byte) error {
	if len(strings.TrimSpace(string(line))) == 0 {
		return nil
	}
	m, err := readMessage(line)
	switch {
	case err != nil:
		o := new(outline)
		_, _ = o.Write(line)
		return g.noteUnreadable(o, o.jsonrpc || bytes.Contains(line, []byte("jsonrpc")), err)
	case m.isResponse():
		return g.passResult(m)
	case m.id == "" && !serverNotifications[m.method]:
		g.cfg.Say("a notification of the server was left out: the protocol does not have it")
		return nil
	case m.id == "":
		switch m.method {
		case notedToolsChanged:
			g.tools.change()
		case notedCancelled:
			id := readID(strictjson.Find(m.params, "requestId"))
			if g.isOwn(id) {
				return nil
			}
			g.mu.Lock()
			if r := g.fromClient[id]; !g.fromServer[id] && r != nil && r.method == methodListen {
				delete(g.fromClient, id)
				g.forget(id)
			}
			delete(g.fromServer, id) // it has no response
			g.mu.Unlock()
		}
		if why := g.signNote(m); why != "" {
			g.cfg.Say("a notification of the server was left out: " + why)
			return nil
		}
		return g.client.write(m.text)
	}
	g.mu.Lock()
	unexpected := g.stateless && !g.initialized
	g.mu.Unlock()
	if unexpected {
		g.cfg.Say("a request of the server was left out: the revision of the protocol has none")
		return nil
	}
	if !serverMethods[m.method] {
		return g.server.write(errorText(m.id, codeMethod, "permd: this method is not one of the Model Context Protocol's that permd passes on"))
	}
	if m.method == methodElicit {
		if why := g.signForm(m); why != "" {
			return g.server.write(errorText(m.id, codeParams, "permd: "+why))
		}
	}
	g.mu.Lock()
	full := len(g.fromServer) >= maxRequests
	// The client's answer to a question of permd must not be taken for one to the server, nor
	// the reverse.
	again := g.fromServer[m.id] || g.isOwn(m.id)
	if !full && !again {
		g.fromServer[m.id] = true
	}
	g.mu.Unlock()
	if full || again {
		return g.server.write(errorText(m.id, codeInvalid, "permd: this id is in use, or too many requests have no response yet"))
	}
	return g.client.write(m.text)
}

// passResult passes the server's response on to the client, if it is the first one to a
// request that the server was sent.
func (g *gateway) passResult(m *message) error {
	if g.answered(g.server, m) {
		return nil
	}
	g.mu.Lock()
	r := g.fromClient[m.id]
	if r == nil || r.cancel != nil {
		g.mu.Unlock()
		g.cfg.Say("a response of the server to no request was left out")
		g.doubtTwin(m.id)
		return nil
	}
	delete(g.fromClient, m.id)
	g.mu.Unlock()
	switch {
	case m.result == nil:
		if code := strictjson.Find(m.text, "error", "code"); r.meta != nil && string(code) == codeHeaders {
			g.tools.change() // the tool may have other headers now, and is asked for before the next call
		}
		return g.passError(m, r)
	case r.meta != nil && r.call != nil && asksForMore(m.result):
		return g.passRound(m, r)
	}
	if why := unsupported(r.method, m.result); why != "" {
		g.cfg.Say(why)
		return g.refuse(m.id, codeInternal, why)
	}
	switch r.method {
	case methodListTools:
		return g.passList(m, r)
	case methodDiscover:
		return g.passDiscovery(m)
	}
	return g.client.write(m.text)
}

// passList passes a list of tools on, without those that cannot be called.
func (g *gateway) passList(m *message, r *request) error {
	l, err := readList(m.result)
	if err != nil {
		g.cfg.Say(err.Error())
		return g.refuse(m.id, codeInternal, err.Error())
	}
	if r.meta != nil && g.http {
		l.leaveOutHeaders()
	}
	g.hide(l, g.canAsk(r.meta))
	g.tools.tell(l, r.cursor)
	if len(l.leftOut)+l.hidden == 0 {
		return g.client.write(m.text)
	}
	for _, why := range l.leftOut[:min(len(l.leftOut), maxSaid)] {
		g.cfg.Say("a tool of the server was left out: " + why)
	}
	text, err := oneLine([]byte(`{"jsonrpc":"2.0","id":` + m.id + `,"result":` + string(l.text()) + `}`))
	if err != nil {
		return g.refuse(m.id, codeInternal, errList.Error())
	}
	return g.client.write(text)
}

// maxSaid is how much is said of one list.
const maxSaid = 8
