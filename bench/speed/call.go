package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Numbers replace the markers of a template. All have eight digits, so that every request
// of a kind has the same length.
const (
	firstNumber    = 10_000_000
	lastNumber     = 69_999_999
	argumentMarker = "77777777" // in the words of the call
	idMarker       = "88888888" // in what names the request and the call
)

// template is a request with places for numbers.
type template struct {
	pieces [][]byte
	ids    []bool // whether an id follows a piece, or the number of the argument
}

// newTemplate makes a template of a text with markers.
func newTemplate(text string) template {
	var t template
	for {
		argument, id := strings.Index(text, argumentMarker), strings.Index(text, idMarker)
		at := min(argument, id)
		if at < 0 {
			at = max(argument, id)
		}
		if at < 0 {
			t.pieces = append(t.pieces, []byte(text))
			return t
		}
		t.pieces, t.ids = append(t.pieces, []byte(text[:at])), append(t.ids, at == id)
		text = text[at+len(idMarker):]
	}
}

// append appends the request with these numbers.
func (t *template) append(to []byte, argument, id int) []byte {
	for i, piece := range t.pieces {
		to = append(to, piece...)
		switch {
		case i == len(t.ids):
		case t.ids[i]:
			to = strconv.AppendInt(to, int64(id), 10)
		default:
			to = strconv.AppendInt(to, int64(argument), 10)
		}
	}
	return to
}

// The kinds of calls.
const (
	command = "command"
	edit    = "edit"
	mcp     = "mcp"
)

var kinds = []string{command, edit, mcp}

// The sizes of requests.
const (
	small = "small"
	big   = "9KiB"
)

// bigBytes is the length of a big request, about.
const bigBytes = 9 << 10

// mcpRule is the one rule besides the shipped ones: these leave the tools of servers to
// the person, and a question is no answer to measure. Both permd and OPA have it.
const mcpRule = `package permd.user

import rego.v2

allow contains "the weather may be asked for" if {
	input.effect.kind == "use"
	input.effect.server == "weather"
	input.effect.tool == "forecast"
}
`

// toolCall returns a tool call of a kind as Claude's adapter sends it, with markers. The
// shipped rules, and mcpRule, allow it, and it has one effect.
func toolCall(kind, size, project string) string {
	pad := ""
	if size == big {
		// What agents show next to a call, file contents and arguments are what makes
		// requests long.
		pad = strings.Repeat("All work and no play makes Jack a dull boy. ", bigBytes/44-16)
	}
	switch kind {
	case edit:
		half := pad[:len(pad)/2]
		return fmt.Sprintf(`"title":"Edit src/page%[2]s.go","kind":"edit","rawInput":{"file_path":"%[1]s/src/page%[2]s.go","old_string":"a","new_string":"b%[3]s"},`+
			`"content":[{"type":"diff","path":"%[1]s/src/page%[2]s.go","oldText":"a","newText":"b%[3]s"}],"locations":[{"path":"%[1]s/src/page%[2]s.go"}],`+
			`"_meta":{"claudeCode":{"toolName":"Edit"}}`, project, argumentMarker, half)
	case mcp:
		return fmt.Sprintf(`"title":"forecast","kind":"other","rawInput":{"city":"Oslo %s","note":"%s"},"_meta":{"claudeCode":{"toolName":"mcp__weather__forecast"}}`,
			argumentMarker, pad)
	}
	return fmt.Sprintf(`"title":"git log -n %[1]s","kind":"execute","rawInput":{"command":"git log -n %[1]s","description":"Show the last commits"},`+
		`"content":[{"type":"content","content":{"type":"text","text":"Show the last commits%[2]s"}}],"_meta":{"claudeCode":{"toolName":"Bash"}}`, argumentMarker, pad)
}

// params returns the parameters of the permission request for a tool call.
func params(toolCall string) string {
	return `{"sessionId":"s1","toolCall":{"toolCallId":"toolu_` + idMarker + `",` + toolCall +
		`},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}`
}

// declaration returns the parameters that declare the session of all calls.
func declaration(project string) string {
	return fmt.Sprintf(`{"sessionId":"s1","cwd":%q,"agent":{"name":"claude-agent-acp","version":"0.60.0"}}`, project)
}

// line returns a request as a line of JSON-RPC, with markers.
func line(method, params string) string {
	return `{"jsonrpc":"2.0","id":` + idMarker + `,"method":"` + method + `","params":` + params + "}\n"
}

// post returns a request over HTTP.
func post(path string, body []byte) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// withNumber returns a text with a number in place of the argument's marker.
func withNumber(text []byte, argument int) []byte {
	return bytes.ReplaceAll(text, []byte(argumentMarker), strconv.AppendInt(nil, int64(argument), 10))
}

// knownKind reports whether there are calls of that kind.
func knownKind(kind string) bool { return slices.Contains(kinds, kind) }
