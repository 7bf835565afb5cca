package mcp

import (
	"slices"

	"github.com/permd/permd/internal/strictjson"
)

// maxBegun is how many lists the client may have begun to read.
const maxBegun = 16

// cursorOf returns the cursor of a request for a page of tools, "" for the first page.
func cursorOf(m *message) string {
	if m.method != methodListTools {
		return ""
	}
	cursor, _ := strictjson.ParseString(strictjson.Find(m.params, "cursor"))
	return cursor
}

// tell notes what the client is told in the page with a cursor, and leaves out what is too much.
func (d *definitions) tell(l *toolList, cursor string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.told == nil {
		d.told = map[string]toldTool{}
	}
	unsent := map[string]bool{}
	for _, t := range l.tools {
		unsent[t.name] = unsent[t.name] || t.unsent
	}
	for _, name := range l.unsent {
		unsent[name] = true
		if t, known := d.told[name]; known {
			t.unsent = true
			d.told[name] = t
		}
	}
	l.tools = slices.DeleteFunc(l.tools, func(t listed) bool {
		before, known := d.told[t.name]
		now := with(before.digests, t.digest)
		if !known && len(d.told) >= maxTools || len(now) > maxDefinitions {
			l.leftOut = append(l.leftOut, "there are too many, or too many things are said of one")
			return true
		}
		d.told[t.name] = toldTool{digests: now, unsent: unsent[t.name], changes: d.changes}
		return false
	})
	d.read(l, cursor)
}

// read notes that the client has read a page. Once it has read all of a list, tools that are not
// in it are unlisted. What the client was told of them still counts if the server has them again,
// since the model may still know it. The caller holds d.mu.
func (d *definitions) read(l *toolList, cursor string) {
	names := map[string]bool{}
	if cursor != "" {
		if names = d.begun[cursor]; names == nil {
			return // it is a page of no list that was read from its beginning
		}
		delete(d.begun, cursor)
	}
	for _, t := range l.tools {
		names[t.name] = true
	}
	if l.cursor != "" {
		if d.begun == nil || len(d.begun) >= maxBegun {
			d.begun = map[string]map[string]bool{}
		}
		d.begun[l.cursor] = names
		return
	}
	for name, t := range d.told {
		t.unlisted = t.unlisted || !names[name]
		d.told[name] = t
	}
	d.renew()
}

// renew has the gateway ask again when it looks for a tool. The caller holds d.mu.
func (d *definitions) renew() {
	d.own = nil
	d.renewed++
}

// change notes that the server has other tools now.
func (d *definitions) change() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.renew()
	d.changes++
}

// find returns what the client was told of a tool. It is certain if the server has not said since
// that its tools have changed, and the tool was in the list that the client has read last.
func (d *definitions) find(name string) (t toldTool, certain bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, told := d.told[name]
	return t, told && !t.unlisted && t.changes == d.changes
}

// ownList returns what the gateway was told, nil if it has to ask, and how often it had to.
func (d *definitions) ownList() (own map[string]toldTool, renewed int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.own, d.renewed
}

// keep keeps what the gateway was told, if it has not to ask again meanwhile.
func (d *definitions) keep(own map[string]toldTool, renewed int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.renewed == renewed {
		d.own = own
	}
}
