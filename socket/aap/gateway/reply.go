package gateway

import (
	"context"
	"net/http"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/aap"
)

// said is what the client says about one call.
type said struct {
	id      string
	granted *bool // of a permission
	reason  string
	content strictjson.Value // of a result
}

// readSaid reads the messages of a turn's request: nil for a message of the user.
func readSaid(body strictjson.Object) ([]said, *fault) {
	bad := func(text string) ([]said, *fault) { return nil, &fault{http.StatusBadRequest, "messages: " + text} }
	v, _ := body.Get("messages")
	messages, err := list(v)
	if err != nil || len(messages) == 0 {
		return bad("a list with at least one message is expected")
	}
	var all []said
	for _, m := range messages {
		o, err := members(m, "role", "toolCallId", "content", "granted", "reason")
		if err != nil {
			return bad(err.Error())
		}
		it := said{}
		it.content, _ = o.Get("content")
		known := []string{"role", "toolCallId", "content"}
		switch text(o, "role") {
		case "user":
			if len(messages) != 1 {
				return bad("a message of the user stands alone")
			}
			err := onlyMembers(o, "role", "content")
			if err == nil {
				err = checkContent(it.content, nil)
			}
			if err != nil {
				return bad(err.Error())
			}
			return nil, nil
		case "tool":
			if err := checkContent(it.content, nil); err != nil {
				return bad(err.Error())
			}
		case "tool_permission":
			g, _ := o.Get("granted")
			k := strictjson.Kind(g)
			if k != 't' && k != 'f' {
				return bad("granted must be true or false")
			}
			yes := k == 't'
			it.granted, it.reason = &yes, text(o, "reason")
			known = []string{"role", "toolCallId", "granted", "reason"}
		default:
			return bad("a message has no role that a client has")
		}
		if err := onlyMembers(o, known...); err != nil {
			return bad(err.Error())
		}
		if it.id, err = nameIn(o, "toolCallId"); err != nil {
			return bad(err.Error())
		}
		if slices.ContainsFunc(all, func(s said) bool { return s.id == it.id }) {
			return bad("two of them are about one call")
		}
		all = append(all, it)
	}
	return all, nil
}

// reply takes what the client says about calls, and returns the request for the server.
func (t *conversation) reply(ctx context.Context, body strictjson.Object, said []said) (strictjson.Object, *fault) {
	// The connection to permd may have ended, and with it the batch.
	if _, err := t.s.permd(ctx); err != nil {
		return nil, errPermd(err)
	}
	b := t.s.pending
	if b == nil {
		_, items, f := t.g.readHistory(ctx, t.memory, t.s, "type=full", t.from)
		if f != nil {
			return nil, f
		}
		if b, f = t.g.decide(ctx, t.s, "history", items); f != nil {
			return nil, f
		}
		t.memory.Free() // permd has what there is to decide, and a person may be waited for
		for _, c := range b.unanswered() {
			b.shown[c.ToolCallID] = t.g.goesToClient(c)
		}
		t.s.pending = b
	}
	if f := b.covers(said); f != nil {
		return nil, f
	}
	// What a person answers elsewhere comes first: a result of a call that is not decided
	// is refused, and can be brought again.
	if err := t.g.settle(ctx, t.s, b, t.out, false); err != nil {
		return nil, t.broken(ctx, err)
	}
	answers, results, f := t.answersTo(b, said)
	if f != nil {
		return nil, f
	}
	if err := t.g.answer(ctx, t.s, b, answers, results); err != nil {
		return nil, t.broken(ctx, err)
	}
	if err := t.g.settle(ctx, t.s, b, t.out, true); err != nil {
		return nil, t.broken(ctx, err)
	}
	if f := t.ready(ctx, b); f != nil {
		return nil, f
	}
	t.held.expect(b)
	return set(body, "messages", joined('[', withRefusals(b.Messages, said), ']')), nil
}

// covers checks that the client answers each call that it has to, and no other.
func (b *batch) covers(all []said) *fault {
	for _, it := range all {
		c := b.call(it.id)
		switch {
		case c == nil || c.Outcome == aap.Skip && !b.shown[it.id]:
			return &fault{http.StatusBadRequest, "no call of one toolCallId waits for an answer"}
		case isClients(c) != (it.granted == nil):
			return &fault{http.StatusBadRequest, "a result belongs to a call of the client's tool, a permission to one of the server's"}
		}
	}
	for id, shown := range b.shown {
		if shown && !slices.ContainsFunc(all, func(s said) bool { return s.id == id }) {
			return &fault{http.StatusBadRequest, "not all calls are answered that wait for it"}
		}
	}
	return nil
}

// answersTo returns what the client says as permd takes it. The stricter of permd and the client
// counts.
func (t *conversation) answersTo(b *batch, all []said) (answers, results []any, f *fault) {
	for _, it := range all {
		c := b.call(it.id)
		switch {
		case c.Outcome == aap.Execute || c.Outcome == aap.Skip && isClients(c):
			results = append(results, map[string]any{"toolCallId": it.id, "content": it.content})
		case c.Outcome == aap.Ask && it.granted != nil && !t.g.cfg.NoClientAnswers:
			a := map[string]any{"toolCallId": it.id, "verdict": decisions.Allow}
			if !*it.granted {
				a["verdict"] = decisions.Deny
				if it.reason != "" {
					a["reason"] = cut(it.reason)
				}
			}
			answers = append(answers, a)
		case isClients(c) && c.Outcome == aap.Ask:
			return nil, nil, &fault{http.StatusConflict, "a result is brought of a call that nobody has allowed"}
		}
	}
	return answers, results, nil
}

// withRefusals returns the messages without the permissions that the client refuses: it may
// know of calls that it was not asked about, from the history.
func withRefusals(messages []strictjson.Value, all []said) []strictjson.Value {
	messages = slices.Clone(messages)
	for i, m := range messages {
		id, _ := strictjson.ParseString(strictjson.Find(m, "toolCallId"))
		if string(strictjson.Find(m, "granted")) == "true" && slices.ContainsFunc(all, func(s said) bool { return s.id == id && s.granted != nil && !*s.granted }) {
			messages[i] = strictjson.Value(`{"role":"tool_permission","toolCallId":` + quote(id) + `,"granted":false}`)
		}
	}
	return messages
}

// cut cuts a reason to what permd takes.
func cut(s string) string {
	const limit = 4 << 10
	for len(s) > limit {
		s = s[:len(s)-1]
		for len(s) > 0 && s[len(s)-1]&0xc0 == 0x80 {
			s = s[:len(s)-1]
		}
	}
	return s
}
