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
	// actAsk calls Method of permd; the answer goes to core.onAnswer under the
	// number N. With Wait, nothing else is sent to permd before the answer.
	actAsk
	// actNotify sends permd a notification.
	actNotify
	// actWithdraw withdraws what was asked under N, answered or not.
	actWithdraw
	// actWake calls core.onLate with N after the time After.
	actWake
	// actPrint prints a message for the person on standard error.
	actPrint
)

// action is one thing that a core wants done. Actions are done in their order.
type action struct {
	Kind   actionKind
	To     peerSide
	Line   []byte
	Own    bool
	Place  uint64
	N      uint64
	Method string
	Params strictjson.Value
	Wait   bool
	After  time.Duration
	Text   string
}

func (c *core) add(a action) { c.acts = append(c.acts, a) }

// forward passes a line on as it is.
func (c *core) forward(from peerSide, line []byte) {
	c.add(action{Kind: actWrite, To: from.other(), Line: line})
}

// reply answers a peer's request in place of the other peer.
func (c *core) reply(to peerSide, line []byte) {
	c.chain.replied(line)
	c.add(action{Kind: actWrite, To: to, Line: line, Own: true})
}

func (c *core) print(text string) { c.add(action{Kind: actPrint, Text: text}) }

// ask calls a method of permd.
func (c *core) ask(method string, params strictjson.Value, wait bool) uint64 {
	c.last++
	c.add(action{Kind: actAsk, N: c.last, Method: method, Params: params, Wait: wait})
	return c.last
}

// notify passes a notification to permd.
func (c *core) notify(method string, params strictjson.Value) {
	c.add(action{Kind: actNotify, Method: method, Params: params})
}
