package socket

import (
	"bytes"

	"github.com/permd/permd/internal/strictjson"
)

// maxID bounds an id, in bytes: it is kept while the request is answered, and repeated
// in the answer.
const maxID = 1024

// nullID is the id of an answer to a message whose id is unknown.
var nullID = strictjson.Value("null")

// message is a parsed JSON-RPC message.
type message struct {
	kind   kind
	id     strictjson.Value // of a request, as raw JSON
	method string
	params strictjson.Value // nil if there are none
}

type kind int

const (
	kindRequest kind = iota
	kindNotification
	// kindDropped is a message that is ignored: a response (permd sends no requests, and
	// answering answers could go on forever), or a notification whose params cannot be
	// read. Only the latter has a method.
	kindDropped
)

// knownMembers are the members that JSON-RPC defines.
var knownMembers = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// decode parses one line. If it fails, id is the id to answer with: the message's own if
// it is known, otherwise null.
func decode(line []byte) (m message, id strictjson.Value, fault *Error) {
	if err := strictjson.Check(line); err != nil {
		return message{}, nullID, &Error{Code: CodeParse, Message: "reading message: " + err.Error()}
	}
	switch strictjson.Kind(line) {
	case '{':
	case '[':
		return message{}, nullID, invalidRequest("batches are not read: send one message on each line")
	default:
		return message{}, nullID, invalidRequest("a message must be an object")
	}
	// Values share the memory of the copy; the line's buffer is reused.
	obj, err := strictjson.ParseObject(bytes.Clone(line))
	if err != nil {
		return message{}, nullID, &Error{Code: CodeParse, Message: "reading message: " + err.Error()}
	}
	id = nullID
	rawID, hasID := obj.Get("id")
	if hasID && obj.NearMiss("id") == "" && validID(rawID) {
		id = rawID
	}
	if obj.NearMiss(knownMembers...) != "" {
		return message{}, id, invalidRequest("a member's name differs from one of JSON-RPC only by case")
	}
	method, hasMethod := obj.Get("method")
	_, hasResult := obj.Get("result")
	_, hasError := obj.Get("error")
	if hasResult || hasError {
		if hasMethod {
			return message{}, id, invalidRequest("a message must not be request and response at once")
		}
		return message{kind: kindDropped}, nullID, nil
	}
	if v, _ := obj.Get("jsonrpc"); !isString(v, "2.0") {
		return message{}, id, invalidRequest(`jsonrpc must be "2.0"`)
	}
	if hasID && !validID(rawID) {
		return message{}, nullID, invalidRequest("id must be an integer, null or a string of at most 1024 bytes")
	}
	name, ok := strictjson.ParseString(method)
	if !hasMethod || !ok {
		return message{}, id, invalidRequest("method must be a string")
	}
	m = message{kind: kindNotification, method: name}
	if hasID {
		m.kind, m.id = kindRequest, rawID
	}
	params, _ := obj.Get("params")
	switch strictjson.Kind(params) {
	case '{':
		m.params = params
	case 0, 'n': // missing; some clients write null
	default:
		if m.kind == kindNotification {
			return message{kind: kindDropped, method: name}, nullID, nil
		}
		return message{}, id, &Error{Code: CodeParams, Message: "params must be an object"}
	}
	return m, id, nil
}

func invalidRequest(msg string) *Error { return &Error{Code: CodeRequest, Message: msg} }

// validID reports whether clients agree on what the id is. Numbers with a fraction or an
// exponent are not valid: 1 and 1.0 are the same id for some clients and different ones
// for others, as are 0 and -0.
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
