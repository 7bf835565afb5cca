package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// toolCall is a call that waits for its decision, or the reading of a resource.
type toolCall struct {
	// message is the request that gets the response, nil if there is none: the client has the
	// question about the call as its response, and has not repeated it.
	message  *message
	method   string
	size     int    // of the message in gateway.waiting
	place    *place // among the calls that are decided
	body     string // the members of the params that were decided
	name     string
	input    strictjson.Value
	resource bool // it is a resource that is read: not a tool, and without a definition
	errors   bool // the client does not expect the result of a tool, so what is refused is an error

	meta *requestMeta // nil in the revisions with sessions
	// Of a request that is repeated with answers: what it says, and what of that the server gets.
	repeats   bool
	state     string
	responses strictjson.Value
	answers   string // members of the params
	// said is the question about this call that the person has said yes to, "" for none, and yes
	// that of the request that this one repeats: it is not asked again.
	said, yes string
	rounds    int // how often the server has asked for more
	cancel    context.CancelFunc
}

// startCall begins to decide a call.
func (g *gateway) startCall(ctx context.Context, m *message) error {
	c, why := readCall(m)
	if why != "" {
		return g.refuse(m.id, codeParams, why)
	}
	return g.decideCall(ctx, c)
}

// decideCall begins to decide a call whose message is complete.
func (g *gateway) decideCall(ctx context.Context, c *toolCall) error {
	m := c.message
	ctx, cancel := context.WithCancel(ctx)
	c.cancel, c.size = cancel, len(m.text)
	if why := g.track(m, &request{method: m.method, cancel: cancel, meta: c.meta, call: c}); why != "" {
		cancel()
		return g.refuse(m.id, codeInvalid, why)
	}
	c.place = g.order.enter()
	go func() {
		defer g.calls.Done()
		defer cancel()
		defer c.place.leave()
		g.finish(ctx, c, g.decide(ctx, c))
	}()
	return nil
}

// readCall reads the params of tools/call and resources/read. What is not decided is not
// passed on, since the server could take it for more: another member of the params is refused,
// and the message is made anew of what was read. Of _meta only the token for progress is left:
// the person is not shown it, and anything can be in it.
func readCall(m *message) (c *toolCall, why string) {
	o, err := strictjson.ParseObject(m.params)
	if err != nil {
		return nil, "the params are not an object"
	}
	if c, why = readParams(m, o, true); why == "" {
		why = m.rebuild(c.body + progressOf(o))
	}
	return c, why
}

// readParams reads the members of the params that are decided.
func readParams(m *message, o strictjson.Object, tasks bool) (c *toolCall, why string) {
	c = &toolCall{message: m, method: m.method, input: strictjson.Value("{}")}
	known := []string{"name", "arguments", "_meta"}
	if tasks {
		known = append(known, "task")
	}
	if m.method == methodReadResource {
		known = []string{"uri", "_meta"}
	}
	for _, member := range o {
		if !slices.Contains(known, member.Name) {
			return nil, "the params have a member that the protocol does not have"
		}
	}
	if m.method == methodReadResource {
		uri, _ := o.Get("uri")
		if s, _ := strictjson.ParseString(uri); !hasScheme(s) {
			return nil, "the resource's uri is missing, or has no scheme"
		}
		c.name, c.input = methodReadResource, strictjson.Value(`{"uri":`+string(uri)+`}`)
		c.resource, c.errors = true, true
		c.body = `"uri":` + string(uri)
		return c, ""
	}
	name, _ := o.Get("name")
	if c.name, _ = strictjson.ParseString(name); c.name == "" || len(c.name) > maxID {
		return nil, "the tool's name is missing, or too long"
	}
	if v, ok := o.Get("arguments"); ok {
		if c.input = v; strictjson.Kind(v) != '{' {
			return nil, "the arguments are not an object"
		}
	}
	c.body = `"name":` + string(name)
	if _, ok := o.Get("arguments"); ok {
		c.body += `,"arguments":` + string(c.input)
	}
	if v, ok := o.Get("task"); ok {
		ttl, known := ttlOf(v)
		if !known {
			return nil, "the task is more than its ttl"
		}
		c.body += `,"task":` + ttl
		c.errors = true // the result comes later
	}
	return c, ""
}

