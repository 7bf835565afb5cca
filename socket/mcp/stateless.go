package mcp

import (
	"context"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// Members of _meta in a request since 2026-07-28, besides metaRevision.
const (
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaProgress     = "progressToken"
)

// ownMeta are the members of _meta in the gateway's own requests since 2026-07-28.
const ownMeta = `"` + metaRevision + `":"` + statelessRevision + `","` + metaCapabilities + `":{}`

// statelessMethods are the requests of a client since 2026-07-28. Those with true are calls, or
// can have questions of the server before their result.
var statelessMethods = map[string]bool{
	methodDiscover: false, methodListTools: false, methodCallTool: true,
	"resources/list": false, "resources/templates/list": false, methodReadResource: true,
	"prompts/list": false, methodGetPrompt: true, "completion/complete": false, methodListen: false,
}

// extensionUI is the extension MCP Apps. It is the only one that passes, since it has neither
// requests nor results of its own: what an app calls, the client calls.
const extensionUI = "io.modelcontextprotocol/ui"

const uiMIMEType = "text/html;profile=mcp-app"

var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// requestMeta is what a request says of itself and of its client, since 2026-07-28.
type requestMeta struct {
	// text are the members of _meta with which the request is passed on. They are made anew of
	// what was read, since nobody is shown them and no rule decides them.
	text  string
	agent effects.Party // without a name if the client does not say
	// What the client can do. The server has to use nothing else.
	forms, urls, roots                       bool
	sampling, samplingTools, samplingContext bool
}

// readMeta reads the member _meta of the params of a request of statelessRevision.
func readMeta(params strictjson.Value) (meta *requestMeta, why string) {
	o, err := strictjson.ParseObject(strictjson.Find(params, "_meta"))
	if err != nil || o.NearMiss(metaRevision, metaCapabilities, metaClient, metaLogLevel, metaProgress) != "" {
		return nil, "_meta cannot be read in exactly one way"
	}
	meta = new(requestMeta)
	capabilities, _ := o.Get(metaCapabilities)
	can, ok := meta.capabilities(capabilities)
	if !ok {
		return nil, "_meta does not say what the client is capable of"
	}
	text := []string{quote(metaRevision) + ":" + quote(statelessRevision), quote(metaCapabilities) + ":{" + can + "}"}
	if v, ok := o.Get(metaClient); ok {
		members := make([]string, 0, 3)
		for _, name := range []string{"name", "title", "version"} {
			if s, ok := strictjson.ParseString(strictjson.Find(v, name)); ok && len(s) <= maxID {
				members = append(members, quote(name)+":"+quote(s))
				switch name {
				case "name":
					meta.agent.Name = s
				case "version":
					meta.agent.Version = s
				}
			}
		}
		text = append(text, quote(metaClient)+":{"+strings.Join(members, ",")+"}")
	}
	if v, ok := o.Get(metaLogLevel); ok {
		level, _ := strictjson.ParseString(v)
		if !slices.Contains(logLevels, level) {
			return nil, "_meta has a log level that the protocol does not have"
		}
		text = append(text, quote(metaLogLevel)+":"+quote(level))
	}
	if v, ok := o.Get(metaProgress); ok {
		token := readID(v)
		if token == "" {
			return nil, "the progress token must be a string, or an integer of at most 2^53"
		}
		text = append(text, quote(metaProgress)+":"+token)
	}
	meta.text = strings.Join(text, ",")
	return meta, ""
}

// capabilities notes what the client can do, and returns it as members of an object.
func (meta *requestMeta) capabilities(v strictjson.Value) (members string, ok bool) {
	if strictjson.Kind(v) != '{' {
		return "", false
	}
	has := func(path ...string) bool { return strictjson.Kind(strictjson.Find(v, path...)) == '{' }
	meta.forms, meta.urls = elicitationOf(strictjson.Find(v, "elicitation"))
	meta.roots, meta.sampling = has("roots"), has("sampling")
	meta.samplingTools, meta.samplingContext = has("sampling", "tools"), has("sampling", "context")
	var list []string
	add := func(name string, parts ...string) {
		list = append(list, quote(name)+":{"+strings.Join(parts, ",")+"}")
	}
	only := func(has bool, part string) []string {
		if has {
			return []string{part}
		}
		return nil
	}
	if meta.forms || meta.urls {
		add("elicitation", append(only(meta.forms, `"form":{}`), only(meta.urls, `"url":{}`)...)...)
	}
	if meta.roots {
		add("roots")
	}
	if meta.sampling {
		add("sampling", append(only(meta.samplingContext, `"context":{}`), only(meta.samplingTools, `"tools":{}`)...)...)
	}
	types, _ := strictjson.ParseArray(strictjson.Find(v, "extensions", extensionUI, "mimeTypes"))
	if slices.ContainsFunc(types, func(v strictjson.Value) bool { s, _ := strictjson.ParseString(v); return s == uiMIMEType }) {
		add("extensions", quote(extensionUI)+`:{"mimeTypes":[`+quote(uiMIMEType)+`]}`)
	}
	return strings.Join(list, ","), true
}

// readStateless handles a message of the client that says of which revision it is.
func (g *gateway) readStateless(ctx context.Context, m *message) error {
	revision, _ := strictjson.ParseString(strictjson.Find(m.params, "_meta", metaRevision))
	calls, known := statelessMethods[m.method]
	switch {
	case m.id == "" && revision == statelessRevision && m.method == notedCancelled:
		return g.readNotification(m)
	case m.id == "":
		return nil // of a notification there is nobody to tell
	case revision != statelessRevision:
		return g.refuseRevision(m)
	case !known:
		return g.refuse(m.id, codeMethod, "this method is not one of the protocol's revision "+statelessRevision+" that permd passes on")
	}
	meta, why := readMeta(m.params)
	if why == "" && !calls {
		why = m.renew(meta)
	}
	if why != "" {
		return g.refuse(m.id, codeParams, why)
	}
	g.mu.Lock()
	g.stateless = true
	if g.agent.Name == "" {
		g.agent = meta.agent
	}
	g.mu.Unlock()
	if calls {
		return g.startStateless(ctx, m, meta)
	}
	if why := g.track(m, &request{method: m.method, meta: meta, cursor: cursorOf(m)}); why != "" {
		return g.refuse(m.id, codeInvalid, why)
	}
	return g.server.write(m.text)
}

// renew makes the text of a request anew with other members of _meta.
func (m *message) renew(meta *requestMeta) (why string) {
	o, err := strictjson.ParseObject(m.params)
	if err != nil || o.NearMiss("_meta", "inputResponses", "requestState") != "" {
		return "the params cannot be read in exactly one way"
	}
	var b strings.Builder
	for _, member := range o {
		switch member.Name {
		case "_meta":
		case "inputResponses", "requestState":
			return "the params have a member that the method does not have"
		default:
			b.WriteString(quote(member.Name) + ":" + string(member.Value) + ",")
		}
	}
	return m.rebuild(b.String() + `"_meta":{` + meta.text + `}`)
}

// startStateless begins to decide a call, or passes the request for a prompt on.
func (g *gateway) startStateless(ctx context.Context, m *message, meta *requestMeta) error {
	c, why := readStatelessCall(m, meta)
	if why != "" {
		return g.refuse(m.id, codeParams, why)
	}
	if c.repeats {
		r := g.takeRound(c.state)
		switch {
		case r == nil:
			return g.refuse(m.id, codeParams, "there is no open question with this requestState: it was answered, or has expired. Call without it")
		case r.call != c.identity():
			r.end()
			return g.refuse(m.id, codeParams, "this is not the request that the question was about. Call without requestState")
		case r.own():
			return g.resume(m, c, r)
		}
		c.continues(r)
	}
	if why := m.rebuild(c.params()); why != "" {
		return g.refuse(m.id, codeParams, why)
	}
	if m.method != methodGetPrompt {
		return g.decideCall(ctx, c)
	}
	if why := g.track(m, &request{method: m.method, meta: meta, call: c}); why != "" {
		return g.refuse(m.id, codeInvalid, why)
	}
	return g.server.write(m.text)
}

// readStatelessCall reads the params of a call, of the reading of a resource and of a prompt.
func readStatelessCall(m *message, meta *requestMeta) (c *toolCall, why string) {
	o, err := strictjson.ParseObject(m.params)
	if err != nil {
		return nil, "the params are not an object"
	}
	state, repeats := o.Get("requestState")
	responses, answers := o.Get("inputResponses")
	o = slices.DeleteFunc(o, func(m strictjson.Member) bool { return m.Name == "requestState" || m.Name == "inputResponses" })
	switch {
	case answers && !repeats:
		return nil, "there are answers without the requestState that belongs to the questions"
	case answers && strictjson.Kind(responses) != '{':
		return nil, "the answers are not an object"
	case m.method == methodGetPrompt:
		c, why = readPrompt(m, o)
	default:
		c, why = readParams(m, o, false)
	}
	if why != "" {
		return nil, why
	}
	c.meta, c.repeats, c.responses = meta, repeats, responses
	if c.state, _ = strictjson.ParseString(state); repeats && c.state == "" {
		return nil, "the requestState is not a string"
	}
	return c, ""
}

// readPrompt reads the params of prompts/get, which nobody decides.
func readPrompt(m *message, o strictjson.Object) (c *toolCall, why string) {
	for _, member := range o {
		if !slices.Contains([]string{"name", "arguments", "_meta"}, member.Name) {
			return nil, "the params have a member that the protocol does not have"
		}
	}
	c = &toolCall{message: m, method: m.method}
	name, _ := o.Get("name")
	if _, ok := strictjson.ParseString(name); !ok {
		return nil, "the prompt's name is missing"
	}
	c.body = `"name":` + string(name)
	if v, ok := o.Get("arguments"); ok {
		c.body += `,"arguments":` + string(v)
	}
	return c, ""
}

// passDiscovery passes on what a server says of itself: without revisions that the gateway does
// not know, and without extensions, which could have other calls.
func (g *gateway) passDiscovery(m *message) error {
	o, err := strictjson.ParseObject(m.result)
	versions, _ := o.Get("supportedVersions")
	list, bad := strictjson.ParseArray(versions)
	if err != nil || bad != nil || o.NearMiss("supportedVersions", "capabilities") != "" {
		return g.refuse(m.id, codeInternal, "what the server says of itself cannot be read in exactly one way")
	}
	var known []string
	for _, v := range list {
		if s, _ := strictjson.ParseString(v); slices.Contains(revisions, s) {
			known = append(known, quote(s))
		}
	}
	if known == nil {
		return g.refuse(m.id, codeInternal, "the server has no revision of the protocol that permd knows")
	}
	var b strings.Builder
	for _, member := range o {
		b.WriteString(quote(member.Name) + ":")
		switch member.Name {
		case "supportedVersions":
			b.WriteString("[" + strings.Join(known, ",") + "]")
		case "capabilities":
			b.WriteString(knownCapabilities(member.Value))
		default:
			b.Write(member.Value)
		}
		b.WriteByte(',')
	}
	text, err := oneLine([]byte(`{"jsonrpc":"2.0","id":` + m.id + `,"result":{` + strings.TrimSuffix(b.String(), ",") + `}}`))
	if err != nil {
		return g.refuse(m.id, codeInternal, errNotJSON.Error())
	}
	return g.client.write(text)
}

// knownCapabilities returns a server's capabilities without extensions but extensionUI.
func knownCapabilities(v strictjson.Value) string {
	o, err := strictjson.ParseObject(v)
	if err != nil || o.NearMiss("extensions") != "" {
		return "{}"
	}
	parts := make([]string, 0, len(o))
	for _, member := range o {
		value := string(member.Value)
		if member.Name == "extensions" {
			ui := strictjson.Find(member.Value, extensionUI)
			if strictjson.Kind(ui) != '{' {
				continue
			}
			value = "{" + quote(extensionUI) + ":" + string(ui) + "}"
		}
		parts = append(parts, quote(member.Name)+":"+value)
	}
	return "{" + strings.Join(parts, ",") + "}"
}
