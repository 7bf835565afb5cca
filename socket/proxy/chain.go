package proxy

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// In a chain of proxies a conductor starts every component and carries all
// messages, so that one pipe is both the client's and the agent's. What is from
// the agent, or for it, comes in an envelope, a request or notification of its
// own whose parameters are the message:
//
//	{"jsonrpc":"2.0","id":7,"method":"_proxy/successor","params":{"method":"session/prompt","params":{…}}}
//
// What is from the client, or for it, comes as it is, and so does every answer:
// whom it is for is known from the id of its request. All ids on the pipe are
// the conductor's, for permd passes a request on under the id that it came with.
const (
	chainPrefix      = "_proxy/"
	chainPlainPrefix = "proxy/" // as the proposal has it that may become part of ACP
	chainInitialize  = "initialize"
	chainSuccessor   = "successor"
)

// maxOpen is how many requests of a conductor may wait for an answer.
const maxOpen = 1 << 16

// chain is the state of a conversation with a conductor.
type chain struct {
	prefix string              // prefix of the conductor's methods
	open   map[string]peerSide // requests without an answer, by the side that asked
}

var (
	errEnvelope = errors.New("the envelope holds no message that can be read in just one way")
	errNested   = errors.New("what a chain's proxies say to their conductor cannot come from the agent")
	errAlone    = errors.New("permd stands in front of an agent here (acp --proxy), and is the last of the chain; use permd acp -- AGENT")
)

// onConducted handles one line of a conductor, which carries the messages of both sides.
func (c *core) onConducted(line []byte) []action {
	m, err := read(line)
	return c.conductedLine(&m, err)
}

// conductedLine handles a line that was read, or could not be.
func (c *core) conductedLine(m *message, err error) []action {
	switch {
	case errors.Is(err, errText):
		if len(bytes.TrimSpace(m.line)) > 0 {
			c.print("what the conductor said besides messages was not passed on")
		}
	case err != nil:
		return c.onUnreadableConducted(err)
	case m.method == "":
		c.conductedAnswer(m)
	default:
		c.onConductedMessage(m)
	}
	return c.take()
}

// onUnreadableConducted drops a line that cannot be passed on unread. Its sender is not
// known.
func (c *core) onUnreadableConducted(why error) []action {
	c.refuse(agentSide, "the conductor", why)
	return c.take()
}

// conductedAnswer handles an answer to a request that permd has passed on.
func (c *core) conductedAnswer(m *message) {
	k := key(m.id)
	asker, ok := c.chain.open[k]
	if m.id == nil || !ok {
		c.print("an answer of the conductor to a request that it was not sent was not passed on")
		return
	}
	t := c.tracked[asker][k]
	if t == nil || !t.inPlace && t.approval == nil && c.gateQuestions[k] == nil {
		delete(c.chain.open, k) // otherwise the request will only be sent
	}
	c.receive(asker.other(), m)
	if t != nil && t.approval != nil {
		c.chain.open[k] = asker // permd must get the answer first
	}
}

// onConductedMessage handles a request or notification.
func (c *core) onConductedMessage(m *message) {
	from, err := c.chain.unwrap(m)
	switch {
	case err != nil:
		c.refuseRequest(from, m, err)
		if from == agentSide {
			c.runs.incomplete = true // it may have been an update of a call
			c.missedUpdates()
		}
		return
	case m.method == methodCancelRequest && m.id == nil:
		// It names one of the conductor's ids, whichever way it comes.
		asker, ok := c.chain.open[key(strictjson.Find(m.params, "requestId"))]
		if !ok {
			return // that has been answered
		}
		from = asker
	case m.request():
		k := key(m.id)
		if _, ok := c.chain.open[k]; ok {
			c.refuseRequest(from, m, errors.New("the id is that of a request that is not answered yet"))
			return
		}
		if len(c.chain.open) >= maxOpen {
			c.refuseRequest(from, m, errors.New("too many requests at once"))
			return
		}
		if c.chain.open == nil {
			c.chain.open = map[string]peerSide{}
		}
		c.chain.open[k] = from
	}
	if from == agentSide {
		m.line = m.withoutEnvelope()
	} else {
		m.line = m.withEnvelope(c.chain.successor())
	}
	c.receive(from, m)
}

