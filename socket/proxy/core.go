package proxy

import (
	"crypto/sha256"
	"errors"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/client"
)

// Rules configure a core.
type Rules struct {
	// Plain returns the id of the option by which an agent is allowed just one
	// call, where it offers several of that kind; nil for none.
	Plain func(agent effects.Party) string
	// NoReasons leaves the reason for asking out of what the person sees.
	NoReasons bool
	// Require answers a permission request that permd cannot be asked about
	// with an error, in place of leaving it to the person.
	Require bool
	// AskGates has the person asked of all that an agent would have its client
	// do and that nobody has allowed.
	AskGates bool
	// LateWait is how long a request waits for an input that its agent sends
	// late; 0 is 150 ms.
	LateWait time.Duration
}

// defaultLateWait is a compromise: agents that send the input late do so within
// a few milliseconds, and a person notices a tenth of a second.
const defaultLateWait = 150 * time.Millisecond

// Bounds of what a core keeps.
const (
	maxSessions     = 512
	maxCalls        = 1024    // requests that wait for an answer, of each side
	maxRecent       = 1024    // ids of requests that permd has answered
	maxNotification = 4 << 20 // bytes of a message to permd, a little less than it takes
	spare           = 64 << 10
)

// codeDenied is the error for a request that permd denies and that has no
// answer of its own for that.
const codeDenied = -32001

// core decides what to do with each line. It performs no I/O, and is not safe
// for concurrent use.
type core struct {
	rules Rules
	acts  []action
	last  uint64 // number of the newest slot or question

	version int // of the protocol, 0 while it is not known
	parties [2]effects.Party

	calls            [2]map[string]*call           // what a side asked of the other
	tracked          [2]map[string]*trackedRequest // what a side asked that permd is asked about
	waiting          map[uint64]*trackedRequest    // by the number of the question to permd
	pendingChoices   map[uint64]pendingChoice
	opening          map[uint64]string // declarations on their way
	answeredByPermd  [2]recent
	undecided        map[string]int // ids of the agent's requests that nothing is decided of and that wait for an answer
	answeredByPerson recent         // ids of the agent's requests whose answer of the person was passed on
	sessions         sessions
	contents         contents
	chain            chain
	runs             runs
	ownID            string                   // begins the ids of the proxy's own requests
	gateQuestions    map[string]*gateQuestion // what the person is asked of gates, by the agent's id
	gateApprovals    map[uint64]gateApproval
	dropped          int                 // lines of the agent that loose has dropped
	runReports       map[uint64]*callRun // calls that ran unasked, on their way to permd
}

// newCore returns a core for one conversation.
func newCore(rules Rules) *core {
	if rules.LateWait == 0 {
		rules.LateWait = defaultLateWait
	}
	c := &core{
		rules: rules, waiting: map[uint64]*trackedRequest{}, pendingChoices: map[uint64]pendingChoice{}, opening: map[uint64]string{},
		sessions: sessions{byID: map[string]*session{}}, contents: contents{byCall: map[string]*content{}},
		ownID: ownID(), gateApprovals: map[uint64]gateApproval{}, runReports: map[uint64]*callRun{}, undecided: map[string]int{},
	}
	for s := range c.calls {
		c.calls[s], c.tracked[s] = map[string]*call{}, map[string]*trackedRequest{}
	}
	return c
}

// take returns the acts so far. They are valid until the next line.
func (c *core) take() []action {
	acts := c.acts
	c.acts = c.acts[:0]
	return acts
}

// onLine takes one line of a peer, with its newline if it has one.
func (c *core) onLine(from peerSide, line []byte) []action {
	m, err := read(line)
	return c.line(from, &m, err)
}

// line takes a line that was read, or could not be.
func (c *core) line(from peerSide, m *message, err error) []action {
	switch {
	case err == nil:
		c.receive(from, m)
	case errors.Is(err, errText), from == clientSide && !errors.Is(err, errBatch):
		// What the person's own client says reaches the agent in any case.
		c.forward(from, m.line)
	case from == agentSide && errors.Is(err, errLoose):
		return c.dropUnreadable(m.line)
	default:
		return c.onUnreadable(from, err)
	}
	return c.take()
}

