package mcp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/internal/strictjson"
)

// Since 2026-07-28 a question to the person is the result of the request that it is about: the
// client repeats the request, under another id, with the answers and the requestState of the
// result. The requestState that the client gets is always one of the gateway's own, a random name
// for what is kept here. So an answer is to the question that was asked, about the call that it
// was asked about, and holds once. The server's own requestState never reaches the client.

// Bounds of open questions.
const (
	maxRounds      = 256              // open at the same time, of permd and the server
	maxRoundBytes  = maxWaiting       // that are kept for these
	maxInRequest   = 32               // how often a server can ask about one call
	maxQuestions   = 32               // of a server in one result
	maxElsewhere   = 64               // questions that are left to permd allow
	maxServerState = 1 << 20          // bytes of a server's requestState
	roundTimeout   = 60 * time.Minute // for the answers to a server's questions
)

// ownQuestion is the key of permd's question among the questions of a result.
const ownQuestion = "permd"

// round is the open question, or questions, of one result.
type round struct {
	call    string // what the question is about, see toolCall.identity
	size    int
	expires time.Time

	// Of a question of permd: the call that waits, and where its repetition comes, or nil.
	waits  *toolCall
	answer chan *toolCall

	// Of questions of the server.
	keys   []string
	state  string // the member requestState of the repetition, "" for none
	yes    string
	rounds int
}

// own reports whether the question is permd's.
func (r *round) own() bool { return r.answer != nil }

// end ends a question of permd without an answer. It has to be taken before.
func (r *round) end() {
	if r.own() {
		r.answer <- nil
	}
}

// rounds are the open questions. The gateway's mutex guards them.
type rounds struct {
	open  map[string]*round // by requestState
	order []string          // the oldest first
	bytes int
	// elsewhere are the last questions that were left to permd allow.
	elsewhere []elsewhere
}

type elsewhere struct{ call, question string }

// add keeps a question, and returns its requestState and the questions that it takes the place of.
func (rs *rounds) add(r *round) (state string, ended []*round) {
	for len(rs.order) > 0 && (len(rs.order) >= maxRounds || rs.bytes+r.size > maxRoundBytes || time.Now().After(rs.open[rs.order[0]].expires)) {
		ended = append(ended, rs.take(rs.order[0]))
	}
	if rs.open == nil {
		rs.open = map[string]*round{}
	}
	state = "permd-" + rand.Text()
	rs.open[state] = r
	rs.order = append(rs.order, state)
	rs.bytes += r.size
	return state, ended
}

// take removes a question, and returns nil if there is none.
func (rs *rounds) take(state string) *round {
	r := rs.open[state]
	if r == nil {
		return nil
	}
	delete(rs.open, state)
	rs.order = slices.DeleteFunc(rs.order, func(s string) bool { return s == state })
	rs.bytes -= r.size
	return r
}

// addRound keeps a question. The caller does not hold g.mu.
func (g *gateway) addRound(r *round) (state string) {
	g.mu.Lock()
	state, ended := g.rounds.add(r)
	g.mu.Unlock()
	for _, r := range ended {
		r.end()
	}
	return state
}

// takeRound removes a question, since it can be answered once. It returns nil if there is none.
func (g *gateway) takeRound(state string) *round {
	g.mu.Lock()
	r := g.rounds.take(state)
	g.mu.Unlock()
	if r != nil && time.Now().After(r.expires) {
		r.end()
		return nil
	}
	return r
}

// canAsk reports whether the person can be asked in the client about a request.
func (g *gateway) canAsk(meta *requestMeta) bool {
	if meta != nil {
		return meta.forms && !g.cfg.NoElicitation
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.elicits
}

// identity tells a call from every other one: its method, and the bytes of what was decided.
func (c *toolCall) identity() string {
	body, err := oneLine([]byte("{" + c.body + "}"))
	if err != nil {
		return "" // of no call: it is no JSON
	}
	sum := sha256.Sum256(append([]byte(c.method+"\n"), body...))
	return string(sum[:])
}

// params returns the members of the params with which a call is passed on.
func (c *toolCall) params() string {
	return c.body + c.answers + `,"_meta":{` + c.meta.text + `}`
}

// continues takes over what belongs to a call that is repeated with answers to the server.
func (c *toolCall) continues(r *round) {
	var given []string
	if o, err := strictjson.ParseObject(c.responses); err == nil {
		for _, m := range o {
			if slices.Contains(r.keys, m.Name) && strictjson.Kind(m.Value) == '{' {
				given = append(given, quote(m.Name)+":"+string(m.Value))
			}
		}
	}
	if len(given) > 0 {
		c.answers = `,"inputResponses":{` + strings.Join(given, ",") + "}"
	}
	if r.state != "" {
		c.answers += `,"requestState":` + r.state
	}
	c.said, c.yes, c.rounds = r.yes, r.yes, r.rounds
}

// noteElsewhere notes a question that is answered with permd allow.
func (g *gateway) noteElsewhere(c *toolCall, question string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rounds.elsewhere = append(g.rounds.elsewhere[max(0, len(g.rounds.elsewhere)-maxElsewhere+1):], elsewhere{c.identity(), question})
}

// askedElsewhere returns the question about a call that a person has allowed with permd allow, ""
// if it is not known any more.
func (g *gateway) askedElsewhere(c *toolCall) string {
	call := c.identity()
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := len(g.rounds.elsewhere) - 1; i >= 0; i-- {
		if e := g.rounds.elsewhere[i]; e.call == call {
			return e.question
		}
	}
	return ""
}

// askInResult asks the person about a call in a result, and waits for its repetition. It returns
// nil if there is no answer.
func (g *gateway) askInResult(ctx context.Context, c *toolCall, params string) strictjson.Value {
	r := &round{
		call: c.identity(), size: len(c.body) + len(c.answers), expires: time.Now().Add(personTimeout),
		waits: c, answer: make(chan *toolCall, 1),
	}
	g.mu.Lock()
	if g.ended || ctx.Err() != nil {
		g.mu.Unlock()
		return nil
	}
	id := c.message.id
	delete(g.fromClient, id)
	g.deciding--
	g.waiting -= c.size
	state, ended := g.rounds.add(r)
	c.message = nil
	g.mu.Unlock()
	for _, r := range ended {
		r.end()
	}
	text, err := oneLine([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{%s:{"method":%s,"params":%s}},"requestState":%s}}`,
		id, quote(ownQuestion), quote(methodElicit), params, quote(state))))
	if err == nil {
		err = g.client.write(text)
	}
	var next *toolCall
	if err == nil {
		select {
		case next = <-r.answer:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		g.mu.Lock()
		mine := g.rounds.take(state) != nil
		g.mu.Unlock()
		if mine {
			return nil
		}
		next = <-r.answer // the repetition has come at the same time
	}
	if next == nil {
		return nil
	}
	c.message, c.meta, c.size = next.message, next.meta, next.size
	return strictjson.Find(next.responses, ownQuestion)
}

// resume gives the repetition of a call to the call that waits for it.
func (g *gateway) resume(m *message, next *toolCall, r *round) error {
	c := r.waits
	next.body, next.answers = c.body, c.answers
	why := m.rebuild(next.params())
	next.size = len(m.text)
	if why == "" {
		why = g.track(m, &request{method: m.method, cancel: c.cancel, meta: next.meta, call: c})
	}
	if why != "" {
		r.end()
		return g.refuse(m.id, codeInvalid, why)
	}
	r.answer <- next
	g.calls.Done() // the call counts already
	return nil
}
