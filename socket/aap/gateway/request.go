package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/permd/permd/internal/strictjson"
)

// onlyMembers returns an error if an object has a member that the protocol does not have
// there: a server may take one for more than the gateway reads.
func onlyMembers(o strictjson.Object, known ...string) error {
	for _, m := range o {
		if !slices.Contains(known, m.Name) {
			return fmt.Errorf("the protocol has no member %s there", quote(m.Name[:min(len(m.Name), 64)]))
		}
	}
	return nil
}

// object reads an object with members of the protocol alone.
func object(v strictjson.Value, known ...string) (strictjson.Object, error) {
	o, err := members(v, known...)
	if err != nil {
		return nil, err
	}
	return o, onlyMembers(o, known...)
}

// checkMembers checks that a request has the given members alone, and its agent and the
// agent's tools those of the protocol.
func checkMembers(body strictjson.Object, known ...string) *fault {
	err := onlyMembers(body, known...)
	if v, ok := body.Get("agent"); err == nil && ok && strictjson.Kind(v) != 'n' {
		err = checkAgent(v)
	}
	if err != nil {
		return &fault{http.StatusBadRequest, err.Error()}
	}
	return nil
}

func checkAgent(v strictjson.Value) error {
	o, err := object(v, "name", "tools", "options")
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	tools, _ := o.Get("tools")
	if strictjson.Kind(tools) != '[' {
		return nil // readTools says what is wrong
	}
	items, err := list(tools)
	if err != nil {
		return fmt.Errorf("agent.tools: %w", err)
	}
	for _, it := range items {
		// Clients may send what the server has told about a tool.
		if _, err := object(it, "name", "trust", "title", "description", "parameters", "inputSchema"); err != nil {
			return fmt.Errorf("agent.tools: %w", err)
		}
	}
	return nil
}

// checkContent checks the content of a message: text, or a list of blocks of the protocol.
// use is called for each call in it; nil if there must be none.
func checkContent(v strictjson.Value, use func(part) error) error {
	if strictjson.Kind(v) == '"' {
		return nil
	}
	blocks, err := list(v)
	if err != nil {
		return errors.New("a content must be text or a list")
	}
	for _, b := range blocks {
		o, err := members(b, "type")
		if err != nil {
			return err
		}
		switch kind := text(o, "type"); {
		case kind == "text", kind == "thinking":
			err = onlyMembers(o, "type", kind)
		case kind == "image":
			err = onlyMembers(o, "type", "url")
		case kind == "tool_use" && use != nil:
			var p *part
			if err = onlyMembers(o, "type", "toolCallId", "name", "input"); err == nil {
				p, err = readCall(b)
			}
			if err == nil {
				err = use(*p)
			}
		default:
			return errors.New("a block has a type that the protocol does not have there")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkSeed checks the messages that a session begins with: a history in which no call waits
// and nothing is permitted, so that the server has nothing to run.
func checkSeed(body strictjson.Object) *fault {
	v, ok := body.Get("messages")
	if !ok || strictjson.Kind(v) == 'n' {
		return nil
	}
	bad := func(err error) *fault { return &fault{http.StatusBadRequest, "messages: " + err.Error()} }
	messages, err := list(v)
	if err != nil {
		return bad(err)
	}
	seen, open := map[string]bool{}, map[string]bool{}
	note := func(p part) error {
		if seen[p.id] {
			return errors.New("two calls have one id")
		}
		seen[p.id], open[p.id] = true, true
		return nil
	}
	for _, m := range messages {
		o, err := members(m, "role", "content", "toolCallId")
		if err != nil {
			return bad(err)
		}
		content, _ := o.Get("content")
		known := []string{"role", "content"}
		switch role := text(o, "role"); role {
		case "system", "user":
			if len(open) > 0 {
				return bad(errors.New("a call has no result"))
			}
			err = checkContent(content, nil)
		case "assistant":
			err = checkContent(content, note)
		case "tool":
			known = append(known, "toolCallId")
			id, e := nameIn(o, "toolCallId")
			if err = e; err == nil && !open[id] {
				err = errors.New("a result is of no call before it")
			}
			delete(open, id)
			if err == nil {
				err = checkContent(content, nil)
			}
		default:
			err = errors.New("a session cannot begin with a message of this role")
		}
		if err == nil {
			err = onlyMembers(o, known...)
		}
		if err != nil {
			return bad(err)
		}
	}
	if len(open) > 0 {
		return bad(errors.New("a call has no result"))
	}
	return nil
}
