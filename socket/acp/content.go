package acp

import (
	"fmt"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// locations reads the paths that the agent says its call touches; false if the message
// has none.
func (l *lenient) locations(o strictjson.Object) ([]effects.Location, bool, error) {
	items, ok := l.items(o, "locations", "locations")
	if !ok {
		return nil, false, nil
	}
	list := make([]effects.Location, 0, len(items))
	for i, item := range items {
		at := locationPlaces.at(i)
		if strictjson.Kind(item) != '{' {
			l.drop(at, "is not an object and was left out")
			continue
		}
		loc, err := object(item, at, "path", "line", "_meta")
		if err != nil {
			return nil, false, err
		}
		if line, ok := l.get(loc, "line"); ok && strictjson.Kind(line) != '0' {
			l.drop(at+".line", "is not a number and was left out")
		}
		path, ok := l.requiredText(loc, at, "path")
		if !ok {
			continue
		}
		list = append(list, effects.Location{Path: path, From: locationPaths.at(i)})
	}
	return list, true, nil
}

// requiredText reads a string without which the schema skips its item.
func (l *lenient) requiredText(o strictjson.Object, at, name string) (string, bool) {
	v, _ := o.Get(name)
	s, ok := strictjson.ParseString(v)
	if !ok {
		l.drop(at, "has no "+name+" that is a string and was left out")
	}
	return s, ok
}

// content reads the texts and diffs of a call; false if the message has none.
func (l *lenient) content(o strictjson.Object, into *facts) (bool, error) {
	items, ok := l.items(o, "content", "content")
	if !ok {
		return false, nil
	}
	for i, item := range items {
		if err := l.item(into, item, contentPlaces.at(i), contentBlocks.at(i)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// item reads one item of a call's content, whose own content is at blockAt.
func (l *lenient) item(into *facts, item strictjson.Value, at, blockAt string) error {
	if strictjson.Kind(item) != '{' {
		l.drop(at, "is not an object and was left out")
		return nil
	}
	o, err := object(item, at, "type", "content", "path", "oldText", "newText", "deleted", "terminalId", "changes", "patch", "_meta")
	if err != nil {
		return err
	}
	typ, ok := l.requiredText(o, at, "type")
	if !ok {
		return nil
	}
	switch typ {
	case "content":
		return l.block(into, o, at, blockAt)
	case "diff":
		return l.diff(into, o, at)
	case "terminal":
		l.requiredText(o, at, "terminalId")
	default:
		l.unknownType(typ, at, "is of a type that this version does not have and was left out")
	}
	return nil
}

// unknownType records a type that permd does not know. Version 2 lets anyone add types
// that begin with an underscore, which clients ignore; all others may come from a later
// version.
func (l *lenient) unknownType(typ, at, why string) {
	if l.version != version2 || !strings.HasPrefix(typ, "_") {
		l.drop(at, why)
	}
}

// block reads a content block; only text describes a call.
func (l *lenient) block(into *facts, o strictjson.Object, at, blockAt string) error {
	v, _ := o.Get("content")
	if strictjson.Kind(v) != '{' {
		l.drop(at, "has no content that is an object and was left out")
		return nil
	}
	b, err := object(v, blockAt, "type", "text", "annotations", "data", "mimeType", "uri", "name", "resource", "_meta")
	if err != nil {
		return err
	}
	typ, ok := l.requiredText(b, at, "type")
	if !ok {
		return nil
	}
	switch typ {
	case "text":
		if text, ok := l.requiredText(b, at, "text"); ok {
			into.texts = append(into.texts, text)
		}
	case "image", "audio", "resource", "resource_link":
	default:
		l.unknownType(typ, at, "is a block of a type that this version does not have and was left out")
	}
	return nil
}

// diff reads which files a diff changes: one path in version 1, a list of changes in
// version 2. If the version is not known, the members present decide.
func (l *lenient) diff(into *facts, o strictjson.Object, at string) error {
	_, list := o.Get("changes")
	_, path := o.Get("path")
	switch {
	case l.version == version2, list && !path && l.version == 0:
		if path {
			l.drop(at+".path", "is that of another version of the protocol and was left out")
		}
		return l.changes(into, o, at)
	case list:
		l.drop(at+".changes", "is that of another version of the protocol and was left out")
	}
	return l.change(into, o, at)
}

// change reads which file a diff changes, and how if that is said: neither a
// null oldText nor an empty newText proves anything.
func (l *lenient) change(into *facts, o strictjson.Object, at string) error {
	path, ok := l.requiredText(o, at, "path")
	if !ok {
		return nil
	}
	if v, _ := o.Get("newText"); strictjson.Kind(v) != '"' {
		l.drop(at, "has no newText that is a string and was left out")
		// The path is used nevertheless: a deny needs it.
	}
	if v, ok := l.get(o, "oldText"); ok && strictjson.Kind(v) != '"' {
		l.drop(at+".oldText", "is not a string and was left out")
	}
	d := effects.Diff{Path: path, From: at}
	if v, _ := o.Get("deleted"); strictjson.Kind(v) == 't' {
		d.Operation = "delete"
	}
	if meta := l.meta(o, at+"._meta"); meta != nil {
		m, err := strictjson.ParseObject(meta)
		if err != nil {
			return socket.Refuse("reading %s._meta: %v", at, err)
		}
		v, _ := m.Get("kind")
		kind, _ := strictjson.ParseString(v)
		switch kind {
		case "add", "delete", "move", "copy":
			d.Operation = kind
		case "modify", "update":
			// It never cancels a deletion.
			if d.Operation == "" {
				d.Operation = "modify"
			}
		}
	}
	into.diffs = append(into.diffs, d)
	return nil
}

// changes reads the files that a diff of version 2 changes. The patch is only
// for display: by the protocol the changes count.
func (l *lenient) changes(into *facts, o strictjson.Object, at string) error {
	items, ok := l.items(o, "changes", at+".changes")
	if !ok {
		l.drop(at, "has no changes that are a list and was left out")
		return nil
	}
	for i, item := range items {
		at := fmt.Sprintf("%s.changes[%d]", at, i)
		if strictjson.Kind(item) != '{' {
			l.drop(at, "is not an object and was left out")
			continue
		}
		c, err := object(item, at, "operation", "path", "oldPath", "fileType", "mimeType", "_meta")
		if err != nil {
			return err
		}
		op, named := l.requiredText(c, at, "operation")
		path, ok := l.requiredText(c, at, "path")
		if !ok {
			continue
		}
		d := effects.Diff{Path: path, From: at}
		if old, ok := l.get(c, "oldPath"); ok {
			if d.OldPath, ok = strictjson.ParseString(old); !ok {
				l.drop(at+".oldPath", "is not a string and was left out")
			}
		}
		switch {
		case !named:
		case op == "add", op == "modify", op == "delete":
			d.Operation = op
			if d.OldPath != "" {
				l.drop(at+".oldPath", "has no meaning for this operation")
			}
		case op == "move", op == "copy":
			d.Operation = op
			if d.OldPath == "" {
				l.drop(at, "has no oldPath that is a string")
			}
		default:
			// What it does with the path is not known.
			l.drop(at+".operation", "is not an operation of this version and was left out")
		}
		into.diffs = append(into.diffs, d)
	}
	return nil
}
