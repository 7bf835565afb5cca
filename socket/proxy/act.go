package proxy

import (
	"time"

	"github.com/permd/permd/internal/strictjson"
)

// actionKind is an action does.
type actionKind int

// The kinds of acts.
const (
	// actWrite sends Line to the peer To. Own says that it is the proxy's word and
	// not forwarded.
	actWrite actionKind = iota
	// actReserve keeps a place, named Slot, in what is sent to To: what is written
	// after it waits, so that nothing is reordered while permd decides.
	actReserve
	// actFill puts Line in the place Slot, or nothing, and lets what waits go on.
	actFill
	// actAsk calls Method of permd, with an answer that goes to core.onAnswer under
	// the number N. With Wait, nothing else is said to permd before it came.
	actAsk
	// actTell sends permd a notification.
	actTell
	// actWithdraw withdraws what was asked under N, answered or not.
	actWithdraw
	// actWake calls core.onLate with N after the time After.
	actWake
	// actSay tells the person something, on the standard error.
	actSay
)

// action is one thing that a core wants done. Actions are done in their order.
type action struct {
	kind   actionKind
	to     peerSide
	line   []byte
	own    bool
	place  uint64
	n      uint64
	method string
	params strictjson.Value
	wait   bool
	after  time.Duration
	text   string
}

func (c *core) add(a action) { c.acts = append(c.acts, a) }

// forward passes a line on as it is.
func (c *core) forward(from peerSide, line []byte) {
	c.add(action{kind: actWrite, to: from.other(), line: line})
}

// reply answers a peer's request in the place of the other peer.
func (c *core) reply(to peerSide, line []byte) {
	c.chain.replied(line)
	c.add(action{kind: actWrite, to: to, line: line, own: true})
}

func (c *core) say(text string) { c.add(action{kind: actSay, text: text}) }

// ask calls a method of permd.
func (c *core) ask(method string, params strictjson.Value, wait bool) uint64 {
	c.last++
	c.add(action{kind: actAsk, n: c.last, method: method, params: params, wait: wait})
	return c.last
}

// tell passes a notification to permd.
func (c *core) tell(method string, params strictjson.Value) {
	c.add(action{kind: actTell, method: method, params: params})
}
