package socket

import (
	"fmt"

	"github.com/permd/permd/internal/strictjson"
)

// MaxName is how long an id or a name in params may be, in bytes.
const MaxName = 1024

// Refuse is the error for params that do not say what is wanted. Its text names
// members and never repeats a value of the message: it is logged.
func Refuse(format string, args ...any) *Error {
	return &Error{Code: CodeParams, Message: fmt.Sprintf(format, args...)}
}

// ReadParams reads an object of the params, called what in errors, strictly:
// unexpected input is a mistake that the caller should find.
func ReadParams(what string, v strictjson.Value, into any) error {
	if strictjson.Kind(v) != '{' {
		return Refuse("%s must be an object", what)
	}
	if err := strictjson.Unmarshal(v, into); err != nil {
		return Refuse("reading %s: %v", what, err)
	}
	return nil
}

// CheckName refuses an id or name that is missing or too long.
func CheckName(what, s string) error {
	switch {
	case s == "":
		return Refuse("%s is missing", what)
	case len(s) > MaxName:
		return Refuse("%s is longer than %d bytes", what, MaxName)
	}
	return nil
}
