package proxy

import (
	"time"

	"github.com/permd/permd/internal/strictjson"
)

// Kind is what an Act does.
type Kind int

// The kinds of acts.
const (
	// Write sends Line to the peer To. Own says that it is the proxy's word and
	// not forwarded.
	Write Kind = iota
	// Hold keeps a place, named Slot, in what is sent to To: what is written
	// after it waits, so that nothing is reordered while permd decides.
	Hold
	// Fill puts Line in the place Slot, or nothing, and lets what waits go on.
	Fill
	// Ask calls Method of permd, with an answer that goes to Core.Answer under
	// the number N. With Wait, nothing else is said to permd before it came.
	Ask
	// Tell sends permd a notification.
	Tell
	// Withdraw withdraws what was asked under N, answered or not.
	Withdraw
	// Wake calls Core.Late with N after the time After.
	Wake
	// Say tells the person something, on the standard error.
	Say
)

// Act is one thing that a Core wants done. Acts are done in their order.
type Act struct {
	Kind   Kind
	To     Side
	Line   []byte
	Own    bool
	Slot   uint64
	N      uint64
	Method string
	Params strictjson.Value
	Wait   bool
	After  time.Duration
	Text   string
}

func (c *Core) add(a Act) { c.acts = append(c.acts, a) }

// forward passes a line on as it is.
func (c *Core) forward(from Side, line []byte) { c.add(Act{Kind: Write, To: from.other(), Line: line}) }

// reply answers a peer's request in the place of the other peer.
func (c *Core) reply(to Side, line []byte) {
	c.chain.replied(line)
	c.add(Act{Kind: Write, To: to, Line: line, Own: true})
}

func (c *Core) say(text string) { c.add(Act{Kind: Say, Text: text}) }

// ask calls a method of permd.
func (c *Core) ask(method string, params strictjson.Value, wait bool) uint64 {
	c.last++
	c.add(Act{Kind: Ask, N: c.last, Method: method, Params: params, Wait: wait})
	return c.last
}

// tell passes a notification to permd.
func (c *Core) tell(method string, params strictjson.Value) {
	c.add(Act{Kind: Tell, Method: method, Params: params})
}
