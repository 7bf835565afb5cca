package mcp

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/internal/strictjson"
)

// maxID is the longest id of a request, in bytes.
const maxID = 1024

// message is one message of JSON-RPC. A request has an id and a method, a notification
// only a method, a response only an id.
type message struct {
	id     string // as JSON
	method string
	params strictjson.Value
	result strictjson.Value // of a response that is no error
	text   []byte           // the message as it is passed on: one line, with its newline
}

func (m *message) isResponse() bool { return m.method == "" }

// Errors that the peer is told.
var (
	errNotJSON  = errors.New("the message is not JSON that can be read in exactly one way")
	errBatch    = errors.New("batches of messages are not supported")
	errNoObject = errors.New("the message is not a JSON-RPC 2.0 message")
	errID       = errors.New("the id must be a string, or an integer of at most 2^53")
)

// readMessage reads one line. The id is there with an error if it could be read.
func readMessage(line []byte) (*message, error) {
	m := new(message)
	if strictjson.Check(line) != nil {
		return m, errNotJSON
	}
	switch strictjson.Kind(line) {
	case '{':
	case '[':
		return m, errBatch
	default:
		return m, errNoObject
	}
	o, err := strictjson.ParseObject(line)
	if err != nil || o.NearMiss("jsonrpc", "id", "method", "params", "result", "error") != "" {
		return m, errNoObject
	}
	version, hasMethod, hasResult, hasError := "", false, false, false
	for _, member := range o {
		switch member.Name {
		case "jsonrpc":
			version, _ = strictjson.ParseString(member.Value)
		case "id":
			if m.id = readID(member.Value); m.id == "" {
				return m, errID
			}
		case "method":
			m.method, hasMethod = strictjson.ParseString(member.Value)
			hasMethod = hasMethod && m.method != ""
			if !hasMethod {
				return m, errNoObject
			}
		case "params":
			m.params = member.Value
		case "result":
			m.result, hasResult = member.Value, true
		case "error":
			hasError = true
		}
	}
	if version != "2.0" || hasMethod == (hasResult || hasError) || hasResult && hasError || !hasMethod && m.id == "" {
		return m, errNoObject
	}
	if m.text, err = oneLine(line); err != nil {
		return m, errNotJSON
	}
	return m, nil
}

// maxInteger is the largest integer that programs in JavaScript read as it is written.
const maxInteger = 1<<53 - 1

// readID returns an id as JSON that is the same for equal ids, "" for what is none. A number
// is none that some programs would read as another one: its response would be given to
// another request.
func readID(v strictjson.Value) string {
	if s, ok := strictjson.ParseString(v); ok && strictjson.Kind(v) == '"' && len(v) <= maxID {
		text, err := jsontext.AppendQuote(nil, s)
		if err != nil {
			return ""
		}
		return string(text)
	}
	text := bytes.TrimSpace(v)
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && len(text) > 1 || len(bytes.Trim(digits, "0123456789")) > 0 {
		return ""
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err != nil || n > maxInteger || n < -maxInteger {
		return ""
	}
	return string(text)
}

// oneLine returns a JSON text as one line for every reader: without white space, and
// with escapes for the characters that some programs take for the end of a line. Otherwise
// such a program could read a part of a string as a message of its own.
func oneLine(text []byte) ([]byte, error) {
	line, err := jsontext.AppendFormat(nil, bytes.TrimSpace(text), jsontext.EscapeForJS(true))
	if err != nil {
		return nil, err
	}
	// U+0085, NEXT LINE, which can only be in a string.
	line = bytes.ReplaceAll(line, []byte("\u0085"), []byte(`\u0085`))
	return append(line, '\n'), nil
}
