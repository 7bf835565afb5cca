package acp

import (
	"path"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// Bounds of a command that is the subject of a request. A longer one is not
// understood anyway.
const (
	maxCommand = 1 << 20
	maxPath    = 4096
)

// command is a command that is the subject of a request of version 2: complete in
// itself, run by the agent. The call that it belongs to is named only for display.
type command struct {
	text string
	cwd  string
}

// parsePrompt reads the members that version 2 has instead of a tool call: the text for
// the person, and the subject.
func (r *request) parsePrompt(l *lenient, o strictjson.Object) error {
	v, ok := o.Get("title")
	if !ok {
		return socket.Refuse("title is missing")
	}
	if r.prompt, ok = strictjson.ParseString(v); !ok {
		return socket.Refuse("title must be a string")
	}
	if text, _ := l.text(o, "description", "description"); text != "" {
		r.prompt += "\n" + text
	}
	v, ok = l.get(o, "subject")
	if !ok {
		r.noSubject = "the request has no subject: nothing but its title says what would be done"
		return nil
	}
	s, err := object(v, "subject", "type", "toolCall", "command", "cwd", "toolCallId", "terminalId", "_meta")
	if err != nil {
		return err
	}
	typ, err := identifier(s, "type", "subject")
	if err != nil {
		return err
	}
	switch typ {
	case "tool_call":
		v, _ := s.Get("toolCall")
		r.call, err = parseToolCall(v, "subject.toolCall", version2)
		return err
	case "command":
		return r.parseCommand(l, s)
	}
	r.noSubject = "the request's subject is of a type that is not known"
	return nil
}

// parseCommand reads a command subject.
func (r *request) parseCommand(l *lenient, s strictjson.Object) error {
	r.command = new(command)
	for _, m := range []struct {
		name string
		into *string
		most int
	}{{"command", &r.command.text, maxCommand}, {"cwd", &r.command.cwd, maxPath}} {
		v, _ := s.Get(m.name)
		var ok bool
		if *m.into, ok = strictjson.ParseString(v); !ok {
			return socket.Refuse("subject.%s must be a string", m.name)
		}
		if len(*m.into) > m.most {
			return socket.Refuse("subject.%s is longer than %d bytes", m.name, m.most)
		}
	}
	if !path.IsAbs(r.command.cwd) {
		l.drop("subject.cwd", "is not an absolute path")
	}
	l.text(s, "terminalId", "subject.terminalId")
	id, _ := l.text(s, "toolCallId", "subject.toolCallId")
	p := new(patch)
	if p.id = id; len(id) > maxID {
		l.drop("subject.toolCallId", "is too long and was left out")
		p.id = ""
	}
	if p.meta = l.meta(s, "subject._meta"); p.meta != nil {
		p.set = memberMeta
	}
	r.call = p
	return nil
}

// take makes the command the input of the call. The rest of that call is kept: its tool
// may not be a shell of the agent's.
func (c *command) take(call *effects.Call) {
	for _, name := range []string{"command", "cmd"} {
		known, ok := strictjson.ParseString(member(call.Input, name))
		if ok && strings.TrimSpace(known) != strings.TrimSpace(c.text) {
			call.Defects = addDefect(call.Defects, effects.Defect{
				Code: effects.DefectContradiction, At: "subject.command",
				Text: "the request asks for another command than the call that it names",
			})
		}
	}
	input, err := json.Marshal(struct {
		Command string `json:"command"`
		Cwd     string `json:"cwd"`
	}{c.text, c.cwd})
	if err != nil {
		// Strings that were read from JSON cannot cause this.
		call.Defects = addDefect(call.Defects, effects.Defect{Code: effects.DefectDropped, At: "subject", Text: "the command could not be taken over"})
		return
	}
	call.Input, call.InputFrom = input, "subject"
	// Title, locations and content describe the displayed call.
	call.Claims.Title, call.Claims.Locations, call.Claims.Diffs, call.Claims.Texts = "", nil, nil, nil
	if call.Claims.Kind == "" {
		call.Claims.Kind = "execute"
	}
}
