package aap

import (
	"strings"
	"unicode/utf8"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// sseEvent is one event of a stream.
type sseEvent struct {
	name string // "" for one without a name
	data string // its data lines, joined by newlines
}

// events are the names that are read. All others are ignored, unless a lenient
// reader would take one for one of these.
var events = []string{
	"turn_start", "text_delta", "thinking_delta", "text", "thinking", "tool_call", "tool_result", "turn_stop",
}

// fields are the names of the lines of an event stream.
var fields = []string{"event", "data", "id", "retry"}

// isRenamed reports whether other readers would give an event, whose data is
// JSON, another name: the protocol's own SDK takes a member event of the data
// for the name, even of events that have none.
func (ev *sseEvent) isRenamed() bool {
	raw := strictjson.Find(strictjson.Value(ev.data), "event")
	if raw == nil {
		return false
	}
	name, isText := strictjson.ParseString(raw)
	if isText && name == ev.name {
		return false
	}
	return isOneOf(ev.name, events) || isOneOf(name, events)
}

// parseSSE parses an event stream (text/event-stream of the HTML standard).
// Input that other readers parse differently is refused: a lone carriage
// return, which ends a line for some; two names of one event; a field in other
// letters or after a space. The last event may lack its empty line; the caller
// checks that the stream is complete.
func parseSSE(text string) ([]sseEvent, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	var list []sseEvent
	var ev sseEvent
	var named, some bool
	var data []string
	end := func() {
		if some {
			ev.data = strings.Join(data, "\n")
			list = append(list, ev)
		}
		ev, named, some, data = sseEvent{}, false, false, nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.ContainsRune(line, '\r') {
			return nil, socket.Refuse("turn.sse: a carriage return within a line can be read in two ways")
		}
		if hidesField(line) {
			return nil, socket.Refuse("turn.sse: a field stands behind a character that ends a line for some readers")
		}
		if line == "" {
			end()
			continue
		}
		if line[0] == ':' {
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			if named {
				return nil, socket.Refuse("turn.sse: an event has two names")
			}
			ev.name, named, some = value, true, true
		case "data":
			data, some = append(data, value), true
		case "id", "retry":
		default:
			if known := strings.TrimSpace(field); known != field && isOneOf(known, fields) || almost(known, fields) {
				return nil, socket.Refuse("turn.sse: a field differs from a known one only by case or spaces")
			}
		}
		if len(list) > maxItems || len(data) > maxItems {
			return nil, socket.Refuse("turn.sse: more than %d events", maxItems)
		}
	}
	end()
	return list, nil
}

// otherEnds end a line for readers that split text by Unicode's rules, as
// Python's splitlines does. In JSON they may occur within a text.
const otherEnds = "\v\f\x1c\x1d\x1e\u0085\u2028\u2029"

// hidesField reports whether a line would hold a field of its own for a reader
// that takes another character for its end.
func hidesField(line string) bool {
	for {
		i := strings.IndexAny(line, otherEnds)
		if i < 0 {
			return false
		}
		_, n := utf8.DecodeRuneInString(line[i:])
		line = line[i+n:]
		for _, f := range fields {
			if strings.HasPrefix(line, f+":") {
				return true
			}
		}
	}
}

// almost reports whether a name is none of known but could be taken for one.
func almost(name string, known []string) bool {
	return strictjson.Object{{Name: name}}.NearMiss(known...) != ""
}

func isOneOf(name string, known []string) bool {
	for _, k := range known {
		if k == name {
			return true
		}
	}
	return false
}
