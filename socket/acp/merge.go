package acp

import (
	"bytes"
	"slices"

	"github.com/permd/permd/decisions/effects"
)

// toolCall is a call as merged from all messages so far.
type toolCall struct {
	id string
	facts
	defects []effects.Defect
	// status is the last one that was said. It is none of the facts: an agent that
	// says another one in a request does not contradict itself.
	status string
	// missing is why messages about the call may be lost; "" if none are.
	missing string
	// unclear are members that a null has cleared if the session has version 2 (see
	// version); unsure are those for which a request had a different value.
	unclear, unsure members
	// extra is set if more was said of the call than its name, see noteDescribed.
	extra bool
	// retracted is set if a diff was announced that the call has no more.
	retracted bool
	// tool is what messages so far said of whose tool it is, whatever later ones took back.
	tool toolIdentity
	// other is the call as it was before a message named another tool; nil if none did.
	other *facts

	lastUsed uint64 // for eviction: time of the last message about it
}

// changes returns the members that the message changes or clears.
func (p *patch) changes(v version) members {
	if p.more {
		return 0
	}
	if v == version2 {
		return p.set | p.null
	}
	return p.set
}

// merge applies a message: a member that is not in it is kept, an array
// replaces. The receiver's slices are never changed in place, so a copy of it
// stays as it was.
func (t *toolCall) merge(p *patch, v version) {
	before := t.facts
	switch {
	case p.more:
		t.add(p)
	default:
		t.copyMembers(p.set, &p.facts)
	}
	if p.status != "" || p.noStatus && v == version2 {
		t.status = p.status
	}
	switch v {
	case version2:
		t.copyMembers(p.null, new(facts))
	case 0:
		t.unclear |= p.null & t.has()
	case version1:
	}
	t.retracted = t.retracted || slices.ContainsFunc(before.diffs, func(d effects.Diff) bool { return !slices.Contains(t.diffs, d) })
	t.unclear &^= p.changes(v)
	t.unsure &^= p.changes(v)
	t.defects = slices.Clip(t.defects)
	for _, d := range p.defects {
		t.defects = addDefect(t.defects, d)
	}
	if d := t.tool.become(identityOf(&p.facts)); d != nil {
		t.defects = addDefect(t.defects, *d)
		if t.other == nil {
			other := before
			t.other = &other
		}
	}
}

// add adds an item of content.
func (t *toolCall) add(p *patch) {
	if len(t.diffs)+len(t.texts)+len(p.diffs)+len(p.texts) > maxItems {
		l := new(lenient)
		l.drop("content", "grew to more items than are kept; the others were left out")
		t.defects = addDefect(slices.Clip(t.defects), l.defects[0])
		return
	}
	t.diffs = append(slices.Clip(t.diffs), p.diffs...)
	t.texts = append(slices.Clip(t.texts), p.texts...)
}

// copyMembers copies the members from from.
func (f *facts) copyMembers(which members, from *facts) {
	if which&memberName != 0 {
		f.name = from.name
	}
	if which&memberTitle != 0 {
		f.title = from.title
	}
	if which&memberKind != 0 {
		f.kind = from.kind
	}
	if which&memberInput != 0 {
		f.input = from.input
	}
	if which&memberMeta != 0 {
		f.meta = from.meta
	}
	if which&memberLocations != 0 {
		f.locations = from.locations
	}
	if which&memberContent != 0 {
		f.diffs, f.texts = from.diffs, from.texts
	}
}

// has returns the members that are present.
func (f *facts) has() members { return f.differing(new(facts)) }

// differing returns the members that differ.
func (f *facts) differing(g *facts) (m members) {
	for _, c := range []struct {
		member members
		same   bool
	}{
		{memberName, f.name == g.name},
		{memberTitle, f.title == g.title},
		{memberKind, f.kind == g.kind},
		{memberInput, bytes.Equal(f.input, g.input)},
		{memberMeta, bytes.Equal(f.meta, g.meta)},
		{memberLocations, slices.Equal(f.locations, g.locations)},
		{memberContent, slices.Equal(f.diffs, g.diffs) && slices.Equal(f.texts, g.texts)},
	} {
		if !c.same {
			m |= c.member
		}
	}
	return m
}

// contradicted returns the members for which a request has another value than the merged
// call.
func (t *toolCall) contradicted(p *patch, v version) members {
	after := t.facts
	after.copyMembers(p.set, &p.facts)
	if v == version2 {
		after.copyMembers(p.null, new(facts))
	}
	return t.differing(&after)
}

// size estimates the bytes that the call uses.
func (t *toolCall) size() int {
	const overhead = 512
	n := overhead + len(t.id) + len(t.name) + len(t.title) + len(t.kind) + len(t.input) + len(t.meta)
	for _, l := range t.locations {
		n += len(l.Path) + 64
	}
	for _, d := range t.diffs {
		n += len(d.Path) + len(d.OldPath) + 96
	}
	for _, s := range t.texts {
		n += len(s) + 16
	}
	for _, d := range t.defects {
		n += len(d.Text) + 64
	}
	if t.other != nil {
		other := toolCall{facts: *t.other}
		n += other.size()
	}
	return n
}
