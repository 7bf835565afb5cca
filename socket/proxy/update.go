package proxy

import (
	"slices"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/acp"
)

// ignoredUpdates are updates that do not concern calls or modes. permd would
// ignore them too; they are most of an agent's messages.
var ignoredUpdates = []string{
	"agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "plan", "available_commands_update", "usage_update", "session_info_update",
}

// observe passes an update on to permd, which decides by all updates of a call.
func (c *core) observe(m *message) {
	kind := text(m.params, "update", "sessionUpdate")
	if slices.Contains(ignoredUpdates, kind) {
		return
	}
	id := text(m.params, "sessionId")
	update := strictjson.Find(m.params, "update")
	created := kind == updateCall
	about := created || kind == updateCallChange
	if about {
		c.contents.note(id, update, created, len(m.line))
	}
	s := c.declareUnknown(id)
	if s != nil && s.loading > 0 || s == nil && c.sessions.loading() {
		// History of another conversation. permd knows nothing about a call in it that is
		// mentioned again later.
		if about {
			c.runs.noteHistory(id, update)
		}
		return
	}
	if s != nil {
		switch kind {
		case updateState:
			c.idle(s, update)
		case "current_mode_update":
			if mode := text(update, "currentModeId"); mode != "" {
				s.mode = mode
			}
		case "config_option_update":
			s.options(strictjson.Find(update, "configOptions"))
		}
	}
	if about {
		c.follow(id, s, update, created)
	} else if kind == updateContent {
		c.runs.mention(id, text(update, "toolCallId"))
	}
	if len(m.params) > maxNotification-spare {
		// The update is longer than permd accepts: an unreadable one tells it that
		// something of the session was lost.
		c.notify(acp.MethodUpdate, unreadableUpdate(id))
		return
	}
	c.notify(acp.MethodUpdate, m.params)
	if !isNothing(strictjson.Find(update, "rawInput")) {
		c.onInput(id, text(update, "toolCallId"))
	}
}

// The updates that are about a call.
const (
	updateCall       = "tool_call"
	updateCallChange = "tool_call_update"
	updateContent    = "tool_call_content_chunk"
)

// Bounds of what is kept of calls' contents.
const (
	maxContents     = 512
	maxContentBytes = 8 << 20
)

// contents is what a client shows of calls. Content in a request replaces it, so where
// permd adds to it, the rest must be repeated.
type contents struct {
	byCall map[string]*content
	order  []*content // the one longest untouched first
	bytes  int
	lost   bool // some was forgotten
}

type content struct {
	key     string
	session string
	items   strictjson.Value // an array, nil for none
	size    int
}

func contentKey(session, call string) string { return session + "\x00" + call }

// note records the content in an update; size is that of its message, which is kept as a
// whole.
func (s *contents) note(session string, update strictjson.Value, created bool, size int) {
	k := contentKey(session, text(update, "toolCallId"))
	items := strictjson.Find(update, "content")
	if strictjson.Kind(items) != '[' {
		items = nil
	}
	if items == nil && !created && s.byCall[k] != nil {
		return
	}
	s.remove(k)
	one := &content{key: k, session: session, items: items}
	if items != nil {
		one.size = size
	}
	s.byCall[k] = one
	s.order = append(s.order, one)
	s.bytes += one.size
	for len(s.order) > maxContents || s.bytes > maxContentBytes {
		s.remove(s.order[0].key)
		s.lost = true
	}
}

func (s *contents) remove(k string) {
	if one := s.byCall[k]; one != nil {
		delete(s.byCall, k)
		s.order = slices.DeleteFunc(s.order, func(o *content) bool { return o == one })
		s.bytes -= one.size
	}
}

func (s *contents) forget(session string) {
	for _, one := range slices.Clone(s.order) {
		if one.session == session {
			s.remove(one.key)
		}
	}
}

// shownContent returns what the client shows of a call, with the request's own content;
// false if that is not known.
func (s *contents) shownContent(session, call string, own strictjson.Value) ([]strictjson.Value, bool) {
	if strictjson.Kind(own) != '[' {
		if k := strictjson.Kind(own); k != 0 && k != 'n' {
			return nil, false
		}
		one := s.byCall[contentKey(session, call)]
		switch {
		case one != nil && one.items == nil:
			return nil, true
		case one != nil:
			own = one.items
		default:
			return nil, !s.lost
		}
	}
	items, err := strictjson.ParseArray(own)
	return items, err == nil
}
