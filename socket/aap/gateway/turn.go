package gateway

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/gatehttp"
)

type partKind uint8

const (
	partOther partKind = iota
	partCall
	partResult
)

// part is one event of a turn. In a turn that is not a stream it is a block of a message,
// or a message.
type part struct {
	kind  partKind
	id    string           // of a call or a result
	name  string           // of a call's tool
	input strictjson.Value // of a call

	event string           // of a stream
	data  strictjson.Value // of a stream; otherwise the block or the message
	// message is the number of the message that the block is of, 0 for a whole message.
	message int
}

// stop is how a turn has ended.
const stopToolUse = "tool_use"

var (
	knownEvents = []string{"turn_start", "text_delta", "thinking_delta", "text", "thinking", "tool_call", "tool_result", "turn_stop"}
	knownStops  = []string{"end_turn", stopToolUse, "max_tokens", "refusal", "error"}
)

// turn is a turn that is being read.
type turn struct {
	begun, stopped bool
	stop           string
	calls, results []part          // without what else they hold
	inOrder        []part          // both
	unresolved     map[string]bool // the ids of calls without a result
	n              int             // parts that count
}

var errCut = errors.New("it has ended before turn_stop")

// add checks a part, and records it if it is a call or a result.
func (t *turn) add(p *part) error {
	// Long texts come in pieces of a few bytes, which are passed on as they come, unless they
	// wait for a call.
	if isDelta := p.event == "text_delta" || p.event == "thinking_delta"; !isDelta || len(t.unresolved) > 0 {
		t.n++
	}
	if t.n > maxParts {
		return fmt.Errorf("it has more than %d parts", maxParts)
	}
	switch p.kind {
	case partCall:
		if t.unresolved == nil {
			t.unresolved = map[string]bool{}
		}
		t.unresolved[p.id] = true
		t.calls = append(t.calls, *p)
		t.inOrder = append(t.inOrder, *p)
	case partResult:
		delete(t.unresolved, p.id)
		t.results = append(t.results, part{kind: partResult, id: p.id})
		t.inOrder = append(t.inOrder, part{kind: partResult, id: p.id})
	case partOther:
	}
	return nil
}

// keep holds no more than the calls of the turn, which may wait for a person. The server has taken
// the turn, so it gives up nothing that it would have to get again.
func (t *turn) keep(held *gatehttp.Held) {
	n := 0
	for i := range t.calls {
		n += len(t.calls[i].data)
	}
	held.Shrink(heldTimes * n)
}

// events returns the calls and results of the turn for permd.
func (t *turn) events() []any {
	list := []any{map[string]string{"event": "turn_start"}}
	for _, p := range t.inOrder {
		m := map[string]any{"event": "tool_result", "toolCallId": p.id}
		if p.kind == partCall {
			m["event"], m["name"] = "tool_call", p.name
			if p.input != nil {
				m["input"] = p.input
			}
		}
		list = append(list, m)
	}
	return append(list, map[string]string{"event": "turn_stop", "stopReason": t.stop})
}

// readCall reads what a call's event or block says.
func readCall(v strictjson.Value) (*part, error) {
	o, err := members(v, "toolCallId", "name", "input")
	if err != nil {
		return nil, err
	}
	p := &part{kind: partCall}
	if p.id, err = nameIn(o, "toolCallId"); err != nil {
		return nil, err
	}
	if p.name, err = nameIn(o, "name"); err != nil {
		return nil, err
	}
	if in, ok := o.Get("input"); ok && strictjson.Kind(in) != 'n' {
		p.input = in.Clone()
	}
	return p, nil
}

// onlyCall returns a call with what permd decides about it alone: a client may take another
// member for its input. kind is the member that names its event or block.
func onlyCall(call strictjson.Object, kind string) strictjson.Value {
	var only strictjson.Object
	for _, m := range call {
		if m.Name == kind || m.Name == "toolCallId" || m.Name == "name" || m.Name == "input" {
			only = append(only, m)
		}
	}
	return encode(only)
}

func readResult(v strictjson.Value) (*part, error) {
	o, err := members(v, "toolCallId", "content")
	if err != nil {
		return nil, err
	}
	id, err := nameIn(o, "toolCallId")
	return &part{kind: partResult, id: id}, err
}

