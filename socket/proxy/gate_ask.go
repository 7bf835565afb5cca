package proxy

import (
	"crypto/rand"
	"errors"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/client"
)

// If the person has to be asked about a gate, the proxy asks: the client gets a
// permission request instead of the gate's request, under an unguessable id of the
// proxy's own, and its answer is not forwarded. The gate's request follows once the
// person has approved and permd has stored that. Other messages of the agent are not
// held back.

// Bounds of what waits for the person. Above them a gate is rejected.
const (
	maxAsking      = 64
	maxAskingBytes = 64 << 20
	// maxShownContent is how much of a file the person is shown, in bytes of JSON.
	maxShownContent = 64 << 10
)

// The ids of the proxy's own options.
const (
	gateOnce   = "permd-once"
	gateReject = "permd-reject"
)

// gateQuestion is a question of the proxy's own about a gate.
type gateQuestion struct {
	t        *trackedRequest
	id       strictjson.Value  // of the request to the client
	widths   map[string]string // by the ids of their options
	approved bool              // the person has approved
	outdated bool              // the question's connection has ended, so permd may ask differently now
}

// ownID begins the ids of the proxy's own requests in one conversation.
func ownID() string { return "permd-" + rand.Text() + "-" }

// askGate asks the person about a gate.
func (c *core) askGate(t *trackedRequest, why string) {
	if c.cancelled(t.session) {
		c.rejectGate(t, socket.CodeCancelled, "request cancelled")
		return
	}
	size := len(t.line)
	for _, q := range c.gateQuestions {
		size += len(q.t.line)
	}
	if len(c.gateQuestions) >= maxAsking || size > maxAskingBytes {
		c.rejectGate(t, socket.CodeBusy, "permd acp: too many questions wait for an answer")
		return
	}
	c.last++
	id := c.ownID + strconv.FormatUint(c.last, 10)
	q := &gateQuestion{t: t, id: quoted(nil, id), widths: map[string]string{}}
	line := q.line(id, why, c.rules.NoReasons)
	if c.gateQuestions == nil {
		c.gateQuestions = map[string]*gateQuestion{}
	}
	c.gateQuestions[key(t.id)] = q
	if c.chain.open != nil {
		c.chain.open[key(q.id)] = agentSide
	}
	if t.inPlace {
		c.release(t, line)
		return
	}
	c.add(action{Kind: actWrite, To: clientSide, Line: line, Own: true}) // once more
}

// gateQuestionOf returns the question about a gate, nil if there is none.
func (c *core) gateQuestionOf(t *trackedRequest) *gateQuestion {
	if q := c.gateQuestions[key(t.id)]; q != nil && q.t == t {
		return q
	}
	return nil
}

// removeGateQuestion drops the state of a question.
func (c *core) removeGateQuestion(q *gateQuestion) {
	delete(c.gateQuestions, key(q.t.id))
	delete(c.chain.open, key(q.id))
}

// line returns the request to the client.
func (q *gateQuestion) line(id, why string, silent bool) []byte {
	p := q.t.params
	kind, title, from := "edit", "Write ", "path"
	switch q.t.method {
	case methodTerminal:
		kind, title, from = "execute", "", "command"
	case methodRead:
		kind, title = "read", "Read "
	}
	title += text(p, from)
	args, _ := strictjson.ParseArray(strictjson.Find(p, "args"))
	for _, a := range args {
		s, _ := strictjson.ParseString(a)
		title += " " + s
	}
	title = display.Display(title) // shows invisible characters; the input has the exact text
	var input []strictjson.Member
	for _, name := range []string{"command", "args", "env", "cwd", "path"} {
		input = append(input, strictjson.Member{Name: name, Value: strictjson.Find(p, name)})
	}
	var content []strictjson.Value
	if text := strictjson.Find(p, "content"); q.t.method == methodWrite && strictjson.Kind(text) == '"' && len(text) <= maxShownContent {
		content = append(content, object(member("type", "diff"), strictjson.Member{Name: "path", Value: strictjson.Find(p, "path")},
			strictjson.Member{Name: "newText", Value: text}))
	}
	if !silent {
		says := object(member("type", "text"), member("text", why))
		content = append(content, object(member("type", "content"), strictjson.Member{Name: "content", Value: says}))
	}
	call := []strictjson.Member{
		member("toolCallId", id), member("title", title), member("kind", kind), member("status", "pending"),
		{Name: "rawInput", Value: object(input...)}, {Name: "content", Value: array(content)},
	}
	if from == "path" {
		call = append(call, strictjson.Member{Name: "locations", Value: array([]strictjson.Value{object(strictjson.Member{Name: "path", Value: strictjson.Find(p, "path")})})})
	}
	return asLine(member("jsonrpc", "2.0"), strictjson.Member{Name: "id", Value: q.id}, member("method", acp.MethodRequestPermission),
		strictjson.Member{Name: "params", Value: object(
			member("sessionId", q.t.session), strictjson.Member{Name: "toolCall", Value: object(call...)},
			strictjson.Member{Name: "options", Value: q.options()},
		)})
}

