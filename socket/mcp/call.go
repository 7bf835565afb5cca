package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// toolCall is a call that waits for its decision.
type toolCall struct {
	message *message
	name    string
	input   strictjson.Value
	task    bool // the client wants the result later
}

// startCall begins to decide a call.
func (g *gateway) startCall(ctx context.Context, m *message) error {
	c, why := readCall(m)
	if why != "" {
		return g.refuse(m.id, codeParams, why)
	}
	ctx, cancel := context.WithCancel(ctx)
	if why := g.track(m, cancel); why != "" {
		cancel()
		return g.refuse(m.id, codeInvalid, why)
	}
	g.calls.Go(func() {
		defer cancel()
		g.finish(ctx, c, g.decide(ctx, c))
	})
	return nil
}

// readCall reads the params of tools/call.
func readCall(m *message) (c *toolCall, why string) {
	o, err := strictjson.ParseObject(m.params)
	if err != nil || strictjson.Kind(m.params) != '{' {
		return nil, "the params are not an object"
	}
	if name := o.NearMiss("name", "arguments", "task", "_meta"); name != "" {
		return nil, "a member of the params is spelled almost as one that is known"
	}
	c = &toolCall{message: m, input: strictjson.Value("{}")}
	v, _ := o.Get("name")
	if c.name, _ = strictjson.ParseString(v); c.name == "" || len(c.name) > maxID {
		return nil, "the tool's name is missing, or too long"
	}
	if v, ok := o.Get("arguments"); ok {
		if c.input = v; strictjson.Kind(v) != '{' {
			return nil, "the arguments are not an object"
		}
	}
	_, c.task = o.Get("task")
	return c, ""
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
	g.mu.Lock()
	g.deciding--
	if ctx.Err() != nil {
		o = withdrawn
	}
	if o.runs {
		g.fromClient[c.message.id].cancel = nil // the server has it
	} else {
		delete(g.fromClient, c.message.id)
	}
	g.mu.Unlock()
	var err error
	switch {
	case o.runs:
		err = g.server.write(c.message.text)
	case o.text == "": // the client has withdrawn it, and expects no response
	case o.code != 0 || c.task:
		code := o.code
		if code == 0 {
			code = codeInternal
		}
		err = g.client.write(errorText(c.message.id, code, o.text))
	default:
		text, _ := oneLine([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}],"isError":true}}`, c.message.id, quote(o.text))))
		err = g.client.write(text)
	}
	if err != nil {
		g.cfg.Say("a message could not be passed on: " + err.Error())
	}
}

// withdrawn is the outcome of a call that nobody waits for.
var withdrawn outcome

// decide asks permd, and if need be the person.
func (g *gateway) decide(ctx context.Context, c *toolCall) outcome {
	// A yes that does not hold any more, as something has changed meanwhile, is asked for again.
	for range 3 {
		digest, err := g.definition(ctx, c.name)
		if err != nil {
			return undefined(ctx, err)
		}
		o, again := g.decideAs(ctx, c, digest)
		switch {
		case again:
			continue
		case !o.runs:
			return o
		}
		// The server may have said something else of the tool while the person was asked.
		switch now, err := g.definition(ctx, c.name); {
		case err != nil:
			return undefined(ctx, err)
		case now != digest:
			continue
		}
		// A tool of which it is not known what it was could change without a question.
		if err := g.cfg.Pins.Set(c.name, digest); err != nil && o.asked {
			g.cfg.Say("the tool's definition could not be noted, so you are asked again: " + err.Error())
		} else if err != nil {
			return outcome{text: "permd: the call was not made, as the tool's definition could not be noted: " + err.Error()}
		}
		return o
	}
	return outcome{text: "permd: the call was not made: what it depends on has changed each time since it was decided"}
}

// undefined is the outcome of a call of a tool whose definition is not known.
func undefined(ctx context.Context, err error) outcome {
	switch {
	case ctx.Err() != nil:
		return withdrawn
	case errors.Is(err, errNoTool):
		return outcome{code: codeParams, text: "permd: the server lists no tool of this name"}
	}
	return outcome{text: "permd: the call was not made: " + err.Error()}
}

// decideAs decides a call of a tool with that definition. It reports again if the answer
// does not hold any more.
func (g *gateway) decideAs(ctx context.Context, c *toolCall, digest string) (o outcome, again bool) {
	known, err := g.cfg.Pins.Known(c.name)
	if err != nil {
		g.cfg.Say(err.Error())
	}
	call := client.ToolCall{
		ID: "1",
		Tool: client.Tool{
			Name: c.name, Server: g.cfg.Server, Source: g.cfg.Source, Version: "sha256-" + digest,
			Changed: err != nil || known != "" && known != digest,
		},
		Input: c.input,
	}
	o, again = g.decideOnce(ctx, c, &call)
	if ctx.Err() != nil {
		return withdrawn, false
	}
	return o, again
}

func (g *gateway) decideOnce(ctx context.Context, c *toolCall, call *client.ToolCall) (o outcome, again bool) {
	conn, err := g.daemon.connection(ctx)
	if err != nil {
		return outcome{text: "permd: the call was not made, as permd cannot be asked: " + err.Error()}, false
	}
	list, err := client.Decide(ctx, conn.client, g.id, *call)
	if err != nil {
		return outcome{text: "permd: the call was not made, as permd did not decide it: " + err.Error()}, false
	}
	d := list[0]
	switch d.Verdict {
	case decisions.Allow:
		return outcome{runs: true, asked: d.By == decisions.ByHuman}, false
	case decisions.Deny:
		return outcome{text: denied(d)}, false
	case decisions.Ask:
	}
	if conn.harness {
		return outcome{text: "permd asks a person: " + display.Display(d.Reason) + ". The call was not made. A person can allow it with: permd allow " + d.ID + " (then call the tool again)"}, false
	}
	choice, answered := g.askPerson(ctx, c, d)
	switch {
	case ctx.Err() != nil:
		return withdrawn, false
	case !answered:
		return outcome{text: "permd asks a person: " + display.Display(d.Reason) + ". The call was not made, as nobody answered"}, false
	}
	result, err := client.Choose(ctx, conn.client, choice)
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

// askPerson asks the person through the client. It reports false if they gave no answer.
func (g *gateway) askPerson(ctx context.Context, c *toolCall, d *decisions.Decision) (*client.Choice, bool) {
	ctx, cancel := context.WithTimeout(ctx, personTimeout)
	defer cancel()
	m, err := g.ask(ctx, &g.client, methodElicit, question(c, d))
	if err != nil {
		return nil, false
	}
	action, _ := strictjson.ParseString(strictjson.Find(m.result, "action"))
	choice := &client.Choice{DecisionID: d.ID, Verdict: decisions.Deny}
	switch action {
	case "decline":
		return choice, true
	case "accept":
	default:
		return nil, false
	}
	answer, _ := strictjson.ParseString(strictjson.Find(m.result, "content", "answer"))
	switch answer {
	case answerReject:
		return choice, true
	case answerOnce:
		choice.Verdict = decisions.Allow
		return choice, true
	}
	for _, w := range offered(d) {
		if w.ID == answer {
			choice.Verdict, choice.Width = decisions.Allow, w.ID
			return choice, true
		}
	}
	return nil, false
}

const (
	answerOnce   = "once"
	answerReject = "reject"
)

// offered are the widths that a yes can be remembered with. One without a scope is for
// a call outside of any project, where permd allow says for whom.
func offered(d *decisions.Decision) (list []decisions.Width) {
	for _, w := range d.Widths {
		if w.Scope != "" {
			list = append(list, w)
		}
	}
	return list
}

// inScope says where a width would hold, unless its words do.
func inScope(w decisions.Width) string {
	switch {
	case strings.Contains(w.Label, w.Scope):
		return ""
	case w.Scope == "user":
		return " (everywhere)"
	}
	return " (in this " + strings.TrimSuffix(w.Scope, "+children") + ")"
}

// question returns the params of the question to the person.
func question(c *toolCall, d *decisions.Decision) string {
	var b strings.Builder
	b.WriteString("permd asks: " + display.Display(d.Reason))
	for i := range d.Effects {
		b.WriteString("\n" + display.Display(d.Effects[i].Text))
	}
	b.WriteString("\narguments: " + display.Display(string(c.input)))
	for _, f := range d.Defects {
		b.WriteString("\n" + display.Display(f.Text))
	}
	if d.NotRemembered != "" {
		b.WriteString("\nonly once, not remembered: " + display.Display(d.NotRemembered))
	}
	ids, names := []string{quote(answerOnce)}, []string{quote("Allow once")}
	for _, w := range offered(d) {
		ids = append(ids, quote(w.ID))
		names = append(names, quote("Always: "+display.Display(w.Label)+inScope(w)))
	}
	ids, names = append(ids, quote(answerReject)), append(names, quote("Reject"))
	return `{"message":` + quote(b.String()) + `,"requestedSchema":{"type":"object","properties":{"answer":{"type":"string","title":"May this call run?","enum":[` +
		strings.Join(ids, ",") + `],"enumNames":[` + strings.Join(names, ",") + `]}},"required":["answer"]}}`
}

// daemon is the connection to permd. It is made when it is needed, again if it has
// ended.
type daemon struct {
	dial    func(context.Context) (*client.Client, error)
	declare func() *client.Session

	mu   sync.Mutex
	conn *connection
}

// connection is a connection on which the session was declared.
type connection struct {
	client  *client.Client
	harness bool // questions are answered with permd allow
}

func (d *daemon) connection(ctx context.Context) (*connection, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn != nil {
		select {
		case <-d.conn.client.Done():
			d.conn = nil
		default:
			return d.conn, nil
		}
	}
	c, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	s := d.declare()
	if _, err := client.DeclareSession(ctx, c, s); err != nil {
		c.Close()
		return nil, err
	}
	d.conn = &connection{c, s.Harness != ""}
	return d.conn, nil
}

func (d *daemon) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn != nil {
		d.conn.client.Close()
	}
}