// readStream reads a turn from its event stream, and gives each part to use as it comes.
func (t *turn) readStream(r io.Reader, use func(part) error) error {
	in := bufio.NewReaderSize(io.LimitReader(r, maxBody), 64<<10)
	var name, data string
	named, some, first := false, false, true
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return errCut // what has no end may be half of it
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if first {
			line, first = strings.TrimPrefix(line, "\ufeff"), false
		}
		if strings.ContainsRune(line, '\r') {
			return errors.New("a carriage return within a line can be read in two ways")
		}
		if line == "" {
			if some {
				if err := t.event(name, data, use); err != nil || t.stopped {
					return err
				}
			}
			name, data, named, some = "", "", false, false
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "", "id", "retry":
		case "event":
			if named {
				return errors.New("an event has two names")
			}
			name, named, some = value, true, true
		case "data":
			if some && data != "" {
				data += "\n"
			}
			data, some = data+value, true
		default:
			if (strictjson.Object{{Name: strings.TrimSpace(field)}}).NearMiss("event", "data") != "" || strings.TrimSpace(field) != field {
				return errors.New("a field differs from a known one only by case or spaces")
			}
		}
	}
}

// event reads one event. Those that are not known are left out.
func (t *turn) event(name, data string, use func(part) error) error {
	if !slices.Contains(knownEvents, name) {
		trimmed := strings.TrimSpace(name)
		if slices.Contains(knownEvents, trimmed) || (strictjson.Object{{Name: trimmed}}).NearMiss(knownEvents...) != "" {
			return errors.New("an event's name differs from a known one only by case or spaces")
		}
		if named, ok := strictjson.ParseString(strictjson.Find(strictjson.Value(data), "event")); ok && slices.Contains(knownEvents, named) {
			return errors.New("an event's data names another event")
		}
		return nil
	}
	o, err := readObject([]byte(data))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := nearMiss(o, "event"); err != nil {
		return err
	}
	if v, ok := o.Get("event"); ok {
		if s, _ := strictjson.ParseString(v); s != name {
			return errors.New("an event's data names another event")
		}
	}
	if t.begun == (name == "turn_start") {
		return errors.New("it must have one turn_start, as its first event")
	}
	p := &part{}
	switch name {
	case "turn_start":
		t.begun = true
		return nil
	case "turn_stop":
		if err := nearMiss(o, "stopReason"); err != nil {
			return err
		}
		return t.end(text(o, "stopReason"))
	case "tool_call":
		p, err = readCall(strictjson.Value(data))
	case "tool_result":
		p, err = readResult(strictjson.Value(data))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.event, p.data = name, oneLine(strictjson.Value(data))
	if p.kind == partCall {
		p.data = oneLine(onlyCall(o, "event"))
	}
	if err := t.add(p); err != nil {
		return err
	}
	return use(*p)
}

func (t *turn) end(reason string) error {
	if !slices.Contains(knownStops, reason) {
		return errors.New("its stopReason is not known")
	}
	t.stop, t.stopped = reason, true
	return nil
}

// readWhole reads a turn that is not a stream.
func (t *turn) readWhole(data []byte, use func(part) error) error {
	o, err := readObject(data)
	if err != nil {
		return err
	}
	if err := nearMiss(o, "stopReason", "messages"); err != nil {
		return err
	}
	v, _ := o.Get("messages")
	messages, err := list(v)
	if err != nil {
		return fmt.Errorf("messages: %w", err)
	}
	for n, m := range messages {
		parts, err := readMessage(m, n+1)
		if err != nil {
			return fmt.Errorf("messages: %w", err)
		}
		for _, p := range parts {
			if err := t.add(&p); err != nil {
				return err
			}
			if err := use(p); err != nil {
				return err
			}
		}
	}
	return t.end(text(o, "stopReason"))
}

// readMessage reads a message of a turn.
func readMessage(m strictjson.Value, n int) ([]part, error) {
	o, err := members(m, "role", "content", "toolCallId")
	if err != nil {
		return nil, err
	}
	switch role := text(o, "role"); role {
	case "tool":
		p, err := readResult(m)
		if err != nil {
			return nil, err
		}
		p.data = m
		return []part{*p}, nil
	case "assistant":
		content, _ := o.Get("content")
		if strictjson.Kind(content) == '"' {
			return []part{{data: m}}, nil
		}
		blocks, err := list(content)
		if err != nil {
			return nil, err
		}
		parts := make([]part, 0, len(blocks))
		for _, b := range blocks {
			p, err := readBlock(b)
			if err != nil {
				return nil, err
			}
			p.data, p.message = b, n
			if p.kind == partCall {
				o, err := strictjson.ParseObject(b)
				if err != nil {
					return nil, err
				}
				p.data = onlyCall(o, "type")
			}
			parts = append(parts, *p)
		}
		return parts, nil
	default:
		return nil, errors.New("a message has a role that a server does not have")
	}
}

func readBlock(b strictjson.Value) (*part, error) {
	o, err := members(b, "type")
	if err != nil {
		return nil, err
	}
	switch kind := text(o, "type"); {
	case kind == "":
		return nil, errors.New("a block has no type")
	case kind == "tool_use":
		return readCall(b)
	case (strictjson.Object{{Name: kind}}).NearMiss("tool_use") != "":
		return nil, errors.New("a block's type differs from tool_use only by case")
	}
	return new(part), nil
}
