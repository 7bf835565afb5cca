package mcp

import (
	"fmt"
	"slices"
	"strconv"
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

// signParams returns the params of a server's form with texts that say who asks, in each line
// of them: it could otherwise copy a question of permd. What the protocol does not have is left
// out, since a client might show it.
func signParams(server string, params strictjson.Value) (made, why string) {
	o, err := strictjson.ParseObject(params)
	if err != nil || o.NearMiss("message", "mode", "requestedSchema", "url", "elicitationId", "task", "_meta") != "" {
		return "", "the form cannot be read in exactly one way"
	}
	mode := "form"
	if v, ok := o.Get("mode"); ok {
		mode, _ = strictjson.ParseString(v)
	}
	known := []string{"message", "mode", "requestedSchema", "task", "_meta"}
	switch mode {
	case "form":
	case "url":
		known = []string{"message", "mode", "url", "elicitationId", "task", "_meta"}
	default:
		return "", "the form has a mode that the protocol does not have"
	}
	v, _ := o.Get("message")
	text, ok := strictjson.ParseString(v)
	if !ok {
		return "", "the form has no message"
	}
	return rebuilt(o, known, func(member strictjson.Member) (string, bool) {
		switch member.Name {
		case "message":
			return quote(signed(server, text)), true
		case "requestedSchema":
			made, ok := signSchema(server, member.Value)
			return made, ok
		}
		return string(member.Value), true
	})
}

// rebuilt returns an object with the known ones of its members, as made returns them.
func rebuilt(o strictjson.Object, known []string, made func(strictjson.Member) (text string, ok bool)) (object, why string) {
	parts := make([]string, 0, len(o))
	for _, member := range o {
		if !slices.Contains(known, member.Name) {
			continue
		}
		text, ok := made(member)
		if !ok {
			return "", "the form's " + member.Name + " is not as the protocol has it"
		}
		parts = append(parts, quote(member.Name)+":"+text)
	}
	return "{" + strings.Join(parts, ",") + "}", ""
}

// passError passes an error of the server on. Since 2025-11-25 one can have questions to the
// person, whose texts then say who asks.
func (g *gateway) passError(m *message, r *request) error {
	g.mu.Lock()
	urls := g.urls
	g.mu.Unlock()
	if r.meta != nil {
		urls = r.meta.urls
	}
	made, why := signError(g.cfg.Server, strictjson.Find(m.text, "error"), urls)
	switch {
	case why != "":
		g.cfg.Say(why)
		return g.refuse(m.id, codeInternal, why)
	case made == "":
		return g.client.write(m.text)
	}
	line, err := oneLine([]byte(`{"jsonrpc":"2.0","id":` + m.id + `,"error":` + made + `}`))
	if err != nil {
		return g.refuse(m.id, codeInternal, errNotJSON.Error())
	}
	return g.client.write(line)
}

// codeURLs is the code of an error that asks the person to go to addresses.
const codeURLs = -32042

// signError returns an error that asks the person something with signed texts, "" for one that
// does not. It returns why one cannot be passed on.
func signError(server string, v strictjson.Value, urls bool) (made, why string) {
	o, err := strictjson.ParseObject(v)
	if err != nil || o.NearMiss("code", "message", "data") != "" {
		return "", "the server's error cannot be read in exactly one way"
	}
	number, _ := o.Get("code")
	code, _ := strconv.ParseFloat(strings.Trim(string(number), " \t\r\n\""), 64)
	data, _ := o.Get("data")
	d, bad := strictjson.ParseObject(data)
	questions, has := d.Get("elicitations")
	switch {
	case code != codeURLs && (bad != nil || !has && d.NearMiss("elicitations") == ""):
		return "", ""
	case !urls:
		return "", "the server wants the person to go to an address, and the client has not said that it is capable of that"
	}
	list, err := strictjson.ParseArray(questions)
	if bad != nil || err != nil || len(list) > maxQuestions || d.NearMiss("elicitations") != "" {
		return "", "the server's error has questions that cannot be read in exactly one way, or too many"
	}
	parts := make([]string, len(list))
	for i, v := range list {
		if mode, _ := strictjson.ParseString(strictjson.Find(v, "mode")); mode != "url" {
			return "", "the server's error has a question that is not about an address"
		}
		if parts[i], why = signParams(server, v); why != "" {
			return "", why
		}
	}
	text, _ := o.Get("message")
	says, _ := strictjson.ParseString(text)
	return `{"code":` + strconv.Itoa(codeURLs) + `,"message":` + quote(signed(server, says)) + `,"data":{"elicitations":[` + strings.Join(parts, ",") + `]}}`, ""
}

// signed returns a server's text with its name before it, and a mark before each further line.
func signed(server, text string) string {
	return "The server " + server + " asks: " + strings.Join(plainLines(text), "\n| ")
}

// plainLines returns the lines of a server's text, without what could push other text out of
// sight, or overwrite it.
func plainLines(text string) []string {
	if utf8.RuneCountInString(text) > maxFormText {
		text = string([]rune(text)[:maxFormText]) + "…"
	}
	// Characters that end a line for some programs, or overwrite the text before them.
	fields := strings.FieldsFunc(text, func(c rune) bool {
		return c != '\t' && unicode.IsControl(c) || c == '\u2028' || c == '\u2029'
	})
	var lines []string
	for _, line := range fields {
		if line = withoutRuns(line); strings.TrimFunc(line, isBlank) != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) > maxFormLines {
		lines = append(lines[:maxFormLines], "…")
	}
	return lines
}

// withoutRuns returns a line with one blank for each run of characters that show nothing.
func withoutRuns(line string) string {
	var b strings.Builder
	var run []rune
	end := func() {
		if len(run) > 1 {
			run = []rune{' '}
		}
		b.WriteString(string(run))
		run = run[:0]
	}
	for _, c := range line {
		switch {
		case unicode.Is(unicode.Bidi_Control, c):
			end()
			b.WriteRune(utf8.RuneError)
		case isBlank(c):
			run = append(run, c)
		default:
			end()
			b.WriteRune(c)
		}
	}
	end()
	return b.String()
}

// isBlank reports whether a character shows nothing.
func isBlank(c rune) bool {
	return unicode.IsSpace(c) || unicode.In(c, unicode.Zs, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) || c == '\u2800'
}
