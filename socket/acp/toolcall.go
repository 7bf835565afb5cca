package acp

import (
	"fmt"
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// patch is what one message says of a tool call; nil members are not in it.
type patch struct {
	id        string
	name      *string
	title     *string
	kind      *string
	ended     bool // the status says that the call is over
	input     strictjson.Value
	locations []effects.Location // not nil when the message has the member
	content   *content
	meta      strictjson.Value
	defects   []effects.Defect
}

// content is what permd reads of a call's content. The text of files stays in
// the message: no rule needs it.
type content struct {
	diffs []effects.Diff
	texts []string
}

// toolCallMembers are the names of a tool call's members. sessionUpdate is
// that of session/update, whose tool call stands beside it.
var toolCallMembers = []string{
	"toolCallId", "title", "name", "kind", "status", "content", "locations",
	"rawInput", "rawOutput", "_meta", "sessionUpdate",
}

// kinds are the tool kinds of version 1; every other word is read as "other".
var kinds = []string{
	"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other",
}

// parseToolCall reads a ToolCall or ToolCallUpdate. It fails only when the
// object has no id or can be read in two ways.
func parseToolCall(v strictjson.Value, at string) (*patch, error) {
	o, err := object(v, at, toolCallMembers...)
	if err != nil {
		return nil, err
	}
	p := new(patch)
	if p.id, err = identifier(o, "toolCallId", at+".toolCallId"); err != nil {
		return nil, err
	}
	l := new(lenient)
	p.name = l.text(o, "name", "name")
	p.title = l.text(o, "title", "title")
	if p.kind = l.text(o, "kind", "kind"); p.kind != nil && !slices.Contains(kinds, *p.kind) {
		other := "other"
		p.kind = &other
	}
	if status := l.text(o, "status", "status"); status != nil {
		switch *status {
		case "pending", "in_progress":
		case "completed", "failed":
			p.ended = true
		default:
			l.drop("status", "is not a status of this version and was left out")
		}
	}
	if v, ok := l.get(o, "rawInput"); ok {
		p.input = v
	}
	p.meta = l.meta(o, "_meta")
	if p.locations, err = l.locations(o); err != nil {
		return nil, err
	}
	if p.content, err = l.content(o); err != nil {
		return nil, err
	}
	p.defects = l.defects
	return p, nil
}

// locations reads the paths that the agent says its call touches.
func (l *lenient) locations(o strictjson.Object) ([]effects.Location, error) {
	items, ok := l.items(o, "locations")
	if !ok {
		return nil, nil
	}
	list := make([]effects.Location, 0, len(items))
	for i, item := range items {
		at := fmt.Sprintf("locations[%d]", i)
		if strictjson.Kind(item) != '{' {
			l.drop(at, "is not an object and was left out")
			continue
		}
		loc, err := object(item, at, "path", "line", "_meta")
		if err != nil {
			return nil, err
		}
		if line, ok := l.get(loc, "line"); ok && strictjson.Kind(line) != '0' {
			l.drop(at+".line", "is not a number and was left out")
		}
		path := l.required(loc, at, "path")
		if path == nil {
			continue
		}
		list = append(list, effects.Location{Path: *path, From: at + ".path"})
	}
	return list, nil
}

// required reads a string without which the schema skips its item.
func (l *lenient) required(o strictjson.Object, at, name string) *string {
	v, _ := o.Get(name)
	s, ok := strictjson.ParseString(v)
	if !ok {
		l.drop(at, "has no "+name+" that is a string and was left out")
		return nil
	}
	return &s
}

// content reads the texts and diffs of a call.
func (l *lenient) content(o strictjson.Object) (*content, error) {
	items, ok := l.items(o, "content")
	if !ok {
		return nil, nil
	}
	c := new(content)
	for i, item := range items {
		at := fmt.Sprintf("content[%d]", i)
		if strictjson.Kind(item) != '{' {
			l.drop(at, "is not an object and was left out")
			continue
		}
		o, err := object(item, at, "type", "content", "path", "oldText", "newText", "deleted", "terminalId", "_meta")
		if err != nil {
			return nil, err
		}
		typ := l.required(o, at, "type")
		if typ == nil {
			continue
		}
		switch *typ {
		case "content":
			err = l.block(c, o, at)
		case "diff":
			err = l.diff(c, o, at)
		case "terminal":
			l.required(o, at, "terminalId")
		default:
			l.drop(at, "is of a type that this version does not have and was left out")
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// block reads a content block; only text says something of a call.
func (l *lenient) block(c *content, o strictjson.Object, at string) error {
	v, _ := o.Get("content")
	if strictjson.Kind(v) != '{' {
		l.drop(at, "has no content that is an object and was left out")
		return nil
	}
	b, err := object(v, at+".content", "type", "text", "annotations", "data", "mimeType", "uri", "name", "resource", "_meta")
	if err != nil {
		return err
	}
	typ := l.required(b, at, "type")
	if typ == nil {
		return nil
	}
	switch *typ {
	case "text":
		if text := l.required(b, at, "text"); text != nil {
			c.texts = append(c.texts, *text)
		}
	case "image", "audio", "resource", "resource_link":
	default:
		l.drop(at, "is a block of a type that this version does not have and was left out")
	}
	return nil
}

// diff reads which file a diff changes, and how if that is said: neither a
// null oldText nor an empty newText proves anything.
func (l *lenient) diff(c *content, o strictjson.Object, at string) error {
	path := l.required(o, at, "path")
	if path == nil {
		return nil
	}
	if v, _ := o.Get("newText"); strictjson.Kind(v) != '"' {
		l.drop(at, "has no newText that is a string and was left out")
		// The path is real even so; what is known of it is worth more to a
		// deny than the schema's tolerance.
	}
	if v, ok := l.get(o, "oldText"); ok && strictjson.Kind(v) != '"' {
		l.drop(at+".oldText", "is not a string and was left out")
	}
	d := effects.Diff{Path: *path, From: at}
	if v, _ := o.Get("deleted"); strictjson.Kind(v) == 't' {
		d.Operation = "delete"
	}
	if meta := l.meta(o, at+"._meta"); meta != nil {
		m, err := strictjson.ParseObject(meta)
		if err != nil {
			return refuse("reading %s._meta: %v", at, err)
		}
		v, _ := m.Get("kind")
		kind, _ := strictjson.ParseString(v)
		switch kind {
		case "add", "delete", "move", "copy":
			d.Operation = kind
		case "modify", "update":
			// It never unsays a deletion.
			if d.Operation == "" {
				d.Operation = "modify"
			}
		}
	}
	c.diffs = append(c.diffs, d)
	return nil
}
