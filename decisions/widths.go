package decisions

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/permd/permd/decisions/effects"
)

// Bounds of what is offered.
const (
	maxWidths = 3
	// maxOffer bounds the size of a call for which widths are offered, in bytes of its
	// words, paths and arguments: the offer is kept until the person answers.
	maxOffer = 256 << 10
)

// Offer is how a person's answer to a question can be remembered. It is kept until the
// question is answered.
type Offer struct {
	// Sets are the effects to remember, for each of the decision's widths.
	Sets []OfferSet
	// Reject is the reject of the call that could be remembered, nil if none can.
	Reject *Rejection
	// Size is the memory that the offer uses, in bytes, approximately.
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
func (e *Engine) offer(d *Decision, m *evaluation, q *MemoryQuery, inputs []effectInputs, results []effectResult) {
	size := effects.SizeOf(q.All) + q.Call.Size()
	if size > maxOffer {
		d.NotRemembered = "the call is too large"
		return
	}
	w := widthSearch{
		engine: e, query: *q, facts: m.effects, inputs: inputs, results: results,
		queries: make([]*MemoryQuery, len(results)), proposed: make([][]Proposal, len(results)),
	}
	if e.digest != nil {
		w.contents = d.Contents
	}
	w.claims = e.claimOffers(m, q)
	w.changed = slices.ContainsFunc(d.Defects, func(f effects.Defect) bool { return f.Code == effects.DefectChanged })
	o := &Offer{Size: size, Reject: w.rejectable()}
	if d.NotRemembered = w.unrememberable(); d.By == ByFailure {
		d.NotRemembered = "permd could not decide the call"
	}
	if d.NotRemembered == "" {
		for level := range maxWidths {
			set, ok := w.at(level)
			if !ok {
				if level == 0 {
					d.NotRemembered = cmp.Or(w.why, "the question is not about what the call does")
					if d.By == ByLock {
						d.NotRemembered = "permd is locked"
					}
				}
				break // nor does a wider one
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

// widthSearch searches for the choices that would turn a call to allow.
type widthSearch struct {
	engine   *Engine
	query    MemoryQuery // without an effect
	facts    []effectFacts
	inputs   []effectInputs
	results  []effectResult
	queries  []*MemoryQuery
	proposed [][]Proposal
	contents []Content // files of the call whose content is known
	why      string    // why the last width was none
	changed  bool      // the tool is not what it was when a call of it last ran
	claims   map[int][]*claimOffer
}

// unrememberable says why choices cannot answer all of the call's asks, "" if they may. No
// use of permd itself is ever remembered.
func (w *widthSearch) unrememberable() string {
	for i := range w.query.All {
		if r := w.query.All[i].Run; r != nil && r.Own != effects.OwnNone {
			return "commands of permd are asked about each time"
		}
	}
	for i := range w.results {
		o := &w.results[i]
		switch {
		case o.verdict == Allow:
		case o.row == RowFailure:
			return "the rules could not be evaluated"
		case o.row == RowPerson && w.changed:
			return "a yes is for this call. But from now on the tool is known as it is described now: where a rule allows it, it runs unasked, in other sessions too"
		case o.verdict != Ask || o.row == RowPerson:
			return "a person answers this each time, whatever is remembered"
		}
	}
	return ""
}

// ask returns the query for an effect.
func (w *widthSearch) ask(i int) *MemoryQuery {
	if w.queries[i] == nil {
		q := w.query
		q.Effect = &q.All[i]
		q.Target = w.facts[i].target
		w.queries[i] = &q
	}
	return w.queries[i]
}

// proposals returns the ways to remember an effect.
func (w *widthSearch) proposals(i int) []Proposal {
	if w.proposed[i] == nil {
		w.proposed[i] = w.engine.proposer.Propose(w.ask(i))
		if w.proposed[i] == nil {
			w.proposed[i] = []Proposal{}
		}
	}
	return w.proposed[i]
}

// at returns the width of a level: for each effect that needs a choice the
// widest that is not over the level and that the table accepts. Inherent
// effects take their allow from their run where they can.
func (w *widthSearch) at(level int) (OfferSet, bool) {
	now := make([]effectResult, len(w.results))
	var items []OfferItem
	var rules, wider, exact []string
	add := func(q *MemoryQuery, p *Proposal) {
		items = append(items, OfferItem{Query: q, Level: p.Level})
		if !slices.Contains(rules, p.Rule) {
			rules = append(rules, p.Rule)
			if p.Level > 0 {
				wider = append(wider, cmp.Or(p.Label, p.Rule))
			} else {
				exact = append(exact, p.Rule)
			}
		}
	}
	for _, inherent := range []bool{false, true} {
		for i := range w.results {
			eff := &w.query.All[i]
			if eff.Inherent() != inherent {
				continue
			}
			v := w.inputs[i]
			if inherent && eff.Via.Effect >= 0 && eff.Via.Effect < len(now) {
				v.run = &now[eff.Via.Effect]
			}
			if now[i] = precede(eff, &v); now[i].verdict == Allow {
				continue
			}
			if v.run == nil && len(w.claims[i]) > 0 {
				if o, ok := claimedWidth(w.claims[i], level, add); ok {
					v.run = &o
					if now[i] = precede(eff, &v); now[i].verdict == Allow {
						continue
					}
					return OfferSet{}, false
				}
			}
			p, o := w.widest(i, level, &v)
			if p == nil {
				w.why = w.whyNot(i, &now[i])
				return OfferSet{}, false
			}
			now[i] = o
			add(w.ask(i), p)
		}
	}
	if len(items) == 0 {
		return OfferSet{}, false // the question has another reason than an effect
	}
	set := OfferSet{Items: items, Width: Width{Rule: strings.Join(rules, "\n"), Label: exactLabel(items, w.contents), Scope: w.scope()}}
	if wider != nil {
		set.Label = strings.Join(wider, ", ")
		if exact != nil {
			set.Label += "; and exactly " + strings.Join(exact, ", ")
		}
		if set.Scope == "project" || set.Scope == "session" {
			set.Label += " (in this " + set.Scope + ")"
		}
		if utf8.RuneCountInString(set.Label) > maxWideLabel {
			w.why = "what it would cover is too long to be shown"
			return OfferSet{}, false
		}
	}
	return set, true
}

// whyNot says why no choice would answer the ask about an effect.
func (w *widthSearch) whyNot(i int, o *effectResult) string {
	if refuser, ok := w.engine.proposer.(Refuser); ok {
		if err := refuser.WhyNot(w.ask(i)); err != nil {
			return err.Error()
		}
	}
	switch o.row {
	case RowOrgAsk:
		return "a rule of org asks each time: " + o.reason
	case RowFirmAsk:
		return "a rule asks each time: " + o.reason
	case RowGuarded:
		return "what is guarded is only remembered by its exact path"
	}
	return "no choice would answer it: " + o.reason
}

// widest returns the widest proposal for an effect, up to a level, with which the
// precedence table allows the effect.
func (w *widthSearch) widest(i, level int, v *effectInputs) (*Proposal, effectResult) {
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
	return nil, effectResult{}
}

// scope returns the default scope of a width, "" if the person must name one.
func (w *widthSearch) scope() string {
	// What was chosen before is renewed where it applied.
	for i := range w.results {
		if o := w.results[i].outdated; o != nil {
			return o.Scope
		}
	}
	switch {
	case w.query.Project != "":
		return "project"
	case w.query.Session.ID != "" && !w.query.Session.OneRequest:
		return "session"
	}
	return ""
}

// rejectable returns the reject of the call that could be remembered, nil if none can.
func (w *widthSearch) rejectable() *Rejection {
	for i := range w.results {
		if kind := w.query.All[i].Kind; kind == effects.KindQuestion || kind == effects.KindMode {
			return nil // answers are never remembered
		}
	}
	r := &Rejection{Query: w.query, Asked: w.asked()}
	if len(r.Asked) == 0 {
		r.Asked = rejected(&r.Query)
	}
	if !w.engine.proposer.Rejectable(r) {
		return nil
	}
	return r
}

// asked returns the indexes of the effects that the table asks about by themselves, not
// because of the call as a whole. Effects inherent to a run that is asked about are part
// of that run.
func (w *widthSearch) asked() []int {
	own := make([]effectResult, len(w.results))
	var list []int
	for _, inherent := range []bool{false, true} {
		for i := range w.results {
			eff := &w.query.All[i]
			if eff.Inherent() != inherent {
				continue
			}
			v := w.inputs[i]
			v.person = ""
			var run *effectResult
			if inherent && eff.Via.Effect >= 0 && eff.Via.Effect < len(own) {
				run = &own[eff.Via.Effect]
			}
			v.run = run
			own[i] = precede(eff, &v)
			if own[i].verdict == Ask && (run == nil || run.verdict != Ask) {
				list = append(list, i)
			}
		}
	}
	slices.Sort(list)
	return list
}