// options returns the possible answers of the person.
func (q *gateQuestion) options() strictjson.Value {
	option := func(id, name string, kind acp.OptionKind) strictjson.Value {
		return object(member("optionId", id), member("name", name), member("kind", string(kind)))
	}
	list := []strictjson.Value{option(gateOnce, "Allow once", acp.AllowOnce)}
	if d := q.t.decision; d != nil {
		for _, w := range d.Widths {
			id := widthID + w.ID
			q.widths[id] = w.ID
			list = append(list, option(id, label(w), acp.AllowAlways))
		}
	}
	return array(append(list, option(gateReject, "Reject", acp.RejectOnce)))
}

func array(items []strictjson.Value) strictjson.Value {
	b := []byte{'['}
	for i, v := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}

// isGateAnswer handles an answer of the client to a question of the proxy's own; it
// returns false for other messages.
func (c *core) isGateAnswer(m *message) bool {
	if t := c.tracked[agentSide][key(m.id)]; t != nil && t.gate && !t.inPlace {
		c.print("an answer of the client to a request that it was not sent was not passed on")
		return true
	}
	id, ok := strictjson.ParseString(m.id)
	if !ok || !strings.HasPrefix(id, c.ownID) {
		return false
	}
	for _, q := range c.gateQuestions {
		if key(q.id) == key(m.id) && !q.approved {
			c.onGateAnswer(q, m)
			break
		}
	}
	return true
}

// onGateAnswer handles the person's answer about a gate.
func (c *core) onGateAnswer(q *gateQuestion, m *message) {
	t := q.t
	pick := ""
	if text(m.result, "outcome", "outcome") == outcomeSelected {
		pick = text(m.result, "outcome", "optionId")
	}
	width, always := q.widths[pick]
	if pick != gateOnce && !always {
		d := t.decision
		c.rejectGate(t, codeDenied, "the person declined this")
		switch {
		case d == nil || t.connectionGone:
		case pick == gateReject:
			c.pendingChoices[c.choose(d, client.Choice{Verdict: decisions.Deny})] = pendingChoice{ask: t.ask}
		default:
			c.withdraw(t) // nobody answered
		}
		return
	}
	q.approved = true
	delete(c.chain.open, key(q.id))
	if t.decision == nil || t.connectionGone {
		if always {
			c.printNotRemembered(errRestarted)
		}
		q.outdated = t.decision != nil
		c.judgeGate(t)
		return
	}
	c.gateApprovals[c.choose(t.decision, client.Choice{Verdict: decisions.Allow, Width: width})] = gateApproval{q, always}
}

// gateApproval is a person's approval of a gate that is being reported to permd.
type gateApproval struct {
	*gateQuestion
	always bool
}

// onGateChoiceStored handles permd's answer to a person's approval. If permd does not
// accept it, permd is asked about the gate again: what it denies by now is rejected.
func (c *core) onGateChoiceStored(o gateApproval, result strictjson.Value, err error) {
	c.onChoiceStored(pendingChoice{always: o.always, ask: o.t.ask}, result, err)
	switch {
	case c.gateQuestionOf(o.t) == nil: // it was cancelled meanwhile
	case err != nil:
		var rpc *client.Error
		o.outdated = !errors.As(err, &rpc) || rpc.Code == socket.CodeParams
		c.judgeGate(o.t)
	default:
		c.passGate(o.t)
	}
}

// cancelGateQuestion ends a question about a gate whose answer is no longer needed.
func (c *core) cancelGateQuestion(q *gateQuestion) {
	c.withdraw(q.t)
	if !q.approved {
		c.add(action{Kind: actWrite, To: clientSide, Line: asLine(member("jsonrpc", "2.0"), member("method", methodCancelRequest),
			strictjson.Member{Name: "params", Value: object(strictjson.Member{Name: "requestId", Value: q.id})}), Own: true})
	}
	c.rejectGate(q.t, socket.CodeCancelled, "request cancelled")
}

// gateCancelled handles a $/cancel_request of the agent; false if it is about something
// else.
func (c *core) gateCancelled(m *message) bool {
	q := c.gateQuestions[key(strictjson.Find(m.params, "requestId"))]
	if q == nil {
		return false
	}
	c.cancelGateQuestion(q)
	return true
}

// cancelGateQuestions ends the questions of a session whose turn the client has
// cancelled.
func (c *core) cancelGateQuestions(session string) {
	for _, q := range c.gateQuestions {
		if q.t.session == session {
			c.cancelGateQuestion(q)
		}
	}
}
