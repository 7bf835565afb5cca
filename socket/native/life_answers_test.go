package native_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/native"
)

// Choose answers a question, which may have ended, be another connection's, or be answered
// at this moment.
func (m *lifeModel) Choose(t *rapid.T) {
	c := m.anyConn(t)
	if len(m.all) == 0 || len(m.chosen) >= 3 {
		t.Skip("nothing to answer")
	}
	decision := rapid.SampledFrom(slices.Sorted(maps.Keys(m.all))).Draw(t, "decision")
	if len(m.questions) > 0 && rapid.IntRange(0, 3).Draw(t, "open") > 0 {
		decision = rapid.SampledFrom(slices.Sorted(maps.Keys(m.questions))).Draw(t, "question")
		c = m.questions[decision].conn
	}
	p := &choosing{conn: c, verdict: rapid.SampledFrom([]decisions.Verdict{decisions.Allow, decisions.Deny}).Draw(t, "verdict"), always: rapid.Bool().Draw(t, "always")}
	more := ""
	if p.always {
		if more = `,"scope":"` + rapid.SampledFrom([]string{"session", "user"}).Draw(t, "scope") + `"`; p.verdict == decisions.Allow {
			more += `,"width":"w1"`
		}
	}
	p.id = c.send(native.MethodChoose, `{"decisionId":"`+decision+`","verdict":"`+string(p.verdict)+`"`+more+`}`)
	q := m.questions[decision]
	if q == nil || q.conn != c || q.answering {
		m.refused(t, p, "a question that is not open")
		return
	}
	p.of = q
	if p.always {
		q.answering = true
	} else {
		delete(m.questions, decision) // whatever comes of it
	}
	if p.verdict == decisions.Allow {
		if q.digest != m.rules() || q.cwd != m.cwd[c] {
			delete(m.questions, decision)
			m.refused(t, p, "a yes that comes too late")
			return
		}
		m.waits(t, p, "holds ")
		return
	}
	if p.always {
		m.waits(t, p, "keep ")
		return
	}
	m.counts(t, p)
}

// waits records that an answer waits at a gate.
func (m *lifeModel) waits(t *rapid.T, p *choosing, gate string) {
	p.gate = gate + p.of.decision
	if got := m.arrive(p.conn, p.id); got != p.gate {
		t.Fatalf("%s, want %s", got, p.gate)
	}
	if !slices.Contains(m.chosen, p) {
		m.chosen = append(m.chosen, p)
	}
}

// Chosen lets an answer go on.
func (m *lifeModel) Chosen(t *rapid.T) {
	if len(m.chosen) == 0 {
		t.Skip("nothing is being answered")
	}
	m.chooses(t, rapid.IntRange(0, len(m.chosen)-1).Draw(t, "answer"), rapid.IntRange(0, 3).Draw(t, "works") > 0)
}

func (m *lifeModel) chooses(t *rapid.T, i int, works bool) {
	p := m.chosen[i]
	word := map[bool]string{true: "yes", false: "no"}[works]
	m.open(p.gate, word)
	decision, holding := p.of.decision, strings.HasPrefix(p.gate, "holds ")
	if holding && works && p.always {
		m.waits(t, p, "keep ")
		return
	}
	m.chosen = slices.Delete(m.chosen, i, i+1)
	open := m.questions[decision] == p.of
	switch {
	case holding && !works:
		delete(m.questions, decision)
		m.refused(t, p, "a yes to what the call would no longer do")
	case !holding && !works:
		p.of.answering = false // it stays open
		m.refused(t, p, "an answer that could not be stored")
	case p.always && !open:
		m.refused(t, p, "an answer to a question that ended while it was stored")
	case p.always && p.verdict == decisions.Allow && m.cwd[p.conn] != p.of.cwd:
		delete(m.questions, decision)
		m.refused(t, p, "a yes for a session that has moved while it was stored")
	default:
		delete(m.questions, decision)
		m.counts(t, p)
	}
}

