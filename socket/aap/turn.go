package aap

import (
	"strings"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// item is one thing in a turn or a history that affects permissions. Items are kept in
// order. Texts, results and options are never kept.
type item struct {
	kind itemKind
	id   string // of the call, result or permission
	name string // of a call's tool
	// input is the input of a call's tool, nil if it was left out.
	input strictjson.Value
}

type itemKind uint8

const (
	itemCall itemKind = iota
	itemResult
	itemPermission // a permission that was given; servers do not store these
	itemUser       // a message of the user
)

// stopToolUse is the reason of a stop in which calls wait.
const stopToolUse = "tool_use"

// stopReasons are those of the protocol.
var stopReasons = []string{"end_turn", stopToolUse, "max_tokens", "refusal", "error"}

// turn is a turn that has stopped.
type turn struct {
	items []item
	stop  string
}

// readTurn reads the param turn, in one of its three forms.
func readTurn(v strictjson.Value) (*turn, error) {
	o, err := object("turn", v, "sse", "events", "stopReason", "messages")
	if err != nil {
		return nil, err
	}
	sse, isSSE := o.Get("sse")
	list, isEvents := o.Get("events")
	messages, isMessages := o.Get("messages")
	stop, hasStop := o.Get("stopReason")
	forms := 0
	for _, is := range []bool{isSSE, isEvents, isMessages || hasStop} {
		if is {
			forms++
		}
	}
	if forms != 1 {
		return nil, socket.Refuse("turn must hold one of sse, events, or stopReason with messages")
	}
	switch {
	case isSSE:
		text, ok := strictjson.ParseString(sse)
		if !ok {
			return nil, socket.Refuse("turn.sse must be text")
		}
		return readStream(text)
	case isEvents:
		return readEvents(list)
	}
	t := new(turn)
	var ok bool
	if t.stop, ok = strictjson.ParseString(stop); !ok {
		return nil, socket.Refuse("turn.stopReason must be text")
	}
	if t.items, err = readMessages("turn.messages", messages); err != nil {
		return nil, err
	}
	for _, it := range t.items {
		if it.kind == itemUser || it.kind == itemPermission {
			return nil, socket.Refuse("turn.messages holds a message of the client's")
		}
	}
	return t, t.check()
}

func (t *turn) check() error {
	if !isOneOf(t.stop, stopReasons) {
		return socket.Refuse("the turn's stopReason is not known")
	}
	return nil
}

// readStream reads a turn from its event stream.
func readStream(text string) (*turn, error) {
	list, err := parseSSE(text)
	if err != nil {
		return nil, err
	}
	var f turnReader
	for _, ev := range list {
		known, what := isOneOf(ev.name, events), "an event"
		if name := strings.TrimSpace(ev.name); known {
			what = name
		} else if almost(name, events) || isOneOf(name, events) {
			return nil, socket.Refuse("turn.sse: an event's name differs from a known one only by case or spaces")
		}
		data := strictjson.Value(ev.data)
		if known || strictjson.Kind(data) == '{' {
			if err := strictjson.Check(data); err != nil {
				return nil, socket.Refuse("turn.sse: reading the data of %s: %v", what, err)
			}
			if ev.isRenamed() {
				return nil, socket.Refuse("turn.sse: the data of %s names another event", what)
			}
		}
		if !known {
			continue
		}
		if err := f.event(ev.name, data, "turn.sse"); err != nil {
			return nil, err
		}
	}
	return f.turn("turn.sse")
}

// readEvents reads a turn from its events, each with its name as the member
// event.
func readEvents(v strictjson.Value) (*turn, error) {
	list, err := array("turn.events", v)
	if err != nil {
		return nil, err
	}
	var f turnReader
	for _, e := range list {
		o, err := object("an event", e, "event", "data", "type")
		if err != nil {
			return nil, err
		}
		raw, _ := o.Get("event")
		name, ok := strictjson.ParseString(raw)
		if !ok {
			return nil, socket.Refuse("turn.events: an event has no name")
		}
		if !isOneOf(name, events) {
			if almost(name, events) {
				return nil, socket.Refuse("turn.events: an event's name differs from a known one only by case")
			}
			continue
		}
		if _, ok := o.Get("data"); ok {
			return nil, socket.Refuse("turn.events: an event's members must stand beside its name, not in data")
		}
		if err := f.event(name, e, "turn.events"); err != nil {
			return nil, err
		}
	}
	return f.turn("turn.events")
}

// turnReader reads the events of a turn.
type turnReader struct {
	t              turn
	begun, stopped bool
}

func (f *turnReader) event(name string, data strictjson.Value, at string) error {
	switch {
	case f.stopped:
		return socket.Refuse("%s goes on after turn_stop", at)
	case f.begun == (name == "turn_start"):
		return socket.Refuse("%s must hold one turn_start, as its first event", at)
	case len(f.t.items) >= maxItems:
		return socket.Refuse("%s holds more than %d calls and results", at, maxItems)
	}
	switch name {
	case "turn_start":
		f.begun = true
	case "turn_stop":
		o, err := object("turn_stop", data, "stopReason")
		if err != nil {
			return err
		}
		raw, _ := o.Get("stopReason")
		f.t.stop, _ = strictjson.ParseString(raw)
		f.stopped = true
	case "tool_call":
		it, err := readCall(data)
		if err != nil {
			return err
		}
		f.t.items = append(f.t.items, it)
	case "tool_result":
		id, err := readID("tool_result", data)
		if err != nil {
			return err
		}
		f.t.items = append(f.t.items, item{kind: itemResult, id: id})
	}
	return nil
}

func (f *turnReader) turn(at string) (*turn, error) {
	if !f.stopped {
		return nil, socket.Refuse("%s ends before turn_stop: read the session's history, and send that", at)
	}
	return &f.t, f.t.check()
}

// readHistory reads the param history: a list of messages, or the server's response that
// contains one.
func readHistory(v strictjson.Value) ([]item, error) {
	if strictjson.Kind(v) != '{' {
		return readMessages("history", v)
	}
	o, err := object("history", v, "history", "full", "compacted")
	if err != nil {
		return nil, err
	}
	if inner, ok := o.Get("history"); ok {
		if o, err = object("history.history", inner, "full", "compacted"); err != nil {
			return nil, err
		}
	}
	full, isFull := o.Get("full")
	compacted, isCompacted := o.Get("compacted")
	switch {
	case isFull == isCompacted:
		return nil, socket.Refuse("history must hold one of full and compacted")
	case isFull:
		return readMessages("history.full", full)
	}
	return readMessages("history.compacted", compacted)
}

// readMessages reads the items of messages.
func readMessages(at string, v strictjson.Value) ([]item, error) {
	list, err := array(at, v)
	if err != nil {
		return nil, err
	}
	var items []item
	for _, m := range list {
		o, err := object("a message of "+at, m, "role", "content", "toolCallId")
		if err != nil {
			return nil, err
		}
		raw, _ := o.Get("role")
		role, _ := strictjson.ParseString(raw)
		switch role {
		case "system":
		case "user":
			items = append(items, item{kind: itemUser})
		case "assistant":
			content, _ := o.Get("content")
			if items, err = readBlocks(items, at, content); err != nil {
				return nil, err
			}
		case "tool", "tool_permission":
			id, err := readID(at, m)
			if err != nil {
				return nil, err
			}
			what := itemResult
			if role == "tool_permission" {
				what = itemPermission
			}
			items = append(items, item{kind: what, id: id})
		default:
			return nil, socket.Refuse("%s: a message has no role that is known", at)
		}
		if len(items) > maxItems {
			return nil, socket.Refuse("%s holds more than %d calls and results", at, maxItems)
		}
	}
	return items, nil
}

// readBlocks adds the calls of an assistant's message.
func readBlocks(items []item, at string, content strictjson.Value) ([]item, error) {
	if strictjson.Kind(content) == '"' {
		return items, nil
	}
	blocks, err := array("the content of an assistant's message in "+at, content)
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		o, err := object("a block of "+at, b, "type")
		if err != nil {
			return nil, err
		}
		raw, _ := o.Get("type")
		kind, ok := strictjson.ParseString(raw)
		switch {
		case !ok:
			return nil, socket.Refuse("%s: a block has no type", at)
		case kind == "tool_use":
			it, err := readCall(b)
			if err != nil {
				return nil, err
			}
			items = append(items, it)
		case almost(kind, []string{"tool_use"}):
			return nil, socket.Refuse("%s: a block's type differs from tool_use only by case", at)
		}
	}
	return items, nil
}