// receive takes a message that could be read.
func (c *core) receive(from peerSide, m *message) {
	if from == clientSide {
		c.fromClient(m)
	} else {
		c.fromAgent(m)
	}
}

// onUnreadable drops a line that cannot be passed on unread.
func (c *core) onUnreadable(from peerSide, why error) []action {
	c.refuse(from, "the "+from.String(), why)
	return c.take()
}

func (c *core) refuse(from peerSide, who string, why error) {
	code := socket.CodeRequest
	if !errors.Is(why, errBatch) && !errors.Is(why, errAmbiguous) && !errors.Is(why, errLoose) && !errors.Is(why, errLong) {
		code = socket.CodeParse
	}
	c.add(action{Kind: actWrite, To: from, Line: failure(nil, code, "permd acp: "+why.Error()), Own: true})
	c.print("a message of " + who + " was not passed on: " + why.Error())
	if from == agentSide {
		// It may have said something of a call.
		c.runs.forgot = true
		c.lost()
	}
}

// fromAgent takes a message of the agent.
func (c *core) fromAgent(m *message) {
	if m.method != "" {
		if err := checkMethod(m.method); err != nil {
			c.refuseMethod(m, err)
			return
		}
	}
	switch {
	case m.answer():
		c.answerOf(clientSide, m)
		c.forward(agentSide, m.line)
	case m.method == acp.MethodUpdate:
		c.forward(agentSide, m.line)
		c.observe(m)
	case m.method == methodCancelRequest:
		if !c.gateCancelled(m) {
			c.cancelRequest(agentSide, m)
		}
	case m.method == acp.MethodRequestPermission && m.request():
		c.runs.asks(m)
		c.permission(m)
	case m.method == methodElicit && m.request():
		c.runs.asks(m)
		if approves(m) {
			c.elicitation(m)
		} else {
			c.pass(agentSide, m)
		}
	case isGate(m.method) && m.request():
		c.gate(agentSide, m)
	case isGate(m.method):
		// It has no id to answer under, and some clients would do it all the same.
		c.print("the agent wanted " + m.method + " without an answer to it, which was not passed on")
	default:
		c.pass(agentSide, m)
	}
}

// fromClient takes a message of the client.
func (c *core) fromClient(m *message) {
	switch {
	case m.answer():
		if !c.isGateAnswer(m) {
			c.runs.answered(c.tracked[agentSide][key(m.id)], m)
			c.onPersonAnswer(m)
		}
	case m.method == acp.MethodCancel:
		c.cancelTurn(m)
		c.cancelGateQuestions(text(m.params, "sessionId"))
	case m.method == methodCancelRequest:
		c.cancelRequest(clientSide, m)
	case m.request() && c.switches(m):
		c.note(m)
		c.gate(clientSide, m)
	default:
		if m.request() {
			c.note(m)
		}
		c.pass(clientSide, m)
	}
}

// pass forwards a message that nothing is decided of.
func (c *core) pass(from peerSide, m *message) {
	if m.request() {
		k := key(m.id)
		if from == agentSide && !c.trackUndecided(m, k) {
			return
		}
		c.answeredByPermd[from].remove(k)
	}
	c.forward(from, m.line)
}

// trackUndecided notes a request of the agent that nothing is decided of. One with the id
// of a request that is decided is refused: its answer would be taken for a word on
// that.
func (c *core) trackUndecided(m *message, k string) bool {
	switch {
	case c.tracked[agentSide][k] != nil:
		c.reply(agentSide, failure(m.id, socket.CodeRequest, errInUse))
		return false
	case len(c.undecided) >= maxOpen:
		c.reply(agentSide, failure(m.id, socket.CodeBusy, errMany))
		return false
	}
	c.undecided[short(k)]++
	c.answeredByPerson.remove(k)
	return true
}

// untrackUndecided notes that such a request has its answer.
func (c *core) untrackUndecided(k string) {
	k = short(k)
	if c.undecided[k]--; c.undecided[k] <= 0 {
		delete(c.undecided, k)
	}
}

