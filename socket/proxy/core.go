package proxy

import (
	"crypto/sha256"
	"errors"
	"slices"
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
	// Require answers a permission request with an error if permd cannot be asked,
	// instead of leaving it to the person.
	Require bool
	// AskGates asks the person about everything that an agent wants its client to do and
	// that has not been allowed.
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

// codeDenied is the error for a denied request that has no answer of its own for that.
const codeDenied = -32001

// core decides what to do with each line. It performs no I/O, and is not safe
// for concurrent use.
type core struct {
	rules Rules
	acts  []action
	last  uint64 // number of the newest slot or question

	version int // of the protocol, 0 while it is not known
	parties [2]effects.Party

	calls            [2]map[string]*call           // requests by a side
	tracked          [2]map[string]*trackedRequest // requests by a side that permd is asked about
	waiting          map[uint64]*trackedRequest    // by the number of the question to permd
	pendingChoices   map[uint64]pendingChoice
	declaring        map[uint64]string // declarations that permd has not answered
	answeredByPermd  [2]recentIDs
	undecided        map[string]int // ids of the agent's requests that are not decided, by how many wait for an answer
	answeredByPerson recentIDs      // ids of the agent's requests that the person has answered
	sessions         sessions
	contents         contents
	chain            chain
	runs             runs
	ownID            string                   // begins the ids of the proxy's own requests
	gateQuestions    map[string]*gateQuestion // questions to the person about gates, by the agent's id
	gateApprovals    map[uint64]gateApproval
	dropped          int                 // number of lines that dropUnreadable has dropped
	runReports       map[uint64]*callRun // calls that ran unprompted, being reported to permd
}

// newCore returns a core for one conversation.
func newCore(rules Rules) *core {
	if rules.LateWait == 0 {
		rules.LateWait = defaultLateWait
	}
	c := &core{
		rules: rules, waiting: map[uint64]*trackedRequest{}, pendingChoices: map[uint64]pendingChoice{}, declaring: map[uint64]string{},
		sessions: sessions{byID: map[string]*session{}}, contents: contents{byCall: map[string]*content{}},
		ownID: ownID(), gateApprovals: map[uint64]gateApproval{}, runReports: map[uint64]*callRun{}, undecided: map[string]int{},
	}
	for s := range c.calls {
		c.calls[s], c.tracked[s] = map[string]*call{}, map[string]*trackedRequest{}
	}
	return c
}

// take returns the actions so far. They are valid until the next line.
func (c *core) take() []action {
	acts := c.acts
	c.acts = c.acts[:0]
	return acts
}

// onLine handles one line of a peer, with its newline if it has one.
func (c *core) onLine(from peerSide, line []byte) []action {
	m, err := read(line)
	return c.line(from, &m, err)
}

// line handles a line that was read, or could not be.
func (c *core) line(from peerSide, m *message, err error) []action {
	switch {
	case err == nil:
		c.receive(from, m)
	case errors.Is(err, errText), from == clientSide && !errors.Is(err, errBatch):
		// Messages of the person's own client reach the agent in any case.
		c.forward(from, m.line)
	case from == agentSide && errors.Is(err, errLoose):
		return c.dropUnreadable(m.line)
	default:
		return c.onUnreadable(from, err)
	}
	return c.take()
}

// receive handles a message that could be read.
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
		// It may have been an update of a call.
		c.runs.incomplete = true
		c.missedUpdates()
	}
}

// fromAgent handles a message of the agent.
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
		c.runs.noteRequest(m)
		c.permission(m)
	case m.method == methodElicit && m.request():
		c.runs.noteRequest(m)
		if approves(m) {
			c.elicitation(m)
		} else {
			c.pass(agentSide, m)
		}
	case isGate(m.method) && m.request():
		c.gate(agentSide, m)
	case isGate(m.method):
		// It has no id to answer, and some clients would act on it nevertheless.
		c.print("the agent wanted " + m.method + " without an answer to it, which was not passed on")
	default:
		c.pass(agentSide, m)
	}
}

// fromClient handles a message of the client.
func (c *core) fromClient(m *message) {
	switch {
	case m.answer():
		if !c.isGateAnswer(m) {
			c.runs.noteAnswer(c.tracked[agentSide][key(m.id)], m)
			c.onPersonAnswer(m)
		}
	case m.method == acp.MethodCancel:
		c.cancelTurn(m)
		c.cancelGateQuestions(text(m.params, "sessionId"))
	case m.method == methodCancelRequest:
		c.cancelRequest(clientSide, m)
	case m.request() && c.switchesMode(m):
		c.note(m)
		c.gate(clientSide, m)
	default:
		if m.request() {
			c.note(m)
		}
		c.pass(clientSide, m)
	}
}

