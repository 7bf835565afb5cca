package decisions

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// Bounds of what is offered.
const (
	maxWidths = 3
	// maxOffer is the size of a call, in bytes of its words, paths and
	// arguments, over which nothing is offered: it would have to be kept until
	// the person answers.
	maxOffer = 256 << 10
	maxLabel = 120 // characters
)

// Offer is what a person's answer to a question can be remembered as. It is
// kept while the question waits.
type Offer struct {
	// Sets are the effects to remember, for each of the decision's widths.
	Sets []OfferSet
	// Reject is the effect that a reject of the whole call is bound to, nil if
	// none can be remembered.
	Reject *MemoryQuery
	// Size is about how many bytes the offer holds on to.
	Size int
}

// OfferSet is one width: the choices that together turn the call to allow.
type OfferSet struct {
	Width
	Items []OfferItem
}

// OfferItem is one choice of a width.
type OfferItem struct {
	Query *MemoryQuery
	Level int // of the Proposal
}

// offer adds what can be remembered to a decision that is a question. Each
// width is put through the precedence table before it is offered: it must turn
// the whole call to allow.
func (e *Engine) offer(d *Decision, q *MemoryQuery, heard []voices, was []outcome) {
	size := sizeOf(q.All)
	if size > maxOffer {
		return
	}
	w := widening{
		engine: e, query: *q, heard: heard, was: was,
		queries: make([]*MemoryQuery, len(was)), ways: make([][]Proposal, len(was)),
	}
	o := &Offer{Size: size, Reject: w.rejectable()}
	if d.By != ByFailure && w.rememberable() {
		for level := range maxWidths {
			set, ok := w.at(level)
			if !ok {
				break // nor at a wider one
			}
			if n := len(o.Sets); n > 0 && slices.Equal(levels(o.Sets[n-1].Items), levels(set.Items)) {
				continue
			}
			set.ID = "w" + string(rune('1'+len(o.Sets)))
			o.Sets = append(o.Sets, set)
			d.Widths = append(d.Widths, set.Width)
		}
	}
	if o.Reject != nil || o.Sets != nil {
		d.Offer = o
	}
}

func levels(items []OfferItem) []int {
	list := make([]int, len(items))
	for i := range items {
		list[i] = items[i].Level
	}
	return list
}

// widening looks for the choices that would turn a call to allow.
type widening struct {
	engine  *Engine
	query   MemoryQuery // without an effect
	heard   []voices
	was     []outcome
	queries []*MemoryQuery
	ways    [][]Proposal
}

// rememberable reports whether none of the call's asks is one that no choice
// can answer. No use of permd itself is ever remembered.
func (w *widening) rememberable() bool {
	for i := range w.query.All {
		if r := w.query.All[i].Run; r != nil && r.Own != effects.OwnNone {
			return false
		}
	}
	for i := range w.was {
		if o := &w.was[i]; o.verdict != Allow && (o.verdict != Ask || o.row == RowPerson || o.row == RowFailure) {
			return false
		}
	}
	return true
}

// ask returns the query for an effect.
func (w *widening) ask(i int) *MemoryQuery {
	if w.queries[i] == nil {
		q := w.query
		q.Effect = &q.All[i]
		q.Target = targetOf(w.engine.FS, q.Effect.Run)
		w.queries[i] = &q
	}
	return w.queries[i]
}

// proposals returns the ways to remember an effect.
func (w *widening) proposals(i int) []Proposal {
	if w.ways[i] == nil {
		w.ways[i] = w.engine.Proposer.Propose(w.ask(i))
		if w.ways[i] == nil {
			w.ways[i] = []Proposal{}
		}
	}
	return w.ways[i]
}

// at returns the width of a level: for each effect that needs a choice the
// widest that is not over the level and that the table accepts. Inherent
// effects take their allow from their run where they can.
func (w *widening) at(level int) (OfferSet, bool) {
	now := make([]outcome, len(w.was))
	var items []OfferItem
	var rules, wider []string
	for _, inherent := range []bool{false, true} {
		for i := range w.was {
			eff := &w.query.All[i]
			if eff.Inherent() != inherent {
				continue
			}
			v := w.heard[i]
			if inherent && eff.Via.Effect >= 0 && eff.Via.Effect < len(now) {
				v.run = &now[eff.Via.Effect]
			}
			if now[i] = precede(eff, &v); now[i].verdict == Allow {
				continue
			}
			p, o := w.widest(i, level, &v)
			if p == nil {
				return OfferSet{}, false
			}
			now[i] = o
			items = append(items, OfferItem{Query: w.ask(i), Level: p.Level})
			if !slices.Contains(rules, p.Rule) {
				rules = append(rules, p.Rule)
				if p.Level > 0 {
					wider = append(wider, p.Rule)
				}
			}
		}
	}
	if len(items) == 0 {
		return OfferSet{}, false // the question has another reason than an effect
	}
	set := OfferSet{Items: items, Width: Width{Rule: strings.Join(rules, "\n"), Label: "exactly this", Scope: w.scope()}}
	if wider != nil {
		set.Label = clip(strings.Join(wider, ", "), maxLabel)
	}
	return set, true
}

// widest returns the widest proposal for an effect, up to a level, with which
// the table says allow.
func (w *widening) widest(i, level int, v *voices) (*Proposal, outcome) {
	ways := w.proposals(i)
	for n := len(ways) - 1; n >= 0; n-- {
		p := &ways[n]
		if p.Level > level {
			continue
		}
		with := *v
		with.allow = &p.Choice
		if o := precede(&w.query.All[i], &with); o.verdict == Allow {
			return p, o
		}
	}
	return nil, outcome{}
}

// scope is where a width is stored when the person names no scope; "" when one
// must be named.
func (w *widening) scope() string {
	switch {
	case w.query.Project != "":
		return "project"
	case w.query.Session.ID != "":
		return "session"
	}
	return ""
}

// rejectable returns the first effect that a reject of the call can be bound to.
func (w *widening) rejectable() *MemoryQuery {
	for i := range w.was {
		if kind := w.query.All[i].Kind; kind == effects.KindQuestion || kind == effects.KindMode {
			return nil // answers are never remembered
		}
	}
	for i := range w.was {
		if q := w.ask(i); w.engine.Proposer.Rejectable(q) {
			return q
		}
	}
	return nil
}

// sizeOf is about how many bytes effects hold on to.
func sizeOf(list []effects.Effect) int {
	n := 0
	for i := range list {
		e := &list[i]
		n += 256 + len(e.Text) + len(e.Why)
		switch {
		case e.Run != nil:
			n += len(e.Run.Program) + len(e.Run.StdinText)
			for _, arg := range e.Run.Args {
				n += len(arg) + 16
			}
		case e.File != nil:
			n += len(e.File.Path) + len(e.File.Given)
		case e.Connect != nil:
			n += len(e.Connect.URL)
		case e.Use != nil:
			n += len(e.Use.Arguments)
		}
	}
	return n
}

// clip cuts a text to n characters.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