// refused checks that an answer is refused, and that nothing is left of it.
func (m *lifeModel) refused(t *rapid.T, p *choosing, what string) {
	v := p.conn.has(p.id)
	for v == nil {
		select {
		case gate := <-m.arrived:
			t.Fatalf("%s goes on to %s", what, gate)
		case <-p.conn.arrives:
			v = p.conn.has(p.id)
		case <-time.After(patience):
			t.Fatalf("%s is not answered", what)
		}
	}
	if strictjson.Find(v, "error") == nil {
		t.Fatalf("%s is accepted: %s", what, v)
	}
}

// counts checks that an answer is accepted, unless it cannot be logged.
func (m *lifeModel) counts(t *rapid.T, p *choosing) {
	m.mu.Lock()
	logged := !m.noLog
	m.mu.Unlock()
	if logged {
		m.answered[p.of.decision] = p.verdict
	}
	v := p.conn.answer(p.id)
	if accepted := strictjson.Find(v, "result") != nil; accepted != logged {
		t.Fatalf("%s of %s by %s, logged %v: %s", p.verdict, p.of.decision, p.of.protocol, logged, v)
	}
}

// lifeHooks is the model of the sessions that outlive their connections: one session of a
// harness, whose questions are answered out of band.
type lifeHooks struct {
	used      time.Time
	tree      int // which session it is: another after it was idle for too long
	questions []hookQuestion
	grants    []hookGrant
	calls     int
	storing   []*hookStoring
}

type hookQuestion struct {
	decision, program string
	tree              int
}

type hookGrant struct {
	tree    int
	program string
	ends    time.Time
}

// hookStoring is an answer for more than one call that is being stored.
type hookStoring struct {
	of   hookQuestion
	done chan error
}

func (h *lifeHooks) restarted() { *h = lifeHooks{tree: h.tree + 1, calls: h.calls} }

func (h *lifeHooks) has(decision string) (q hookQuestion, ok bool) {
	i := slices.IndexFunc(h.questions, func(q hookQuestion) bool { return q.decision == decision })
	if i < 0 || slices.ContainsFunc(h.storing, func(s *hookStoring) bool { return s.of.decision == decision }) {
		return q, false
	}
	return h.questions[i], true
}

// answered ends the questions about the same call.
func (h *lifeHooks) answered(of hookQuestion) {
	h.questions = slices.DeleteFunc(h.questions, func(q hookQuestion) bool { return q.tree == of.tree && q.program == of.program })
}

// hook connects as a harness's hook, for one call.
func (m *lifeModel) hook(t *rapid.T) (c *lifeConn, end func()) {
	c, err := m.dial()
	if err != nil {
		t.Fatal(err)
	}
	if v := c.answer(c.send(native.MethodSession, `{"sessionId":"h","cwd":"/a","harness":"claude"}`)); strictjson.Find(v, "result") == nil {
		t.Fatalf("declaring the harness's session: %s", v)
	}
	if h := &m.hooks; m.now.Sub(h.used) >= 12*time.Hour {
		old := h.tree
		h.tree++
		h.questions = slices.DeleteFunc(h.questions, func(q hookQuestion) bool { return q.tree == old })
	}
	m.hooks.used = m.now
	return c, func() {
		_ = c.net.Close()
		<-m.ended
	}
}

// HookAsks asks about a call, which rules leave to the person.
func (m *lifeModel) HookAsks(t *rapid.T) {
	c, end := m.hook(t)
	defer end()
	h := &m.hooks
	h.calls++
	call, program := fmt.Sprint("h", h.calls), rapid.SampledFrom([]string{"p1", "p2"}).Draw(t, "program")
	id := c.send(native.MethodDecide, `{"sessionId":"h","calls":[{"callId":"`+call+`","tool":{"name":"T"},"input":{"command":"`+program+`"}}]}`)
	if got := m.arrive(c, id); got != "decide "+call {
		t.Fatal(got)
	}
	m.open("decide "+call, string(decisions.Ask))
	got, decision := (&asking{protocol: "permd"}).read(c.answer(id))
	want := decisions.Ask
	if slices.ContainsFunc(h.grants, func(g hookGrant) bool { return g.tree == h.tree }) {
		h.grants = slices.DeleteFunc(h.grants, func(g hookGrant) bool { return !m.now.Before(g.ends) || g.ends.Sub(m.now) > 30*time.Minute })
	}
	if i := slices.IndexFunc(h.grants, func(g hookGrant) bool { return g.tree == h.tree && g.program == program }); i >= 0 {
		h.grants = slices.Delete(h.grants, i, i+1)
		want = decisions.Allow
	} else {
		h.questions = append(h.questions, hookQuestion{decision, program, h.tree})
	}
	if got != string(want) {
		t.Fatalf("%s of the harness is answered with %q, want %q", program, got, want)
	}
}

