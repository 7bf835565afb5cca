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

// maxRuns is how many calls are tracked at one time; above it the oldest is forgotten.
// maxCallID is the maximum length of a tracked id.
const (
	maxRuns   = 4096
	maxCallID = 1024
)

// callRun is the state of one call.
type callRun struct {
	session, call  string
	knownMembers   members // members that an update has sent
	mentioned      bool    // an update mentioned it
	asked          bool    // a request was about it
	denied         bool    // the latest request about it was denied
	running        bool    // the agent reports it as running
	finished, done bool
	isHistory      bool // it is part of a replayed history
	place          *list.Element
}

// members of a call, in the order of callMembers.
type members uint8

var callMembers = []string{"name", "title", "kind", "rawInput", "locations", "_meta", "content"}

// runs are the calls of a conversation.
type runs struct {
	byCall map[string]*callRun
	order  list.List // the oldest first
	// incomplete is set if a message was lost: a call that is not known may have been
	// asked about in it.
	incomplete bool
	// changed are sessions in which a call may have changed what later commands mean:
	// permd knows that for its own connection only.
	changed        map[string]bool
	warned         map[runWarning]bool // warnings that the person was given
	unrecordedRuns int                 // calls that ran while permd could not be told
}

// runWarning identifies a warning that is given once.
type runWarning struct {
	session string
	of      decisions.Outcome
}

func (r *runs) of(session, call string) *callRun { return r.byCall[contentKey(session, call)] }