// refuseRequest answers a message that is not passed on.
func (c *core) refuseRequest(from peerSide, m *message, why error) {
	if m.id != nil {
		c.add(action{Kind: actWrite, To: from, Line: failure(m.id, socket.CodeRequest, "permd acp: "+why.Error()), Own: true})
	}
	c.print("a message of the conductor was not passed on: " + why.Error())
}

// onReply records that permd has answered a request.
func (h *chain) onReply(answer []byte) {
	if len(h.open) > 0 {
		delete(h.open, key(strictjson.Find(answer, "id")))
	}
}

// successor returns the method of the envelope.
func (h *chain) successor() string {
	return cmp.Or(h.prefix, chainPrefix) + chainSuccessor
}

// unwrap returns the sender of a message, and reduces it to the sender's part.
func (h *chain) unwrap(m *message) (peerSide, error) {
	prefix, name := chainMethod(m.method)
	switch {
	case name == chainSuccessor:
		h.prefix = cmp.Or(h.prefix, prefix)
		return agentSide, m.unwrapParams()
	case name == chainInitialize && m.id != nil:
		h.prefix, m.method = prefix, methodInitialize
		for i := range m.object {
			if m.object[i].Name == "method" {
				m.object[i] = member("method", m.method)
			}
		}
		return clientSide, nil
	case name == chainInitialize:
		return clientSide, errAmbiguous
	case m.method == methodInitialize:
		return clientSide, errAlone // the receiver of this one has no successor
	}
	return clientSide, nil
}

// chainMethod splits a method of the chains' own; "" for others.
func chainMethod(method string) (prefix, name string) {
	for _, prefix := range []string{chainPrefix, chainPlainPrefix} {
		if name, ok := strings.CutPrefix(method, prefix); ok {
			return prefix, name
		}
	}
	return "", ""
}

// unwrapParams replaces a message by the one in its envelope.
func (m *message) unwrapParams() error {
	inner, err := strictjson.ParseObject(m.params)
	if err != nil || inner.NearMiss("jsonrpc", "id", "method", "params", "result", "error", "message") != "" {
		return errEnvelope
	}
	m.method, m.params, m.object = "", nil, inner
	for _, member := range inner {
		switch member.Name {
		case "method":
			m.method, _ = strictjson.ParseString(member.Value)
		case "params":
			m.params = member.Value
		case "jsonrpc", "id", "result", "error", "message":
			// The last is the envelope's earlier form: another reader may find another
			// message in it.
			return errEnvelope
		}
	}
	if m.method == "" {
		return errEnvelope
	}
	if prefix, _ := chainMethod(m.method); prefix != "" {
		// Without its envelope it would be taken for permd's own.
		return errNested
	}
	return nil
}

// members returns the members of a message that belong to it and not to the pipe.
func (m *message) members() strictjson.Object {
	return slices.DeleteFunc(slices.Clone(m.object), func(member strictjson.Member) bool {
		return member.Name == "jsonrpc" || member.Name == "id"
	})
}

// withoutEnvelope returns the message without its envelope. Members other than its
// method and parameters are kept.
func (m *message) withoutEnvelope() []byte {
	list := m.members()
	list = slices.DeleteFunc(list, func(member strictjson.Member) bool {
		return member.Name == "params" && strictjson.Kind(member.Value) == 'n' // see wrapped
	})
	return asLine(append(strictjson.Object{member("jsonrpc", "2.0"), {Name: "id", Value: m.id}}, list...)...)
}

// withEnvelope returns the message in an envelope. If it has no parameters they are
// null: that is how conductors write it, and some require the member.
func (m *message) withEnvelope(method string) []byte {
	list := m.members()
	if m.params == nil {
		list = append(list, strictjson.Member{Name: "params", Value: strictjson.Value("null")})
	}
	open := object(member("jsonrpc", "2.0"), strictjson.Member{Name: "id", Value: m.id}, member("method", method))
	const params, end = `,"params":`, "}\n"
	b := make([]byte, 0, len(open)+len(params)+size(list)+len(end))
	b = append(append(b, open[:len(open)-1]...), params...)
	return append(appendObject(b, list), end...)
}
