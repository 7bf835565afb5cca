package mcp

import (
	"context"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

const (
	methodInitialize   = "initialize"
	methodDiscover     = "server/discover" // begins with a server since 2026-07-28
	methodCallTool     = "tools/call"
	methodListTools    = "tools/list"
	methodReadResource = "resources/read" // decided as a tool of this name would be
	methodGetPrompt    = "prompts/get"
	methodListen       = "subscriptions/listen"
	methodElicit       = "elicitation/create"
	methodSample       = "sampling/createMessage"
	methodListRoots    = "roots/list"
	notedCancelled     = "notifications/cancelled"
	notedInitialized   = "notifications/initialized"
	notedToolsChanged  = "notifications/tools/list_changed"
)

// clientMethods are the requests of a client that the gateway passes on. Another method
// could be one that runs a tool.
var clientMethods = map[string]bool{
	methodInitialize: true, "ping": true, methodListTools: true,
	"resources/list": true, "resources/templates/list": true, "resources/subscribe": true, "resources/unsubscribe": true,
	"prompts/list": true, methodGetPrompt: true, "completion/complete": true, "logging/setLevel": true,
	"tasks/get": true, "tasks/result": true, "tasks/list": true, "tasks/cancel": true,
}

// clientNotifications are the notifications of a client that the gateway passes on. Others
// are dropped: a server might treat one as a call, and notifications have no response.
var clientNotifications = map[string]bool{
	notedInitialized: true, notedCancelled: true, "notifications/progress": true,
	"notifications/roots/list_changed": true, "notifications/tasks/status": true,
}

// readClient handles a line of the client.
func (g *gateway) readClient(ctx context.Context, line []byte) error {
	if len(strings.TrimSpace(string(line))) == 0 {
		return nil
	}
	m, err := readMessage(line)
	switch {
	case err != nil && m.id == "":
		o := new(outline)
		_, _ = o.Write(line)
		return g.refuse(g.unreadID(o), codeOf(err), err.Error())
	case err != nil:
		return g.refuse(m.id, codeOf(err), err.Error())
	case m.isResponse():
		return g.passResponse(m)
	case namesRevision(m):
		return g.readStateless(ctx, m)
	case m.id == "":
		return g.readNotification(m)
	case m.method == methodCallTool || m.method == methodReadResource:
		return g.startCall(ctx, m)
	case !clientMethods[m.method]:
		return g.refuse(m.id, codeMethod, "this method is not one of the Model Context Protocol's that permd passes on")
	}
	if m.method == methodInitialize {
		g.initialize(m.params)
	}
	if why := g.track(m, &request{method: m.method, cursor: cursorOf(m)}); why != "" {
		return g.refuse(m.id, codeInvalid, why)
	}
	return g.server.write(m.text)
}

func codeOf(err error) int {
	if err == errNotJSON { //nolint:errorlint // it is never wrapped
		return codeParse
	}
	return codeInvalid
}

// track notes a request of the client, or returns why it cannot. One with a cancel is a call that
// is decided, which g.calls then counts.
func (g *gateway) track(m *message, r *request) (why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.ended:
		return "the conversation has ended"
	case g.fromClient[m.id] != nil || g.isOwn(m.id):
		return "a request with this id has no response yet"
	case slices.Contains(g.cancelled, m.id):
		return "a request with this id was cancelled"
	case len(g.fromClient) >= maxRequests:
		return "too many requests have no response yet"
	case r.cancel != nil && (g.deciding >= maxDeciding || g.waiting+len(m.text) > maxWaiting):
		return "too many calls wait for a decision"
	}
	if r.cancel != nil {
		g.calls.Add(1)
		g.deciding++
		g.waiting += len(m.text)
	}
	g.fromClient[m.id] = r
	return ""
}

// passResponse passes the client's response on to the server, if it is to a request of
// the server.
func (g *gateway) passResponse(m *message) error {
	if g.answered(g.client, m) {
		return nil
	}
	g.mu.Lock()
	asked := g.fromServer[m.id]
	delete(g.fromServer, m.id)
	g.mu.Unlock()
	if !asked {
		return nil
	}
	return g.server.write(m.text)
}

// readNotification passes a notification of the client on, if the protocol has it.
func (g *gateway) readNotification(m *message) error {
	if !clientNotifications[m.method] {
		return nil
	}
	// The server has not to know the ids of permd's questions.
	for _, member := range []string{"requestId", "progressToken"} {
		if g.isOwn(readID(strictjson.Find(m.params, member))) {
			return nil
		}
	}
	if m.method == notedCancelled {
		id := readID(strictjson.Find(m.params, "requestId"))
		g.mu.Lock()
		r := g.fromClient[id]
		if r != nil && r.cancel != nil { // the server does not know of it
			r.cancel()
			g.mu.Unlock()
			return nil
		}
		if r != nil {
			delete(g.fromClient, id) // it has no response
			g.forget(id)
		}
		g.mu.Unlock()
	}
	return g.server.write(m.text)
}

// maxCancelled bounds the ids of cancelled requests that are kept.
const maxCancelled = 256

// initialize notes what the client says of itself.
func (g *gateway) initialize(params strictjson.Value) {
	text := func(path ...string) string {
		s, _ := strictjson.ParseString(strictjson.Find(params, path...))
		return s
	}
	forms, urls := elicitationOf(strictjson.Find(params, "capabilities", "elicitation"))
	g.mu.Lock()
	defer g.mu.Unlock()
	g.initialized = true
	g.elicits, g.urls = forms && !g.cfg.NoElicitation, urls
	if name, version := text("clientInfo", "name"), text("clientInfo", "version"); len(name) <= maxID && len(version) <= maxID {
		g.agent = effects.Party{Name: name, Version: version}
	}
}

// elicitationOf reports which questions of servers a client can show: forms, and addresses to go
// to. An empty object means forms; with others, forms must be named.
func elicitationOf(capability strictjson.Value) (forms, urls bool) {
	if strictjson.Kind(capability) != '{' {
		return false, false
	}
	o, err := strictjson.ParseObject(capability)
	_, forms = o.Get("form")
	_, urls = o.Get("url")
	return err == nil && (forms || len(o) == 0), err == nil && urls
}
