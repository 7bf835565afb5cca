package remember

import (
	"cmp"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/targets"
	"github.com/permd/permd/remember/facts"
)

// An allow of a run that executes files of the project is bound to their content, by a
// hash. Once the content differs it matches nothing, and the person is asked again. So
// that they are told why, and what has changed, an allow also has a digest of its facts
// without the content, the words for what it is bound to, and the text of that if it is
// a short part of a file: a script of package.json, a target of a makefile. Nothing is
// ever allowed by any of these.

var _ decisions.Renewer = (*Store)(nil)

// binding is what an allow is bound to. It is stored in JSON; once the choice has ended, without
// the text.
type binding struct {
	// What names a file, or a part of one, with the path from the project's root.
	What string `json:"what"`
	// Text is that part as it may be shown, secrets masked; "" for what is long, and for
	// whole files.
	Text string `json:"text,omitzero"`
	// Erased is set if the text was erased, since the choice had ended.
	Erased bool `json:"erased,omitzero"`
	// Loose is the digest of the facts without the content.
	Loose []byte `json:"loose,omitzero"`
}

// boundOf returns what an allow of the effect of q is bound to, nil if to no content.
func (s *Store) boundOf(e *entry, q *decisions.MemoryQuery) *binding {
	script := facts.ScriptOf(q)
	if q.Effect.Run == nil || script == nil || script.SHA256 == "" || script.Path == "" {
		return nil
	}
	b := &binding{What: targets.NameOf(script, q.Project)}
	if !s.options.KeepNoText {
		b.Text = targets.ShownText(script)
	}
	if e.line == nil {
		f := e.form(q)
		f.Unbound = true
		if sum, ok := s.key.digestOf(q, f); ok {
			b.Loose = sum[:]
		}
	}
	return b
}

// loose returns the digest of the facts without content; false if there is none.
func (e *entry) loose() (digest, bool) {
	if e.bound == nil || len(e.bound.Loose) != len(digest{}) || e.choice.Verdict != decisions.Allow {
		return digest{}, false
	}
	return digest(e.bound.Loose), true
}

// Outdated returns the choice that would cover the effect of q but for the content that
// it is bound to, nil if there is none.
func (s *Store) Outdated(q *decisions.MemoryQuery) *decisions.Outdated {
	st := s.state.Load()
	if st.off != nil || q.Effect.Run == nil {
		return nil
	}
	e := st.index.outdated(&s.key, q, s.latest(q.Now.UnixNano()))
	if e == nil {
		return nil
	}
	pins, now := &e.choice.Pins, facts.ScriptOf(q)
	o := &decisions.Outdated{
		ChoiceID: e.choice.ID, What: e.boundTo(), How: decisions.ContentChanged, Since: e.choice.Created, Scope: string(e.choice.Scope.Kind),
	}
	switch {
	case now == nil || now.SHA256 == "":
		o.How = decisions.ContentUnknown
	case now.Path != pins.Script:
		o.How = decisions.ContentOther
	case pins.SHA256 == now.SHA256:
		return nil // it has another reason
	case e.bound != nil && e.bound.Text != "" && !s.options.KeepNoText:
		if text := targets.ShownText(now); text != "" {
			o.Was, o.Now = e.bound.Text, text
		}
	}
	return o
}

// boundTo names what an allow is bound to; those of earlier versions name the file.
func (e *entry) boundTo() string {
	if e.bound != nil {
		return e.bound.What
	}
	project := cmp.Or(e.choice.Pins.Project, e.choice.Scope.Key)
	return targets.NameOf(&effects.Script{Path: e.choice.Pins.Script}, project)
}

// outdated returns the newest allow that is kept from covering the effect of q by content
// alone; of several one that is bound to the same file.
func (x *index) outdated(key *hashKey, q *decisions.MemoryQuery, newest int64) *entry {
	if x.numBound == 0 {
		return nil
	}
	s := search{x: x, key: key, q: q, now: newest, newest: newest, loosely: true}
	for _, f := range []facts.Form{{Unbound: true}, {Unbound: true, Absolute: true}} {
		if f.Absolute && x.absolutes == 0 {
			continue
		}
		f.Variables = facts.SetsVariables(q.Effect)
		if d, ok := key.digestOf(q, f); ok {
			s.check(x.bound[d[0]][d])
		}
	}
	x.lines.search(&s)
	return s.allow
}

// fresher reports whether a choice that is outdated tells more than another.
func (e *entry) fresher(than *entry, q *decisions.MemoryQuery) bool {
	if now := facts.ScriptOf(q); now != nil {
		if same := e.choice.Pins.Script == now.Path; same != (than.choice.Pins.Script == now.Path) {
			return same
		}
	}
	return e.choice.Created.After(than.choice.Created)
}

// renewedBy returns the choices that a new one takes the place of: those about the same
// call with the same width and scope, bound to an earlier content of the same file.
func (s *Store) renewedBy(e *entry, d *Draft) (old []*entry) {
	if e.bound == nil || e.choice.Verdict != decisions.Allow {
		return nil
	}
	found := s.state.Load().index.bound
	var candidates []*entry
	if loose, ok := e.loose(); ok {
		candidates = found[loose[0]][loose]
	} else if e.line != nil {
		candidates = s.candidates(e)
	}
	a := &e.choice
	for _, other := range candidates {
		b := &other.choice
		if other == e || b.Verdict != a.Verdict || b.UID != a.UID || b.Scope != a.Scope || other.life != e.life || (e.line == nil) != (other.line == nil) ||
			e.line != nil && (a.Kind != b.Kind || a.Label != b.Label) || b.Pins.Script != a.Pins.Script || b.Pins.SHA256 == a.Pins.SHA256 || b.Pins.SHA256 == "" ||
			b.Created.After(a.Created) || !s.wouldCover(other, d.Query) {
			continue
		}
		if !slices.Contains(old, other) {
			old = append(old, other)
		}
	}
	return old
}

// wouldCover reports whether only the content keeps a choice from covering the effect of q.
func (s *Store) wouldCover(e *entry, q *decisions.MemoryQuery) bool {
	if e.line != nil {
		return e.covers(q) && e.matchesLoosely(q)
	}
	return e.covers(q)
}