// pass forwards a message that is not decided.
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

// trackUndecided records a request of the agent that is not decided. One with the id of
// a request that is decided is refused: its answer would be taken for that request's.
func (c *core) trackUndecided(m *message, k string) bool {
	switch {
	case c.tracked[agentSide][k] != nil:
		c.reply(agentSide, failure(m.id, socket.CodeRequest, errInUse))
		return false
	case len(c.undecided) >= maxOpen:
		c.reply(agentSide, failure(m.id, socket.CodeBusy, errMany))
		return false
	}
	c.undecided[shortKey(k)]++
	c.answeredByPerson.remove(k)
	return true
}

// untrackUndecided records that such a request has been answered.
func (c *core) untrackUndecided(k string) {
	k = shortKey(k)
	if c.undecided[k]--; c.undecided[k] <= 0 {
		delete(c.undecided, k)
	}
}

// onAnswer handles permd's answer to the question n; err is why there is none.
func (c *core) onAnswer(n uint64, result strictjson.Value, err error) []action {
	if t, ok := c.waiting[n]; ok {
		delete(c.waiting, n)
		c.runs.noteDecision(t, result, err)
		switch {
		case t.gate:
			c.gateDecided(t, result, err)
		case t.approval != nil:
			c.onDecidedAgain(t, result, err)
		default:
			c.onDecided(t, result, err)
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
	} else if id, ok := c.declaring[n]; ok {
		delete(c.declaring, n)
		if rpc, ok := errors.AsType[*client.Error](err); ok {
			c.print("the session " + id + " could not be declared, so its calls are left to you: " + rpc.Message)
		}
	}
	return c.take()
}

// onLate is called when the time of an actWake has passed.
func (c *core) onLate(n uint64) []action {
	for _, t := range c.tracked[agentSide] {
		if t.waitsForInput && t.ask == n {
			t.waitsForInput = false
			c.leaveToPerson(t, t.decision)
			break
		}
	}
	return c.take()
}

// onConnected handles a new connection to permd. again is set if it is not the first:
// the new one has no state of the conversation.
func (c *core) onConnected(again bool) []action {
	for _, s := range c.sessions.list {
		c.declareAgain(s)
	}
	if again {
		for _, t := range c.tracked[agentSide] {
			t.connectionGone = true
		}
		c.tellIncomplete()
	}
	return c.take()
}

// onLost is called when messages for permd had to be dropped.
func (c *core) onLost() []action {
	c.missedUpdates()
	return c.take()
}

// missedUpdates sends updates that permd cannot read, one for each session and one for
// all others: permd then leaves calls to the person unless they are announced from here
// on. A session that is declared for the first time counts as new for permd, whatever
// was lost, so each must be named.
func (c *core) missedUpdates() {
	for _, s := range c.sessions.list {
		c.notify(acp.MethodUpdate, unreadableUpdate(s.id))
	}
	c.notify(acp.MethodUpdate, strictjson.Value(`{}`))
}

func unreadableUpdate(sessionID string) strictjson.Value {
	return object(member("sessionId", sessionID), strictjson.Member{Name: "update", Value: strictjson.Value(`{}`)})
}

// onEnded is called when a peer has ended: nobody waits for answers to its requests, and
// none of them may be carried out unanswered.
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

// recentIDs are the ids of the latest requests of a side that the proxy answered.
type recentIDs struct {
	list []string
	set  map[string]struct{} // the same
}

// shortKey shortens an id for keeping: an agent may choose one as long as a message.
func shortKey(k string) string {
	if len(k) <= sha256.Size {
		return k
	}
	sum := sha256.Sum256([]byte(k))
	return "#" + string(sum[:]) // no other key begins with this
}

func (r *recentIDs) add(k string) {
	r.remove(k)
	if r.set == nil {
		r.set = map[string]struct{}{}
	}
	k = shortKey(k)
	r.list = append(r.list, k)
	r.set[k] = struct{}{}
	if len(r.list) > maxRecent {
		old := r.list[:len(r.list)-maxRecent/2]
		for _, k := range old {
			delete(r.set, k)
		}
		r.list = append(r.list[:0], r.list[len(old):]...)
	}
}

func (r *recentIDs) has(k string) bool {
	if len(r.set) == 0 {
		return false
	}
	_, ok := r.set[shortKey(k)]
	return ok
}

func (r *recentIDs) remove(k string) {
	if !r.has(k) {
		return
	}
	k = shortKey(k)
	delete(r.set, k)
	if i := slices.Index(r.list, k); i >= 0 {
		r.list = slices.Delete(r.list, i, i+1)
	}
}