// readCall reads a call, from its event or its block.
func readCall(v strictjson.Value) (item, error) {
	o, err := object("a call", v, "toolCallId", "name", "input")
	if err != nil {
		return item{}, err
	}
	it := item{kind: itemCall}
	if it.id, err = name(o, "a call", "toolCallId"); err != nil {
		return item{}, err
	}
	if it.name, err = name(o, "a call", "name"); err != nil {
		return item{}, err
	}
	if input, ok := o.Get("input"); ok && strictjson.Kind(input) != 'n' {
		it.input = input
	}
	return it, nil
}

func readID(what string, v strictjson.Value) (string, error) {
	o, err := object(what, v, "toolCallId")
	if err != nil {
		return "", err
	}
	return name(o, what, "toolCallId")
}

// name returns a required member that is a text.
func name(o strictjson.Object, what, member string) (string, error) {
	raw, _ := o.Get(member)
	s, ok := strictjson.ParseString(raw)
	switch {
	case !ok || s == "":
		return "", socket.Refuse("%s: %s is missing or no text", what, member)
	case len(s) > socket.MaxName:
		return "", socket.Refuse("%s: %s is longer than %d bytes", what, member, socket.MaxName)
	}
	return s, nil
}

// object reads an object in which no member may be mistaken for a known one.
func object(what string, v strictjson.Value, known ...string) (strictjson.Object, error) {
	if strictjson.Kind(v) != '{' {
		return nil, socket.Refuse("%s must be an object", what)
	}
	o, err := strictjson.ParseObject(v)
	if err != nil {
		return nil, socket.Refuse("reading %s: %v", what, err)
	}
	if o.NearMiss(known...) != "" {
		return nil, socket.Refuse("%s: a member's name differs from a known one only by case", what)
	}
	return o, nil
}

func array(what string, v strictjson.Value) ([]strictjson.Value, error) {
	if strictjson.Kind(v) != '[' {
		return nil, socket.Refuse("%s must be a list", what)
	}
	list, err := strictjson.ParseArray(v)
	if err != nil {
		return nil, socket.Refuse("reading %s: %v", what, err)
	}
	return list, nil
}