// onAnswer takes permd's answer to the question n; err is why there is none.
func (c *core) onAnswer(n uint64, result strictjson.Value, err error) []action {
	if t, ok := c.waiting[n]; ok {
		delete(c.waiting, n)
		c.runs.decided(t, result, err)
		switch {
		case t.gate:
			c.gateDecided(t, result, err)
		case t.approval != nil:
			c.onDecidedAgain(t, result, err)
		default:
			c.decided(t, result, err)
		}
	} else if s, ok := c.pendingChoices[n]; ok {
		delete(c.pendingChoices, n)
		c.onChoiceStored(s, result, err)
	} else if o, ok := c.gateApprovals[n]; ok {
		delete(c.gateApprovals, n)
		c.onGateChoiceStored(o, result, err)
	} else if r, ok := c.runReports[n]; ok {
		delete(c.runReports, n)
		c.onRecorded(r, result, err)
	} else if id, ok := c.opening[n]; ok {
		delete(c.opening, n)
		if rpc, ok := errors.AsType[*client.Error](err); ok {
			c.print("the session " + id + " could not be declared, so its calls are left to you: " + rpc.Message)
		}
	}
	return c.take()
}

// onLate says that the time of a Wake is over.
func (c *core) onLate(n uint64) []action {
	for _, t := range c.tracked[agentSide] {
		if t.late && t.ask == n {
			t.late = false
			c.toPerson(t, t.decision)
			break
		}
	}
	return c.take()
}

// onConnected reports a new connection to permd. again means that it is not the
// first, so that permd knows nothing of the conversation.
func (c *core) onConnected(again bool) []action {
	for _, s := range c.sessions.list {
		c.declareAgain(s)
	}
	if again {
		for _, t := range c.tracked[agentSide] {
			t.stale = true
		}
		c.tellIncomplete()
	}
	return c.take()
}

// onLost says that permd was not sent all that it should have been.
func (c *core) onLost() []action {
	c.lost()
	return c.take()
}

// lost sends updates that permd cannot read, one for each session and one for
// all others: it then leaves calls to the person that it was not told the
// announcement of from here on. A session that is declared for the first time
// counts as new for permd, whatever was lost, so each must be named.
func (c *core) lost() {
	for _, s := range c.sessions.list {
		c.notify(acp.MethodUpdate, unread(s.id))
	}
	c.notify(acp.MethodUpdate, strictjson.Value(`{}`))
}

func unread(sessionID string) strictjson.Value {
	return object(member("sessionId", sessionID), strictjson.Member{Name: "update", Value: strictjson.Value(`{}`)})
}

// onEnded says that a peer has ended: nobody waits for the answers to what it
// asked, and what it wanted done must not be done without one.
func (c *core) onEnded(from peerSide) []action {
	for k, t := range c.tracked[from] {
		if t.inPlace {
			c.add(action{Kind: actFill, To: from.other(), Place: t.slot})
			delete(c.tracked[from], k)
			delete(c.waiting, t.ask)
		} else if t.approval != nil {
			c.finishApproval(t, nil)
		}
	}
	return c.take()
}

// recent are the ids of the last requests that a side got its answer to from
// the proxy.
type recent struct{ list []string }

// short keeps an id from holding on to more than its length is worth: an agent
// may choose them as long as a message.
func short(k string) string {
	if len(k) <= sha256.Size {
		return k
	}
	sum := sha256.Sum256([]byte(k))
	return "#" + string(sum[:]) // no id begins so
}

func (r *recent) add(k string) {
	r.remove(k)
	r.list = append(r.list, short(k))
	if len(r.list) > maxRecent {
		r.list = append(r.list[:0], r.list[len(r.list)-maxRecent/2:]...)
	}
}

func (r *recent) has(k string) bool {
	if len(r.list) == 0 {
		return false
	}
	k = short(k)
	for _, have := range r.list {
		if have == k {
			return true
		}
	}
	return false
}

func (r *recent) remove(k string) {
	if len(r.list) == 0 {
		return
	}
	k = short(k)
	for i, have := range r.list {
		if have == k {
			r.list = append(r.list[:i], r.list[i+1:]...)
			return
		}
	}
}
