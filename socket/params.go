package socket

import (
	"fmt"

	"github.com/permd/permd/internal/strictjson"
)

// MaxName bounds an id or a name in params, in bytes.
const MaxName = 1024

// Refuse returns the error for invalid params. Its text is logged, so it must name
// members and never repeat a value of the message.
func Refuse(format string, args ...any) *Error {
	return &Error{Code: CodeParams, Message: fmt.Sprintf(format, args...)}
}

// ReadParams parses params, or an object in them, strictly: a name almost like one that is
// known, an unexpected type and a null that the protocol does not have are errors. what names
// the object in errors. Raw values share the memory of v.
func ReadParams(what string, v strictjson.Value, into any) error {
	if strictjson.Kind(v) != '{' {
		return Refuse("%s must be an object", what)
	}
	if err := strictjson.UnmarshalMessage(v, into); err != nil {
		return Refuse("reading %s: %v", what, err)
	}
	return nil
}

// CheckName returns an error for an id or name that is missing or too long.
func CheckName(what, s string) error {
	switch {
	case s == "":
		return Refuse("%s is missing", what)
	case len(s) > MaxName:
		return Refuse("%s is longer than %d bytes", what, MaxName)
	}
	return nil
}
