package proxy

import (
	"container/list"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/client"
)

// Agents run calls without asking, and a proxy cannot prevent it. But it can
// notice: a call that is finished, or is running when its turn ends, without
// any request about it. permd records it with the verdict that it would have
// given. The same applies to a call that completes although it was denied.

// maxRuns is how many calls are followed at one time; above it the oldest is
// forgotten. maxCallID is how long an id is that is followed.
const (
	maxRuns   = 4096
	maxCallID = 1024
)

// callRun is what is known of one call.
type callRun struct {
	session, call string
	told          members // what an update has said about it
	mentioned     bool    // an update mentioned it
	asked         bool    // a request was about it
	denied        bool    // and was denied, the last one
	began         bool    // it is running, as the agent says
	over, done    bool
	old           bool // it is history
	place         *list.Element
}

// members of a call, in the order of callMembers.
type members uint8

var callMembers = []string{"name", "title", "kind", "rawInput", "locations", "_meta", "content"}

// runs are the calls of a conversation.
type runs struct {
	byCall map[string]*callRun
	order  list.List // the oldest first
	// forgot is set when something was said that is not known here: a call that
	// was not announced may have been asked about.
	forgot bool
	// changed are sessions in which a call may have changed what later commands
	// mean: permd knows that of its own connection alone.
	changed map[string]bool
	warned  map[runWarning]bool // what the person was told of
	missed  int                 // calls that ran while permd could not be told
}

// runWarning is said once.
type runWarning struct {
	session string
	of      decisions.Outcome
}

func (r *runs) of(session, call string) *callRun { return r.byCall[contentKey(session, call)] }

// enter begins to follow a call.
func (r *runs) enter(session, call string) *callRun {
	if call == "" || len(call) > maxCallID || len(session) > maxCallID {
		r.forgot = true
		return nil
	}
	one := r.of(session, call)
	if one != nil {
		return one
	}
	one = &callRun{session: session, call: call}
	if r.byCall == nil {
		r.byCall = map[string]*callRun{}
	}
	r.byCall[contentKey(session, call)] = one
	one.place = r.order.PushBack(one)
	if r.order.Len() > maxRuns {
		r.drop(r.order.Front().Value.(*callRun))
		r.forgot = true
	}
	return one
}

func (r *runs) drop(one *callRun) {
	delete(r.byCall, contentKey(one.session, one.call))
	r.order.Remove(one.place)
}

// forget drops the calls of a session that was closed.
func (r *runs) forget(session string) {
	for _, one := range r.all() {
		if one.session == session {
			r.drop(one)
		}
	}
	delete(r.warned, runWarning{session, decisions.RanUnprompted})
	delete(r.warned, runWarning{session, decisions.RanDespiteDeny})
	delete(r.changed, session)
}

func (r *runs) all() (all []*callRun) {
	for e := r.order.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*callRun))
	}
	return all
}

// history notes a call of another conversation.
func (r *runs) history(session string, update strictjson.Value) {
	if one := r.enter(session, text(update, "toolCallId")); one != nil {
		one.old = true
	}
}

// mention notes that something was said about a call.
func (r *runs) mention(session, call string) {
	if one := r.enter(session, call); one != nil {
		one.mentioned = true
	}
}

// asks notes a request about a call.
func (r *runs) asks(m *message) {
	session := text(m.params, "sessionId")
	for _, at := range [][]string{{"toolCall"}, {"subject", "toolCall"}, {"subject"}, nil} {
		if call := text(m.params, append(at, "toolCallId")...); call != "" {
			if one := r.enter(session, call); one != nil {
				one.asked, one.denied = true, false
			}
			return
		}
	}
}

