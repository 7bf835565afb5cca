package proxy

import (
	"cmp"
	"errors"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/client"
)

// Gates: requests by which an agent has its client do something. They pass through the
// proxy whether permission was requested or not.
const (
	methodTerminal = "terminal/create"
	methodWrite    = "fs/write_text_file"
	methodRead     = "fs/read_text_file"
)

func isGate(method string) bool {
	return method == methodTerminal || method == methodWrite || method == methodRead
}

// switchesMode reports whether a request of the client switches the agent's mode.
func (c *core) switchesMode(m *message) bool {
	switch m.method {
	case methodSetMode:
		return true
	case methodSetOption:
		id := text(m.params, "configId")
		s := c.sessions.byID[text(m.params, "sessionId")]
		return id == "mode" || id == "allow_all" || s != nil && slices.Contains(s.modes, id)
	}
	return false
}

// gateMembers are the members of the gates' parameters, gateFacts those that are sent to
// permd: without the contents of files.
var (
	gateMembers = []string{
		"sessionId", "command", "args", "env", "cwd", "outputByteLimit", "path", "content", "line", "limit", "modeId", "configId", "value", "_meta",
	}
	gateFacts = []string{"command", "args", "env", "cwd", "path", "modeId", "configId", "value"}
)

// gate asks permd whether a request may pass. The person is normally asked by the
// agent's own permission request, so a gate is stopped only by a deny, by a rule that
// asks or, with AskGates, by the lack of an allow. The person is never asked about their
// own switch of mode.
func (c *core) gate(from peerSide, m *message) {
	o, err := strictjson.ParseObject(m.params)
	if err != nil || o.NearMiss(gateMembers...) != "" {
		c.reply(from, failure(m.id, socket.CodeParams, "permd acp: the parameters can be read in more than one way"))
		delete(c.calls[from], key(m.id))
		return
	}
	session := text(m.params, "sessionId")
	if session == "" || !hasSubject(m) {
		if from == clientSide {
			c.pass(from, m) // the agent handles that
			return
		}
		// The protocol wants them there, but some clients do without.
		c.reply(from, failure(m.id, socket.CodeParams, "permd acp: the parameters do not say what is to be done"))
		return
	}
	if !c.checkID(from, m) {
		return
	}
	t := &trackedRequest{from: from, id: m.id, line: m.line, params: m.params, session: session, gate: true}
	facts := slices.DeleteFunc(o, func(x strictjson.Member) bool { return !slices.Contains(gateFacts, x.Name) })
	params := []strictjson.Member{
		member("sessionId", session), member("method", m.method), {Name: "params", Value: object(facts...)},
	}
	if c.rules.AskGates && from == agentSide {
		params = append(params, strictjson.Member{Name: "ask", Value: strictjson.Value("true")})
	}
	t.method, t.asked = m.method, object(params...)
	c.declareUnknown(session)
	c.delay(t)
	c.judgeGate(t)
}

func (c *core) judgeGate(t *trackedRequest) {
	if len(t.asked) > maxNotification-spare {
		c.gateDecided(t, nil, errLargeGate)
		return
	}
	t.ask = c.ask(acp.MethodGate, t.asked, false)
	c.waiting[t.ask] = t
}

var errLargeGate = &client.Error{Code: socket.CodeParams, Message: "it is longer than permd reads"}

// hasSubject reports whether a request says what it is about.
func hasSubject(m *message) bool {
	name := "path"
	switch m.method {
	case methodTerminal:
		name = "command"
	case methodSetMode, methodSetOption:
		return true
	}
	return strictjson.Kind(strictjson.Find(m.params, name)) == '"'
}

// gateDecided handles permd's answer to that.
func (c *core) gateDecided(t *trackedRequest, result strictjson.Value, err error) {
	var rpc *client.Error
	q := c.gateQuestionOf(t)
	switch {
	case err == nil && string(strictjson.Find(result, "passes")) == "true":
		c.passGate(t)
	case err == nil:
		d := strictjson.Find(result, "decision")
		c.rejectGate(t, codeDenied, "permd denies this: "+cmp.Or(text(d, "message"), text(d, "reason"), "permd denies it"))
	case !errors.As(err, &rpc) && c.rules.Require:
		c.rejectGate(t, socket.CodeInternal, "permd acp: "+client.ErrUnreachable.Error())
	case t.from == clientSide && errors.As(err, &rpc):
		// Nobody can be asked: it is the person's own request. But a rule that denies it
		// may be among those that could not be read.
		c.rejectGate(t, socket.CodeInternal, "permd could not decide this: "+rpc.Message)
	case t.from == clientSide:
		c.passGate(t)
	case q != nil && q.outdated && errors.As(err, &rpc):
		// The person has approved another question.
		if t.timesAsked++; t.timesAsked > maxAgain {
			c.rejectGate(t, socket.CodeBusy, "permd acp: what this would do has changed again and again while the person was asked")
			return
		}
		c.removeGateQuestion(q)
		c.leaveGateToPerson(t, rpc)
	case q != nil && errors.As(err, &rpc) && rpc.Code == socket.CodeAsk:
		// The person has approved it already, and this is the same question.
		c.passGate(t)
		if d := question(rpc); d != nil {
			c.pendingChoices[c.choose(d, client.Choice{Verdict: decisions.Allow})] = pendingChoice{ask: t.ask}
		}
	case q != nil:
		c.passGate(t)
	case errors.As(err, &rpc):
		c.leaveGateToPerson(t, rpc)
	case c.rules.AskGates, errors.Is(err, errSlow), errors.Is(err, errFull), errors.Is(err, errOther):
		c.askGate(t, "permd cannot be asked: "+err.Error())
	default:
		c.passGate(t)
	}
}

// leaveGateToPerson asks the person what permd left to them.
func (c *core) leaveGateToPerson(t *trackedRequest, rpc *client.Error) {
	t.connectionGone = false
	t.decision = question(rpc)
	why := "permd could not decide this: " + rpc.Message
	if t.decision != nil {
		why = "permd asks: " + t.decision.Reason
	}
	c.askGate(t, why)
}

// passGate lets a gate's request pass.
func (c *core) passGate(t *trackedRequest) {
	if q := c.gateQuestionOf(t); q != nil {
		c.removeGateQuestion(q)
		c.drop(t)
		c.add(action{Kind: actWrite, To: t.from.other(), Line: t.line})
		return
	}
	c.release(t, t.line)
	c.drop(t)
}

// rejectGate answers a gate's request in place of the other side.
func (c *core) rejectGate(t *trackedRequest, code int, why string) {
	delete(c.calls[t.from], key(t.id))
	line := failure(t.id, code, why)
	if q := c.gateQuestionOf(t); q != nil {
		c.removeGateQuestion(q)
		c.drop(t)
		c.answeredByPermd[t.from].add(key(t.id))
		c.reply(t.from, line)
		return
	}
	c.finish(t, line)
}
