package proxy

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
)

// What an agent has its client do. It goes through the proxy's hands, asked for
// or not.
const (
	methodTerminal = "terminal/create"
	methodWrite    = "fs/write_text_file"
	methodRead     = "fs/read_text_file"
)

func isGate(method string) bool {
	return method == methodTerminal || method == methodWrite || method == methodRead
}

// switches reports whether a request of the client switches the agent's mode.
func (c *Core) switches(m *message) bool {
	switch m.method {
	case methodSetMode:
		return true
	case methodSetOption:
		id := text(m.params, "configId")
		s := c.sessions.byID[text(m.params, "sessionId")]
		return id == "mode" || id == "allow_all" || s != nil && slices.Contains(s.modes, id)
	}
	return false
}

// gateMembers are the members of the gates' parameters.
var gateMembers = []string{
	"sessionId", "command", "args", "env", "cwd", "outputByteLimit", "path", "content", "line", "limit", "modeId", "configId", "value", "_meta",
}

// gate asks permd whether a request may pass. Only a deny stops it: where a
// person would have to be asked, the agent's own request for permission is what
// asks them.
func (c *Core) gate(from Side, m *message) {
	o, err := strictjson.ParseObject(m.params)
	if err != nil || o.NearMiss(gateMembers...) != "" {
		c.reply(from, failure(m.id, socket.CodeParams, "permd acp: the parameters can be read in more than one way"))
		delete(c.calls[from], key(m.id))
		return
	}
	call := gated(m)
	if call == nil {
		c.pass(from, m) // without what it is to do, nobody can do it
		return
	}
	if !c.admit(from, m) {
		return
	}
	t := &tracked{from: from, id: m.id, line: m.line, params: m.params, session: text(m.params, "sessionId"), gate: true}
	c.hold(t)
	id := t.session
	if s := c.known(t.session); s != nil && s.cwd != "" {
		id = gateSession(s.id)
		if !s.gated {
			s.gated = true
			c.opening[c.ask(native.MethodSession, c.declaration(s, id, s.id, false), true)] = id
		}
	}
	t.ask = c.ask(acp.MethodRequestPermission, object(
		member("sessionId", id),
		strictjson.Member{Name: "toolCall", Value: object(append([]strictjson.Member{member("toolCallId", "permd-gate-"+strconv.FormatUint(t.slot, 10))}, call...)...)},
		strictjson.Member{Name: "options", Value: gateOptions},
	), false)
	c.waiting[t.ask] = t
}

// gateSession is the session in which a session's gates are judged. It has no
// agent: what the client is to do is said in the protocol's words, not in those
// of the agent's tools.
func gateSession(id string) string { return "permd-gate:" + id }

const gateAllow = "allow"

var gateOptions = strictjson.Value(`[{"optionId":"` + gateAllow + `","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]`)

// gated says what a request would do, in the words of a tool call; nil when it
// names nothing.
func gated(m *message) []strictjson.Member {
	make := func(kind, title string, input ...strictjson.Member) []strictjson.Member {
		return []strictjson.Member{member("kind", kind), member("title", title), {Name: "rawInput", Value: object(input...)}}
	}
	switch m.method {
	case methodTerminal:
		command := strictjson.Find(m.params, "command")
		if strictjson.Kind(command) != '"' {
			return nil
		}
		cwd := strictjson.Find(m.params, "cwd")
		if strictjson.Kind(cwd) != '"' {
			cwd = nil
		}
		return make("execute", "", strictjson.Member{Name: "command", Value: words(command, strictjson.Find(m.params, "args"))}, strictjson.Member{Name: "cwd", Value: cwd})
	case methodWrite, methodRead:
		path := strictjson.Find(m.params, "path")
		if strictjson.Kind(path) != '"' {
			return nil
		}
		kind := "read"
		if m.method == methodWrite {
			kind = "edit"
		}
		return make(kind, m.method, strictjson.Member{Name: "path", Value: path})
	}
	mode := cmp.Or(text(m.params, "modeId"), text(m.params, "value"))
	return make("switch_mode", "switch to the mode "+mode, member("modeId", mode))
}

// words is a command with its arguments. One without is what clients hand to a
// shell.
func words(command, args strictjson.Value) strictjson.Value {
	if strictjson.Kind(args) != '[' {
		return command
	}
	items, err := strictjson.ParseArray(args)
	if err != nil || len(items) == 0 {
		return command
	}
	b := append([]byte{'['}, command...)
	for _, i := range items {
		b = append(append(b, ','), i...)
	}
	return append(b, ']')
}

// gateDecided takes permd's answer to that.
func (c *Core) gateDecided(t *tracked, result strictjson.Value, err error) {
	var rpc *client.Error
	switch {
	case err == nil && text(result, "outcome", "optionId") != gateAllow:
		d := strictjson.Find(result, "_meta", "permd")
		why := cmp.Or(text(d, "message"), text(d, "reason"), "permd denies it")
		delete(c.calls[t.from], key(t.id))
		c.finish(t, failure(t.id, codeDenied, "permd denies this: "+why))
		return
	case err != nil && !errors.As(err, &rpc) && c.rules.Require:
		delete(c.calls[t.from], key(t.id))
		c.finish(t, failure(t.id, socket.CodeInternal, "permd acp: "+client.ErrUnreachable.Error()))
		return
	case err != nil && errors.As(err, &rpc):
		c.withdraw(t) // nobody is asked
	}
	c.release(t, t.line)
	c.drop(t)
}