// decided notes what permd said to a request, before it is passed on.
func (r *runs) decided(t *trackedRequest, result strictjson.Value, err error) {
	if t.gate {
		return
	}
	if rpc, ok := errors.AsType[*client.Error](err); ok {
		r.changes(t.session, rpc.Data)
	} else if err == nil && t.allows(result) {
		r.changes(t.session, strictjson.Find(result, "_meta", "permd"))
	}
	if one := r.of(t.session, t.call); one != nil && err == nil {
		one.denied = !t.allows(result)
	}
}

// changes notes what a call that runs, by permd's decision, changes for later calls.
func (r *runs) changes(session string, decision strictjson.Value) {
	list, err := strictjson.ParseArray(strictjson.Find(decision, "effects"))
	if err != nil || !slices.ContainsFunc(list, func(e strictjson.Value) bool { return text(e, "kind") == string(effects.KindState) }) {
		return
	}
	if r.changed == nil {
		r.changed = map[string]bool{}
	}
	if len(r.changed) < 2*maxSessions {
		r.changed[session] = true
	} else if !r.changed[session] {
		r.forgot = true
	}
}

// answered notes what the person said to a request. What is a question of the
// agent's has no no.
func (r *runs) answered(t *trackedRequest, m *message) {
	if t == nil || t.inPlace || t.gate || t.decision == nil || !permits(t.decision) {
		return
	}
	if one := r.of(t.session, t.call); one != nil {
		one.denied = t.refuses(m)
	}
}

// unlinked are agents whose requests do not name the calls that they are about,
// so that nothing says which were asked for.
var unlinked = []string{"openhands"}

// follow handles an update of a call.
func (c *core) follow(id string, s *session, update strictjson.Value, created bool) {
	o, err := strictjson.ParseObject(update)
	if err != nil {
		c.runs.forgot = true
		return
	}
	get := func(name string) string {
		v, _ := o.Get(name)
		word, _ := strictjson.ParseString(v)
		return word
	}
	call, status := get("toolCallId"), get("status")
	over := status == "completed" || status == "failed" || status == "cancelled"
	known := c.runs.of(id, call)
	if created && known != nil && known.over && !over {
		c.runs.drop(known) // another call by the same id
		known = nil
	}
	one := c.runs.enter(id, call)
	if one == nil || one.over {
		return
	}
	one.mentioned = true
	if s != nil && c.replays(s) || known == nil && !created && c.runs.forgot {
		one.old = true
	}
	rest := one.update(o)
	began := one.began
	one.began = began || status == "in_progress"
	if !over {
		return
	}
	one.over = true
	// One that was called off before it began has not run.
	if status != "cancelled" || began {
		c.ran(one, rest, status == "completed")
	}
}

// replays reports whether what is said about a session's calls is history.
func (c *core) replays(s *session) bool {
	parent := c.sessions.byID[s.parent]
	return s.replayed || parent != nil && parent.replayed
}

// update notes what an update says about a call, and returns what is new of it.
func (r *callRun) update(o strictjson.Object) []strictjson.Member {
	var rest []strictjson.Member
	first := r.told == 0
	for i, name := range callMembers {
		v, ok := o.Get(name)
		if !ok || strictjson.Kind(v) == 'n' || name == "rawInput" && nothing(v) {
			continue
		}
		// What comes of a call is no part of it.
		if bit := members(1) << i; r.told&bit == 0 && (name != "content" || first) {
			r.told |= bit
			rest = append(rest, strictjson.Member{Name: name, Value: v})
		}
	}
	return rest
}

// ran has permd record a call, unless it was allowed. Rest is what permd has not
// been told yet.
func (c *core) ran(one *callRun, rest []strictjson.Member, completed bool) {
	switch {
	case one.old, one.asked && (!one.denied || !completed), slices.Contains(unlinked, c.agentName()):
		return
	}
	call := object(append([]strictjson.Member{member("toolCallId", one.call)}, rest...)...)
	if len(call) > maxNotification-spare {
		call = object(member("toolCallId", one.call))
	}
	params := []strictjson.Member{member("sessionId", one.session), {Name: "toolCall", Value: call}}
	if one.done = completed; completed {
		params = append(params, strictjson.Member{Name: "done", Value: strictjson.Value("true")})
	}
	if one.asked {
		params = append(params, strictjson.Member{Name: "denied", Value: strictjson.Value("true")})
	}
	c.runReports[c.ask(acp.MethodRan, object(params...), false)] = one
}