// HookCloses ends the harness's session.
func (m *lifeModel) HookCloses(t *rapid.T) {
	c, end := m.hook(t)
	defer end()
	c.answer(c.send(native.MethodClose, `{"sessionId":"h"}`))
	m.hooks.questions = slices.DeleteFunc(m.hooks.questions, func(q hookQuestion) bool { return q.tree == m.hooks.tree })
}

// Time passes, or the clock is set back a little.
func (m *lifeModel) Time(t *rapid.T) {
	by := rapid.SampledFrom([]time.Duration{time.Minute, 20 * time.Minute, 30 * time.Minute, 13 * time.Hour, -10 * time.Minute}).Draw(t, "by")
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(by)
}

// hookDecision returns the decision of some question that a harness was left with.
func (m *lifeModel) hookDecision(t *rapid.T) string {
	if m.last == 0 {
		t.Skip("no decisions")
	}
	return fmt.Sprint("d", rapid.IntRange(max(1, m.last-8), m.last).Draw(t, "decision"))
}

// AllowOnce is permd allow.
func (m *lifeModel) AllowOnce(t *rapid.T) {
	decision := m.hookDecision(t)
	q, open := m.hooks.has(decision)
	until, err := m.lasting.AllowOnce(nil, decision, func() error { return nil })
	if (err == nil) != open {
		t.Fatalf("allowing %s, open %v: %v", decision, open, err)
	}
	if err == nil {
		m.hooks.answered(q)
		m.hooks.grants = append(m.hooks.grants, hookGrant{q.tree, q.program, until})
	}
}

// AllowAlways is permd allow --always: it begins to be stored, or is stored.
func (m *lifeModel) AllowAlways(t *rapid.T) {
	h := &m.hooks
	if len(h.storing) > 0 && rapid.Bool().Draw(t, "stored") {
		m.stored(t, rapid.Bool().Draw(t, "works"))
		return
	}
	decision := m.hookDecision(t)
	q, open := h.has(decision)
	s := &hookStoring{of: q, done: make(chan error, 1)}
	lasting := m.lasting
	go func() {
		kept, err := lasting.AllowAlways(context.Background(), nil, m.lifeWorld, decisions.Answer{DecisionID: decision, Width: "w1"})
		if err == nil && len(kept) != 1 {
			err = errors.New("nothing is stored")
		}
		s.done <- err
	}()
	if !open {
		select {
		case err := <-s.done:
			if !errors.Is(err, native.ErrNoQuestion) {
				t.Fatalf("allowing %s, which is not open: %v", decision, err)
			}
		case gate := <-m.arrived:
			t.Fatalf("%s is not open, and its answer is at %s", decision, gate)
		}
		return
	}
	select {
	case got := <-m.arrived:
		if got != "keep "+decision {
			t.Fatalf("allowing %s: %s", decision, got)
		}
	case err := <-s.done:
		t.Fatalf("allowing %s, which is open: %v", decision, err)
	}
	h.storing = append(h.storing, s)
}

// stored lets the first answer be stored, or not.
func (m *lifeModel) stored(t *rapid.T, works bool) {
	h := &m.hooks
	s := h.storing[0]
	h.storing = h.storing[1:]
	_, open := h.has(s.of.decision)
	m.open("keep "+s.of.decision, map[bool]string{true: "yes", false: "no"}[works])
	err := <-s.done
	if (err == nil) != (works && open) {
		t.Fatalf("storing an answer to %s, open %v, stored %v: %v", s.of.decision, open, works, err)
	}
	if err == nil {
		h.answered(s.of)
		m.answered[s.of.decision] = decisions.Allow
		_ = m.record(context.Background(), s.of.decision, decisions.Allow, author.Identity{}, nil)
	}
}