// rebuild makes the text of a request anew, with the members of its params.
func (m *message) rebuild(params string) (why string) {
	text, err := oneLine([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%s,"params":{%s}}`, m.id, quote(m.method), params)))
	if err != nil {
		return errNotJSON.Error()
	}
	m.text = text
	return ""
}

// progressOf returns the member of the params with which the client asks for progress, "" if
// it does not.
func progressOf(params strictjson.Object) string {
	meta, _ := params.Get("_meta")
	if strictjson.Kind(meta) != '{' {
		return ""
	}
	token := readID(strictjson.Find(meta, "progressToken"))
	if token == "" {
		return ""
	}
	return `,"_meta":{"progressToken":` + token + `}`
}

// ttlOf reads the member task of a call, which can only say how long the task is kept.
func ttlOf(task strictjson.Value) (text string, ok bool) {
	o, err := strictjson.ParseObject(task)
	switch {
	case err != nil || len(o) > 1:
		return "", false
	case len(o) == 0:
		return "{}", true
	}
	ttl := readID(o[0].Value)
	if o[0].Name != "ttl" || ttl == "" || ttl[0] == '"' {
		return "", false
	}
	return `{"ttl":` + ttl + `}`, true
}

// hasScheme reports whether a URI begins with its scheme. Without one it could be a path to
// the server, but is none to permd.
func hasScheme(uri string) bool {
	scheme, _, ok := strings.Cut(uri, ":")
	return ok && scheme != "" && !strings.ContainsFunc(scheme, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("+-.", c)
	})
}

// outcome is what becomes of a call.
type outcome struct {
	runs  bool
	asked bool   // a person was asked about it
	code  int    // of a protocol error, 0 for a result of the tool
	text  string // for the model, why it does not run
}

// finish sends a call to the server, or its outcome to the client. ctx is that of the
// decision: a call that was withdrawn until now does not run.
func (g *gateway) finish(ctx context.Context, c *toolCall, o outcome) {
	if c.message == nil {
		return // nobody waits for a response
	}
	g.mu.Lock()
	g.deciding--
	g.waiting -= c.size
	switch {
	case g.ended && ctx.Err() != nil:
		o = outcome{code: codeInternal, text: serverEnded}
	case ctx.Err() != nil:
		o = withdrawn
	}
	if o.runs {
		g.fromClient[c.message.id].cancel = nil // the server has it
	} else {
		delete(g.fromClient, c.message.id)
	}
	g.mu.Unlock()
	// An error ends the conversation: there is nobody to tell.
	switch {
	case o.runs:
		_ = g.server.write(c.message.text)
	case o.text == "": // the client has withdrawn it, and expects no response
	case o.code != 0 || c.errors:
		_ = g.client.write(errorText(c.message.id, cmp.Or(o.code, codeInternal), o.text))
	default:
		kind := ""
		if c.meta != nil {
			kind = `"resultType":"complete",`
		}
		text, _ := oneLine([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{%s"content":[{"type":"text","text":%s}],"isError":true}}`, c.message.id, kind, quote(o.text))))
		_ = g.client.write(text)
	}
}

// withdrawn is the outcome of a call that nobody waits for.
var withdrawn outcome

// decide asks permd, and if need be the person.
func (g *gateway) decide(ctx context.Context, c *toolCall) outcome {
	if c.resource {
		for range 3 {
			if o, again := g.decideAs(ctx, c, client.Tool{Name: c.name}); !again {
				return o
			}
		}
		return outcome{text: unsteady}
	}
	// A yes that does not hold any more, as something has changed meanwhile, is asked for again.
	for range 3 {
		digests, err := g.definition(ctx, c.name, c.meta)
		if err != nil {
			return undefined(ctx, err)
		}
		known, err := g.cfg.Pins.Known(c.name)
		if err != nil {
			g.cfg.Say(err.Error())
		}
		o, again := g.decideAs(ctx, c, client.Tool{
			Name: c.name, Version: version(digests),
			Changed: err != nil || len(known) > 0 && !containsAll(known, digests),
		})
		switch {
		case again:
			continue
		case !o.runs:
			return o
		}
		// The server may have said something else of the tool while the person was asked.
		switch now, err := g.definition(ctx, c.name, c.meta); {
		case err != nil:
			return undefined(ctx, err)
		case !slices.Equal(now, digests):
			continue
		}
		// A tool of which it is not known what it was could change without a question.
		switch err := g.cfg.Pins.Set(c.name, known, digests); {
		case errors.Is(err, errMeanwhile):
			continue
		case err != nil && o.asked:
			g.cfg.Say("the tool's definition could not be noted, so you are asked again: " + err.Error())
		case err != nil:
			return outcome{text: "permd: the call was not made, as the tool's definition could not be noted: " + err.Error()}
		}
		return o
	}
	return outcome{text: unsteady}
}

