package mcp

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/permd/permd/internal/strictjson"
)

// maxFormText is how long the text of a server's form may be, in characters and in lines: what
// is longer could push out of sight who asks.
const (
	maxFormText  = 4000
	maxFormLines = 40
)

// signForm makes the text of a server's form anew so that it says who asks. It returns why a form
// cannot be passed on.
func (g *gateway) signForm(m *message) (why string) {
	params, why := signParams(g.cfg.Server, m.params)
	if why != "" {
		return why
	}
	line, err := oneLine([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%s,"params":%s}`, m.id, quote(m.method), params)))
	if err != nil {
		return errNotJSON.Error()
	}
	m.text = line
	return ""
}

// signParams returns the params of a server's form with a text that says who asks, in each line
// of it: it could otherwise copy a question of permd.
func signParams(server string, params strictjson.Value) (made, why string) {
	o, err := strictjson.ParseObject(params)
	if err != nil || o.NearMiss("message", "mode", "requestedSchema", "url", "elicitationId", "task", "_meta") != "" {
		return "", "the form cannot be read in exactly one way"
	}
	v, _ := o.Get("message")
	text, ok := strictjson.ParseString(v)
	if !ok {
		return "", "the form has no message"
	}
	var b strings.Builder
	for i, member := range o {
		fmt.Fprintf(&b, "%c%s:", "{,"[min(i, 1)], quote(member.Name))
		if member.Name == "message" {
			b.WriteString(quote(signed(server, text)))
			continue
		}
		b.Write(member.Value)
	}
	return b.String() + "}", ""
}

// signed returns a server's text with its name before it, and a mark before each further line.
func signed(server, text string) string {
	if utf8.RuneCountInString(text) > maxFormText {
		text = string([]rune(text)[:maxFormText]) + "…"
	}
	// Characters that end a line for some programs, or overwrite the text before them.
	lines := strings.FieldsFunc(text, func(c rune) bool {
		return c != '\t' && unicode.IsControl(c) || c == '\u2028' || c == '\u2029'
	})
	if len(lines) > maxFormLines {
		lines = append(lines[:maxFormLines], "…")
	}
	text = strings.Map(func(c rune) rune {
		if unicode.Is(unicode.Bidi_Control, c) {
			return utf8.RuneError
		}
		return c
	}, strings.Join(lines, "\n| "))
	return "The server " + server + " asks: " + text
}
