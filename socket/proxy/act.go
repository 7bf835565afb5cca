package proxy

import (
	"time"

	"github.com/permd/permd/internal/strictjson"
)

// actionKind is what an action does.
type actionKind int

// The kinds of actions.
const (
	// actWrite sends Line to the peer To. Own is set for messages of the proxy itself,
	// which are not forwarded ones.
	actWrite actionKind = iota
	// actReserve reserves the place Place in what is sent to To: what is written after it
	// waits, so that nothing is reordered while permd decides.
	actReserve
	// actFill puts Line in the place Place, or nothing, and releases what waits behind
	// it.
	actFill
	// actAsk calls Method of permd; the answer goes to core.onAnswer under the number N.
	// With Wait, nothing else is sent to permd before the answer.
	actAsk
	// actNotify sends permd a notification.
	actNotify
	// actWithdraw withdraws the question N, answered or not.
	actWithdraw
	// actWake calls core.onLate with N after the time After.
	actWake
	// actPrint prints a message for the person on standard error.
	actPrint
)

// action is one thing that a core requests. Actions are performed in order.
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
	c.chain.onReply(line)
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
