package acp

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// facts are the members of a tool call that permd reads.
type facts struct {
	name  string
	title string
	kind  string
	input strictjson.Value
	meta  strictjson.Value
	// The agent's claims about paths that its call touches, and the call's content. The
	// text of files is not kept: no rule needs it.
	locations []effects.Location
	diffs     []effects.Diff
	texts     []string
}

// members is a set of members of a tool call.
type members uint8

const (
	memberName members = 1 << iota
	memberTitle
	memberKind
	memberInput
	memberMeta
	memberLocations
	memberContent
)

// patch is the content of one message about a tool call.
type patch struct {
	id string
	facts
	set  members // members that are present
	null members // members that are null
	// more is set if the content is to be appended.
	more bool
	// extra is set if there are members besides those of namedOnly, or one of these says that
	// something may be changed or that the call is under way.
	extra bool
	// status is the word for rules (effects.Claims.Status), and noStatus set if it is null.
	status   string
	noStatus bool
	ended    bool // the status says that the call has ended
	ran      bool // the status says that the call has run to its end
	defects  []effects.Defect
}

// toolCallMembers are the names of a tool call's members. sessionUpdate is
// that of session/update, which has the tool call next to it.
var toolCallMembers = []string{
	"toolCallId", "title", "name", "kind", "status", "content", "locations",
	"rawInput", "rawOutput", "_meta", "sessionUpdate",
}

// namedOnly are the members that say what a call is without saying what it does, and
// namedKinds the kinds of calls that change nothing.
var namedOnly = []string{"toolCallId", "title", "kind", "status", "sessionUpdate"}

var namedKinds = []string{"read", "search", "think"}

// hasExtra reports whether an object has members besides some, null or known or not.
func hasExtra(o strictjson.Object, some ...string) bool {
	return slices.ContainsFunc(o, func(m strictjson.Member) bool { return !slices.Contains(some, m.Name) })
}

// kinds are the known tool kinds; every other word is read as "other", as version 1
// requires, and as a client of version 2 shows a word that it does not know.
var kinds = []string{
	"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other",
}

// parseToolCall reads a ToolCall or ToolCallUpdate. It fails only if the object has no
// id or is ambiguous.
func parseToolCall(v strictjson.Value, at string, ver version) (*patch, error) {
	o, err := object(v, at, toolCallMembers...)
	if err != nil {
		return nil, err
	}
	p := &patch{extra: hasExtra(o, namedOnly...)}
	if p.id, err = identifier(o, "toolCallId", at); err != nil {
		return nil, err
	}
	l := &lenient{version: ver}
	p.word(l, o, "name", memberName, &p.name)
	p.word(l, o, "title", memberTitle, &p.title)
	p.word(l, o, "kind", memberKind, &p.kind)
	if p.set&memberKind != 0 && !slices.Contains(kinds, p.kind) {
		p.kind = "other"
	}
	if _, ok := o.Get("status"); ok && text(v, "status") != "pending" || p.set&memberKind != 0 && !slices.Contains(namedKinds, p.kind) {
		p.extra = true
	}
	p.ended = l.ended(o)
	p.readStatus(o)
	// A call that failed may have been refused, and one may be in progress while it waits.
	p.ran = p.ended && text(v, "status") == "completed"
	p.note(o, "rawInput", memberInput)
	if v, ok := l.get(o, "rawInput"); ok {
		p.input, p.set = v, p.set|memberInput
	}
	p.note(o, "_meta", memberMeta)
	if p.meta = l.meta(o, "_meta"); p.meta != nil {
		p.set |= memberMeta
	}
	p.note(o, "locations", memberLocations)
	locations, ok, err := l.locations(o)
	if err != nil {
		return nil, err
	}
	if ok {
		p.locations, p.set = locations, p.set|memberLocations
	}
	p.note(o, "content", memberContent)
	if ok, err = l.content(o, &p.facts); err != nil {
		return nil, err
	}
	if ok {
		p.set |= memberContent
	}
	p.defects = l.defects
	return p, nil
}

// parseChunk reads one item that is appended to a call's content.
func parseChunk(v strictjson.Value, at string, ver version) (*patch, error) {
	o, err := object(v, at, "toolCallId", "content", "_meta", "sessionUpdate")
	if err != nil {
		return nil, err
	}
	p := &patch{more: true, extra: true, set: memberContent}
	if p.id, err = identifier(o, "toolCallId", at); err != nil {
		return nil, err
	}
	l := &lenient{version: ver}
	item, _ := o.Get("content")
	if err := l.item(&p.facts, item, "content", "content.content"); err != nil {
		return nil, err
	}
	p.defects = l.defects
	return p, nil
}

// note records that a member is null.
func (p *patch) note(o strictjson.Object, name string, m members) {
	if v, ok := o.Get(name); ok && strictjson.Kind(v) == 'n' {
		p.null |= m
	}
}

// word reads a member that is a string.
func (p *patch) word(l *lenient, o strictjson.Object, name string, m members, into *string) {
	p.note(o, name, m)
	if s, ok := l.text(o, name, name); ok {
		*into, p.set = s, p.set|m
	}
}

// readStatus reads how far the agent says that the call is.
func (p *patch) readStatus(o strictjson.Object) {
	v, ok := o.Get("status")
	if !ok {
		return
	}
	s, isText := strictjson.ParseString(v)
	if !isText {
		p.noStatus = strictjson.Kind(v) == 'n'
		return
	}
	p.status = "other"
	if i := slices.Index(statuses, s); i >= 0 {
		p.status = statuses[i] // not a part of the message
	}
}

var statuses = []string{"pending", "in_progress", "completed", "failed", "cancelled"}

// ended reports whether the status says that the call has ended. Version 2 has one more
// word for that, and may get others.
func (l *lenient) ended(o strictjson.Object) bool {
	status, ok := l.text(o, "status", "status")
	if !ok {
		return false
	}
	switch status {
	case "pending", "in_progress":
		return false
	case "completed", "failed":
		return true
	case "cancelled":
		if l.version != version1 {
			return true
		}
	}
	if l.version != version2 {
		l.drop("status", "is not a status of this version and was left out")
	}
	return false
}