const unsteady = "permd: the call was not made: what it depends on has changed each time since it was decided"

// undefined is the outcome of a call of a tool whose definition is not known.
func undefined(ctx context.Context, err error) outcome {
	switch {
	case ctx.Err() != nil:
		return withdrawn
	case errors.Is(err, errNoTool):
		return outcome{code: codeParams, text: "permd: " + err.Error()}
	}
	return outcome{text: "permd: the call was not made: " + err.Error()}
}

// decideAs decides a call of a tool of the server. It reports again if the answer does not
// hold any more.
func (g *gateway) decideAs(ctx context.Context, c *toolCall, tool client.Tool) (o outcome, again bool) {
	tool.Server, tool.Source = g.cfg.Server, g.cfg.Source
	o, again = g.decideOnce(ctx, c, &client.ToolCall{ID: "1", Tool: tool, Input: c.input})
	if ctx.Err() != nil {
		return withdrawn, false
	}
	return o, again
}

func (g *gateway) decideOnce(ctx context.Context, c *toolCall, call *client.ToolCall) (o outcome, again bool) {
	forms := g.canAsk(c.meta)
	conn, session, err := g.connection(ctx, forms || c.yes != "")
	if err != nil {
		return outcome{text: "permd: the call was not made, as permd cannot be asked: " + err.Error()}, false
	}
	list, err := client.Decide(ctx, conn, session.ID, *call)
	if err != nil {
		return outcome{text: "permd: the call was not made, as permd did not decide it: " + err.Error()}, false
	}
	d := list[0]
	switch d.Verdict {
	case decisions.Allow:
		c.place.wait(ctx)
		if d.By == decisions.ByHuman {
			c.said = g.askedElsewhere(c)
		}
		return outcome{runs: true, asked: d.By == decisions.ByHuman}, false
	case decisions.Deny:
		return outcome{text: denied(d)}, false
	case decisions.Ask:
	}
	params, ok := question(c, d)
	asked := params + call.Tool.Version
	if session.Harness != "" { // questions are answered with permd allow
		if ok && c.meta != nil {
			g.noteElsewhere(c, asked)
		}
		how := "It cannot be allowed from elsewhere"
		if d.Answerable() {
			how = "A person can allow it with: permd allow " + d.ID + " (then call the tool again)"
		}
		return outcome{text: "permd asks a person: " + display.Display(d.Reason) + ". The call was not made. " + how}, false
	}
	if !ok {
		return outcome{text: "permd asks a person: " + display.Display(d.Reason) + ". The call was not made, as its arguments are too long to be shown in a question. A rule or a remembered answer can allow it"}, false
	}
	choice, answered := &client.Choice{DecisionID: d.ID, Verdict: decisions.Allow}, true
	said := c.yes == asked
	c.yes = "" // what changes now is asked about
	switch {
	case said:
	case !forms:
		return outcome{}, true // as other calls are
	default:
		c.place.leave() // a person takes their time
		choice, answered = g.askPerson(ctx, c, params, d)
	}
	switch {
	case ctx.Err() != nil:
		return withdrawn, false
	case !answered:
		return outcome{text: "permd asks a person: " + display.Display(d.Reason) + ". The call was not made, as nobody answered"}, false
	}
	result, err := client.Choose(ctx, conn, choice)
	if rejected, ok := errors.AsType[*client.Error](err); ok && rejected.Code == codeParams && choice.Verdict == decisions.Allow {
		return outcome{}, true
	}
	switch {
	case err != nil:
		return outcome{text: "permd: the call was not made, as the person's answer could not be taken: " + err.Error()}, false
	case choice.Verdict != decisions.Allow:
		return outcome{text: "permd: the person has rejected this call"}, false
	case result.NotStored != "":
		g.cfg.Say("the answer holds once: " + display.Display(result.NotStored))
	}
	c.said = asked
	return outcome{runs: true, asked: true}, false
}

// denied is what the model is told of a deny.
func denied(d *decisions.Decision) string {
	text := "permd denied this call: " + display.Display(d.Reason)
	if d.Message != "" {
		text += ". " + display.Display(d.Message)
	}
	return text
}
