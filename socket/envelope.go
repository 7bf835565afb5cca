package socket

import (
	"bytes"

	"github.com/permd/permd/internal/strictjson"
)

// maxID is how long an id may be, in bytes: it is echoed, and kept while the
// request is answered.
const maxID = 1024

// null is the id of an answer to a message whose own id cannot be told.
var null = strictjson.Value("null")

// message is a JSON-RPC message, read.
type message struct {
	kind   kind
	id     strictjson.Value // of a request as it was written
	method string
	params strictjson.Value // nil if there are none
}

type kind int

const (
	request kind = iota
	notification
	// dropped is neither answered nor called: a response (permd sends no
	// requests, and an answer to an answer could go on for ever), or a
	// notification whose params cannot be read; only the latter has a method.
	dropped
)

// members are the names that JSON-RPC knows.
var members = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// decode reads one line. On an error, id is what the error answers: the
// message's own if that can be told, else null.
func decode(line []byte) (m message, id strictjson.Value, fault *Error) {
	if err := strictjson.Check(line); err != nil {
		return message{}, null, &Error{Code: CodeParse, Message: "reading message: " + err.Error()}
	}
	switch strictjson.Kind(line) {
	case '{':
	case '[':
		return message{}, null, invalid("batches are not read: send one message on each line")
	default:
		return message{}, null, invalid("a message must be an object")
	}
	// What is read shares the copy; the line's buffer is used again.
	obj, err := strictjson.ParseObject(bytes.Clone(line))
	if err != nil {
		return message{}, null, &Error{Code: CodeParse, Message: "reading message: " + err.Error()}
	}
	id = null
	rawID, hasID := obj.Get("id")
	if hasID && obj.NearMiss("id") == "" && validID(rawID) {
		id = rawID
	}
	if obj.NearMiss(members...) != "" {
		return message{}, id, invalid("a member's name differs from one of JSON-RPC only by case")
	}
	method, hasMethod := obj.Get("method")
	_, hasResult := obj.Get("result")
	_, hasError := obj.Get("error")
	if hasResult || hasError {
		if hasMethod {
			return message{}, id, invalid("a message must not be request and response at once")
		}
		return message{kind: dropped}, null, nil
	}
	if v, _ := obj.Get("jsonrpc"); !isString(v, "2.0") {
		return message{}, id, invalid(`jsonrpc must be "2.0"`)
	}
	if hasID && !validID(rawID) {
		return message{}, null, invalid("id must be an integer, null or a string of at most 1024 bytes")
	}
	name, ok := strictjson.ParseString(method)
	if !hasMethod || !ok {
		return message{}, id, invalid("method must be a string")
	}
	m = message{kind: notification, method: name}
	if hasID {
		m.kind, m.id = request, rawID
	}
	params, _ := obj.Get("params")
	switch strictjson.Kind(params) {
	case '{':
		m.params = params
	case 0, 'n': // absent; some clients write null
	default:
		if m.kind == notification {
			return message{kind: dropped, method: name}, null, nil
		}
		return message{}, id, &Error{Code: CodeParams, Message: "params must be an object"}
	}
	return m, id, nil
}

func invalid(msg string) *Error { return &Error{Code: CodeRequest, Message: msg} }

// validID reports whether an id can be echoed without a doubt. Numbers with a
// fraction or an exponent are refused: 1 and 1.0 are one id to some clients and
// two to others, as are 0 and -0.
func validID(id strictjson.Value) bool {
	if len(id) > maxID {
		return false
	}
	switch strictjson.Kind(id) {
	case '"', 'n':
		return true
	case '0':
		return !bytes.ContainsAny(id, ".eE") && string(id) != "-0"
	}
	return false
}

func isString(v strictjson.Value, want string) bool {
	if len(v) == 0 {
		return false
	}
	s, ok := strictjson.ParseString(v)
	return ok && s == want
}
