package mcp

import (
	"slices"

	"github.com/permd/permd/internal/strictjson"
)

// notedTexts are the members of a server's notifications that clients show as text.
var notedTexts = map[string]string{
	notedCancelled: "reason", "notifications/progress": "message", "notifications/tasks/status": "statusMessage", notedMessage: "logger",
}

// notedMessage logs what may be any JSON, of a logger with a name.
const notedMessage = "notifications/message"

// signNote makes a notification anew whose text a client shows, so that it says who says it. It
// returns why one cannot be passed on.
func (g *gateway) signNote(m *message) (why string) {
	member := notedTexts[m.method]
	if member == "" || m.params == nil {
		return ""
	}
	const unread = "it cannot be read in exactly one way"
	o, err := strictjson.ParseObject(m.params)
	if err != nil || o.NearMiss(member) != "" {
		return unread
	}
	var text string
	switch v, has := o.Get(member); {
	case has:
		s, ok := strictjson.ParseString(v)
		if !ok {
			return unread
		}
		if text = "The server " + g.cfg.Server + " says: " + plainLine(s); m.method == notedMessage {
			text = g.cfg.Server + ": " + plainLine(s)
		}
	case m.method != notedMessage:
		return ""
	default:
		text = g.cfg.Server
	}
	o = slices.DeleteFunc(slices.Clone(o), func(m strictjson.Member) bool { return m.Name == member })
	o = append(o, strictjson.Member{Name: member, Value: strictjson.Value(quote(text))})
	made, _ := rebuilt(o, names(o), func(m strictjson.Member) (string, bool) { return string(m.Value), true })
	line, err := oneLine([]byte(`{"jsonrpc":"2.0","method":` + quote(m.method) + `,"params":` + made + `}`))
	if err != nil {
		return unread
	}
	m.text = line
	return ""
}

func names(o strictjson.Object) (list []string) {
	for _, m := range o {
		list = append(list, m.Name)
	}
	return list
}
