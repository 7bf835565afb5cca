package native

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// maxAsked bounds the calls of one session and its sub-agents that are told from each
// other when they have run. Above it the oldest is forgotten.
const maxAsked = 64

// askedCalls are the calls of a session and its sub-agents of which a harness may report that
// they have run, the oldest first.
type askedCalls struct {
	list []askedCall
	// over are calls whose end was reported, by session and id: a harness may report one at
	// two events.
	over [][2]string
}

// askedCall is a call of a harness that was left to the person, or one that was allowed
// while such a call was open, which a report could be confused with.
type askedCall struct {
	session  string
	id       string // the harness's id of the call, "" if it has none
	tool     string
	server   string
	content  callKey // see contentOf
	bare     callKey // the same without what Codex adds
	decision string  // the decision's id; "" for a call that was allowed
	paired   bool    // asked about at two events, of which only one has the id
	waits    bool    // its hook waits for a person: it cannot have run
}

// noCallID is what a client sends as the id of a call whose harness has no ids.
const noCallID = "1"

// contentOf identifies a call by its tool and all of its input, but the members named. The order
// of members and how their text is escaped make no difference.
func contentOf(tool string, input strictjson.Value, without ...string) callKey {
	of := sha256.New()
	add := func(text []byte) {
		of.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text))))
		of.Write(text)
	}
	add([]byte(tool))
	if len(without) > 0 {
		if o, err := strictjson.ParseObject(input); err == nil {
			var left []byte
			for _, m := range o {
				if !slices.Contains(without, m.Name) {
					name, _ := jsontext.AppendQuote(nil, m.Name)
					left = append(append(append(append(left, ','), name...), ':'), m.Value...)
				}
			}
			input = strictjson.Value("{" + string(left[min(1, len(left)):]) + "}")
		}
	}
	input = slices.Clone(input)
	if input.Compact(jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false)) != nil {
		input = nil
	}
	add(input)
	return callKey(of.Sum(nil))
}

// noteDecided notes a decision about a call of a session, to tell later which questions
// were about a call that has run.
func (l *PersistentSessions) noteDecided(f *sessionTree, req *decisions.Request, d *decisions.Decision) {
	l.mu.Lock()
	none := len(f.asked.list) == 0
	l.mu.Unlock()
	if d.Verdict != decisions.Ask && none {
		return
	}
	c := &req.Call
	a := askedCall{session: req.Session.ID, id: c.ID, tool: c.Tool.Name, server: c.Tool.Server, content: contentOf(c.Tool.Name, c.Input)}
	if a.id == noCallID {
		a.id = ""
	}
	if a.bare = a.content; a.id == "" {
		// Codex adds these at its event without an id.
		a.bare = contentOf(c.Tool.Name, c.Input, "description", "networkApprovalContext")
	}
	if d.Verdict == decisions.Ask {
		a.decision = d.ID
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f.asked.add(a, d.Verdict)
}

func (s *askedCalls) add(a askedCall, verdict decisions.Verdict) {
	if a.id != "" && verdict != decisions.Ask {
		// If it runs now, that is by this decision.
		s.list = slices.DeleteFunc(s.list, func(o askedCall) bool { return o.session == a.session && o.id == a.id })
	}
	if verdict == decisions.Deny {
		return
	}
	if a.id == "" && a.decision != "" {
		// The second event of a call: the oldest that has had none.
		i := slices.IndexFunc(s.list, func(o askedCall) bool {
			return o.id != "" && !o.paired && o.session == a.session && o.server == a.server && (o.content == a.content || o.content == a.bare)
		})
		if i >= 0 {
			s.list[i].paired, a.id, a.paired = true, s.list[i].id, true
		}
	}
	s.list = append(s.list[max(0, len(s.list)-maxAsked+1):], a)
}

// ran forgets the calls that a report is about, and returns the ids of their decisions. With an
// id, these are all that were asked with it; without one it is the oldest equal call,
// or one of those that were allowed, as nobody had to answer these.
func (s *askedCalls) ran(session string, call *finishedCall, content callKey) (ids []string) {
	at, id := -1, call.CallID
	if id != "" {
		if slices.Contains(s.over, [2]string{session, id}) {
			return nil
		}
		at = slices.IndexFunc(s.list, func(a askedCall) bool { return a.session == session && a.id == id && a.tool == call.Tool && !a.waits })
	}
	if at < 0 {
		at = s.equal(session, call, content)
	}
	if at >= 0 {
		id = s.list[at].id
	}
	if id != "" {
		s.over = append(s.over[max(0, len(s.over)-maxAsked+1):], [2]string{session, id})
	}
	if at < 0 {
		return nil
	}
	one := s.list[at]
	n := 0
	s.list = slices.DeleteFunc(s.list, func(a askedCall) bool {
		over := a.session == session && one.id != "" && a.id == one.id || n == at && one.id == ""
		if n++; over && a.decision != "" {
			ids = append(ids, a.decision)
		}
		return over
	})
	return ids
}

// equal returns the index of the call with the content of a report, -1 if there is none or the
// report does not say which server's tool it was of several.
func (s *askedCalls) equal(session string, call *finishedCall, content callKey) int {
	for _, same := range [...]func(a *askedCall) bool{
		func(a *askedCall) bool { return a.content == content && a.server == call.Server },
		func(a *askedCall) bool { return a.bare == content && a.server == call.Server },
		func(a *askedCall) bool { return a.content == content && call.Server == "" },
	} {
		at := -1
		for i := range s.list {
			a := &s.list[i]
			switch {
			case a.session != session || a.waits || !same(a) || call.CallID != "" && a.id != "":
			case at < 0:
				at = i
			case a.server != s.list[at].server:
				return -1
			case a.decision == "" && s.list[at].decision != "":
				at = i
			}
		}
		if at >= 0 {
			return at
		}
	}
	return -1
}