// agentName is how the agent calls itself, in a form to compare.
func (c *core) agentName() string {
	name, _, _ := strings.Cut(strings.ToLower(c.parties[agentSide].Name), " ")
	return name
}

// turnOver records what is still running when a turn ends, in the session and
// those that it started.
func (c *core) turnOver(session string) {
	for _, one := range c.runs.all() {
		s := c.sessions.byID[one.session]
		if one.began && !one.over && (one.session == session || s != nil && s.parent == session) {
			one.over = true
			c.ran(one, nil, false)
		}
	}
}

// onRecorded takes permd's answer to that.
func (c *core) onRecorded(one *callRun, result strictjson.Value, err error) {
	if err != nil {
		c.runs.missed++
		return
	}
	c.runs.changes(one.session, strictjson.Find(result, "decision"))
	d := new(decisions.Decision)
	if strictjson.Unmarshal(strictjson.Find(result, "decision"), d) != nil {
		return
	}
	unasked := d.Outcome == decisions.RanUnprompted && d.Verdict == decisions.Deny
	about := runWarning{one.session, d.Outcome}
	if c.runs.warned[about] || !unasked && d.Outcome != decisions.RanDespiteDeny {
		return
	}
	if c.runs.warned == nil || len(c.runs.warned) > 2*maxSessions {
		c.runs.warned = map[runWarning]bool{}
	}
	c.runs.warned[about] = true
	if unasked {
		verb := "run"
		if !one.done {
			verb = "begun or tried"
		}
		c.print("the agent has asked nobody and " + verb + " what your rules deny: " + offending(d) + ". permd log list --unasked shows all that ran so")
		return
	}
	c.print("the agent says that it has done what it was denied: " + offending(d) + ". permd log list --unasked shows all such calls")
}

// offending returns the effect for which a call is denied, or the whole call.
func offending(d *decisions.Decision) string {
	for i := range d.Effects {
		if d.Effects[i].Verdict == d.Verdict {
			return d.Effects[i].Text
		}
	}
	return d.Reason
}

// onUnrecorded says at the end how many calls ran that permd was not told of.
func (c *core) onUnrecorded() []action {
	c.runs.missed += len(c.runReports)
	clear(c.runReports)
	c.unrecorded()
	return c.take()
}

func (c *core) unrecorded() {
	if n := c.runs.missed; n > 0 {
		c.runs.missed = 0
		c.print("calls that ran without having been asked for, and that permd could not be told of: " + strconv.Itoa(n))
	}
}

// tellIncomplete tells a new permd which calls were mentioned before it came. What is
// asked about others has nothing missing.
func (c *core) tellIncomplete() {
	c.unrecorded()
	var order []string
	calls := map[string][]strictjson.Value{}
	if c.runs.forgot {
		c.lost()
	} else {
		for _, one := range c.runs.all() {
			if !one.mentioned || one.over {
				continue
			}
			if calls[one.session] == nil {
				order = append(order, one.session)
			}
			calls[one.session] = append(calls[one.session], quoted(nil, one.call))
		}
	}
	for _, session := range slices.Sorted(maps.Keys(c.runs.changed)) {
		if calls[session] == nil {
			order = append(order, session)
		}
	}
	for _, session := range order {
		params := []strictjson.Member{member("sessionId", session), {Name: "toolCallIds", Value: array(calls[session])}}
		if c.runs.changed[session] {
			params = append(params, strictjson.Member{Name: "state", Value: strictjson.Value("true")})
		}
		c.notify(acp.MethodIncomplete, object(params...))
	}
}
