package gateway

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/aap"
	"github.com/permd/permd/socket/gatehttp"
)

// pastTurns is the history of a session as the server has it.
type pastTurns struct {
	form       string // full or compacted
	messages   []strictjson.Value
	unresolved []string // the ids of calls without a result after the last message of the user
}

// readHistory reads a session's history. items are what permd has to know of it.
func (g *Gateway) readHistory(ctx context.Context, held *gatehttp.Held, s *session, query string, from *http.Request) (p *pastTurns, items []any, f *fault) {
	_, data, f := g.fetch(ctx, held, http.MethodGet, "/sessions/"+url.PathEscape(s.id)+"/history", query, from, nil)
	if f != nil {
		return nil, nil, f
	}
	if p, items = parseHistory(data); p == nil {
		return nil, nil, &fault{http.StatusBadGateway, "the server's history cannot be read in one way"}
	}
	posted := maps.Clone(s.posted)
	for _, id := range p.unresolved {
		if sent, _ := g.cfg.Sent.Find(granted, g.endpoint, s.id, id); sent {
			posted[id] = true // by a gateway that has ended
		}
	}
	for id := range posted {
		// The server may have run it, and not noted that.
		items = append(items, map[string]any{"role": "tool_permission", "toolCallId": id, "granted": true})
	}
	return p, items, nil
}

func parseHistory(data []byte) (*pastTurns, []any) {
	o, err := readObject(data)
	if err != nil || nearMiss(o, "history") != nil {
		return nil, nil
	}
	v, _ := o.Get("history")
	h, err := members(v, "full", "compacted")
	if err != nil {
		return nil, nil
	}
	p := &pastTurns{form: "full"}
	v, full := h.Get("full")
	if c, ok := h.Get("compacted"); ok {
		if full {
			return nil, nil
		}
		p.form, v = "compacted", c
	}
	if strictjson.Kind(v) != 'n' { // a server may write an empty list so
		if p.messages, err = list(v); err != nil {
			return nil, nil
		}
	}
	items := []any{}
	open := map[string]bool{}
	var order []string
	for i, m := range p.messages {
		o, err := members(m, "role", "content", "toolCallId")
		if err != nil {
			return nil, nil
		}
		switch text(o, "role") {
		case "system":
		case "user":
			items = append(items, map[string]string{"role": "user"})
			clear(open)
			order = nil
		case "tool_permission":
			id, err := nameIn(o, "toolCallId")
			if err != nil {
				return nil, nil
			}
			items = append(items, map[string]any{"role": "tool_permission", "toolCallId": id, "granted": true})
		default:
			parts, err := readMessage(m, 1)
			if err != nil {
				return nil, nil
			}
			p.messages[i] = withOnlyCalls(o, parts)
			for _, q := range parts {
				switch q.kind {
				case partCall:
					block := map[string]any{"type": "tool_use", "toolCallId": q.id, "name": q.name}
					if q.input != nil {
						block["input"] = q.input
					}
					items = append(items, map[string]any{"role": "assistant", "content": []any{block}})
					if !open[q.id] {
						open[q.id], order = true, append(order, q.id)
					}
				case partResult:
					items = append(items, map[string]any{"role": "tool", "toolCallId": q.id})
					delete(open, q.id)
				case partOther:
				}
			}
		}
	}
	for _, id := range order {
		if open[id] {
			p.unresolved = append(p.unresolved, id)
		}
	}
	return p, items
}

// withOnlyCalls returns a message with its calls as they are decided.
func withOnlyCalls(message strictjson.Object, parts []part) strictjson.Value {
	if slices.ContainsFunc(parts, func(p part) bool { return p.kind == partCall }) {
		blocks := make([]strictjson.Value, len(parts))
		for i, p := range parts {
			blocks[i] = p.data
		}
		message = set(message, "content", joined('[', blocks, ']'))
	}
	return encode(message)
}

// history serves GET /sessions/ID/history. A client that resumes a session runs its calls
// that have no result: so they are decided before it sees them.
func (g *Gateway) history(w http.ResponseWriter, r *http.Request, id string) *fault {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(g.ended, cancel)()
	s, release, f := g.find(ctx, id, r)
	if f != nil {
		return f
	}
	defer release()
	held := g.memory.Begin(id)
	defer held.Free()
	p, items, f := g.readHistory(ctx, held, s, r.URL.RawQuery, r)
	if f != nil {
		return f
	}
	answer := append([]byte(`{"history":{"`+p.form+`":`), joined('[', p.messages, ']')...)
	if len(p.unresolved) > 0 {
		if _, err := s.permd(ctx); err != nil {
			return errPermd(err)
		}
		b := s.pending
		if b == nil || !b.hasWaiting(p.unresolved) {
			if b, f = g.decide(ctx, s, "history", items); f != nil {
				return f
			}
			s.pending = b
		}
		held.Shrink(len(answer)) // a person may be waited for
		t := &conversation{g: g, s: s}
		if err := g.settle(ctx, s, b, nil, false); err != nil {
			return t.broken(ctx, err)
		}
		b.late = nil // the history shows them
		answer = answer[:len(answer)-1]
		for _, c := range b.unanswered() {
			b.shown[c.ToolCallID] = g.goesToClient(c)
			switch c.Outcome {
			case aap.Denied:
				answer = append(answer, `,{"role":"tool","toolCallId":`+quote(c.ToolCallID)+`,"content":`+quote(denialText(c))+`}`...)
			case aap.Granted, aap.Execute, aap.Ask, aap.Skip:
			}
		}
		answer = append(answer, ']')
	}
	reply(w, http.StatusOK, append(answer, "}}"...))
	return nil
}