// enter begins to track a call.
func (r *runs) enter(session, call string) *callRun {
	if call == "" || len(call) > maxCallID || len(session) > maxCallID {
		r.incomplete = true
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
		r.incomplete = true
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

// noteHistory records a call of another conversation.
func (r *runs) noteHistory(session string, update strictjson.Value) {
	if one := r.enter(session, text(update, "toolCallId")); one != nil {
		one.isHistory = true
	}
}

// mention records that an update mentioned a call.
func (r *runs) mention(session, call string) {
	if one := r.enter(session, call); one != nil {
		one.mentioned = true
	}
}

// noteRequest records a request about a call.
func (r *runs) noteRequest(m *message) {
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

// noteDecision records permd's answer to a request, before it is passed on.
func (r *runs) noteDecision(t *trackedRequest, result strictjson.Value, err error) {
	if t.gate {
		return
	}
	if err != nil {
		if rpc, ok := errors.AsType[*client.Error](err); ok {
			r.noteChanges(t.session, rpc.Data)
		}
		return
	}
	allowed := t.isAllow(result)
	if allowed {
		r.noteChanges(t.session, strictjson.Find(result, "_meta", "permd"))
	}
	if one := r.of(t.session, t.call); one != nil {
		one.denied = !allowed
	}
}

// noteChanges records what a call that runs, by permd's decision, changes for later
// calls.
func (r *runs) noteChanges(session string, decision strictjson.Value) {
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
		r.incomplete = true
	}
}

// noteAnswer records the person's answer to a request. A question of the agent cannot be
// denied.
func (r *runs) noteAnswer(t *trackedRequest, m *message) {
	if t == nil || t.inPlace || t.gate || t.decision == nil || !isPermission(t.decision) {
		return
	}
	if one := r.of(t.session, t.call); one != nil {
		one.denied = t.isRefusal(m)
	}
}

// unlinkedAgents are agents whose requests do not name their calls, so that it is not
// known which calls were asked about.
var unlinkedAgents = []string{"openhands"}

// follow handles an update of a call.
func (c *core) follow(id string, s *session, update strictjson.Value, created bool) {
	o, err := strictjson.ParseObject(update)
	if err != nil {
		c.runs.incomplete = true
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
	if created && known != nil && known.finished && !over {
		c.runs.drop(known) // another call with the same id
		known = nil
	}
	one := c.runs.enter(id, call)
	if one == nil || one.finished {
		return
	}
	one.mentioned = true
	if s != nil && c.isReplay(s) || known == nil && !created && c.runs.incomplete {
		one.isHistory = true
	}
	rest := one.update(o)
	began := one.running
	one.running = began || status == "in_progress"
	if !over {
		return
	}
	one.finished = true
	// A call that was cancelled before it began has not run.
	if status != "cancelled" || began {
		c.recordRun(one, rest, status == "completed")
	}
}

// isReplay reports whether updates about a session's calls are history.
func (c *core) isReplay(s *session) bool {
	parent := c.sessions.byID[s.parent]
	return s.replaying || parent != nil && parent.replaying
}

// update records an update of a call, and returns its new members.
func (r *callRun) update(o strictjson.Object) []strictjson.Member {
	var rest []strictjson.Member
	first := r.knownMembers == 0
	for i, name := range callMembers {
		v, ok := o.Get(name)
		if !ok || strictjson.Kind(v) == 'n' || name == "rawInput" && isNothing(v) {
			continue
		}
		// The result of a call is not part of it.
		if bit := members(1) << i; r.knownMembers&bit == 0 && (name != "content" || first) {
			r.knownMembers |= bit
			rest = append(rest, strictjson.Member{Name: name, Value: v})
		}
	}
	return rest
}

// recordRun makes permd record a call, unless it was allowed. rest is what permd has not
// been sent yet.
func (c *core) recordRun(one *callRun, rest []strictjson.Member, completed bool) {
	switch {
	case one.isHistory, one.asked && (!one.denied || !completed), slices.Contains(unlinkedAgents, c.agentName()):
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

// agentName returns the agent's name for itself, normalised.
func (c *core) agentName() string {
	name, _, _ := strings.Cut(strings.ToLower(c.parties[agentSide].Name), " ")
	return name
}

// onTurnEnd records calls that still run when a turn ends, in the session and those that
// it started.
func (c *core) onTurnEnd(session string) {
	for _, one := range c.runs.all() {
		s := c.sessions.byID[one.session]
		if one.running && !one.finished && (one.session == session || s != nil && s.parent == session) {
			one.finished = true
			c.recordRun(one, nil, false)
		}
	}
}

// onRecorded handles permd's answer to that.
func (c *core) onRecorded(one *callRun, result strictjson.Value, err error) {
	if err != nil {
		c.runs.unrecordedRuns++
		return
	}
	c.runs.noteChanges(one.session, strictjson.Find(result, "decision"))
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
		c.print("the agent has asked nobody and " + verb + " what your rules deny: " + deniedEffect(d) + ". permd log list --unasked shows all that ran so")
		return
	}
	c.print("the agent says that it has done what it was denied: " + deniedEffect(d) + ". permd log list --unasked shows all such calls")
}

// deniedEffect returns the effect for which a call is denied, or the whole call.
func deniedEffect(d *decisions.Decision) string {
	for i := range d.Effects {
		if d.Effects[i].Verdict == d.Verdict {
			return d.Effects[i].Text
		}
	}
	return d.Reason
}

// onUnrecorded reports at the end how many calls ran without being recorded.
func (c *core) onUnrecorded() []action {
	c.runs.unrecordedRuns += len(c.runReports)
	clear(c.runReports)
	c.unrecorded()
	return c.take()
}

func (c *core) unrecorded() {
	if n := c.runs.unrecordedRuns; n > 0 {
		c.runs.unrecordedRuns = 0
		c.print("calls that ran without having been asked for, and that permd could not be told of: " + strconv.Itoa(n))
	}
}

// tellIncomplete tells a new permd which calls were mentioned before it connected.
// Requests about other calls lack nothing.
func (c *core) tellIncomplete() {
	c.unrecorded()
	var order []string
	calls := map[string][]strictjson.Value{}
	if c.runs.incomplete {
		c.missedUpdates()
	} else {
		for _, one := range c.runs.all() {
			if !one.mentioned || one.finished {
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
