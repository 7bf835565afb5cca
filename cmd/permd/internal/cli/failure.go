// Package cli holds what all commands of permd share: exit codes, errors with a hint,
// streams, and the formatting of numbers, words and JSON. It knows no command.
package cli

import (
	"errors"
	"fmt"

	"github.com/permd/permd/decisions"
)

// Exit codes, the same for every subcommand.
const (
	ExitOK          = 0 // done, or allow
	ExitError       = 1
	ExitUsage       = 2
	ExitCompile     = 3 // a policy does not compile
	ExitTests       = 4 // policy tests or a replay fail
	ExitDeny        = 5
	ExitAsk         = 6
	ExitUnreachable = 7 // the daemon is not reachable
)

// ExitCodes explains the exit codes. Each help text ends with it.
const ExitCodes = `Exit codes: 0 ok or allow, 1 error, 2 usage, 3 policy does not compile,
4 policy tests or a replay fail, 5 deny, 6 ask, 7 daemon not reachable.`

// Failure is an error with an exit code and a hint for the user.
type Failure struct {
	Code int
	Err  error // if nil, nothing is printed: the output has said everything
	Hint string
}

// Error implements error.
func (f *Failure) Error() string {
	if f.Err == nil {
		return fmt.Sprintf("exit %d", f.Code)
	}
	return f.Err.Error()
}

// Unwrap returns the error without its exit code.
func (f *Failure) Unwrap() error { return f.Err }

// Failf returns a Failure whose error is formatted as by fmt.Errorf.
func Failf(code int, hint, format string, args ...any) error {
	return &Failure{Code: code, Err: fmt.Errorf(format, args...), Hint: hint}
}

// Hints are the default hints of exit codes, for errors without one.
var Hints = map[int]string{
	ExitError:       "diagnose problems with: permd doctor",
	ExitUsage:       "see permd --help",
	ExitCompile:     "permd policy check shows all problems of rules",
	ExitTests:       "permd policy test -v shows all tests",
	ExitUnreachable: "start it with: permd serve",
}

// VerdictCode returns the exit code for a verdict.
func VerdictCode(v decisions.Verdict) int {
	switch v {
	case decisions.Allow:
		return ExitOK
	case decisions.Deny:
		return ExitDeny
	case decisions.Ask:
	}
	return ExitAsk
}

// HintOf returns the hint of an error, or otherwise if it has none.
func HintOf(err error, otherwise string) string {
	if f, ok := errors.AsType[*Failure](err); ok && f.Hint != "" {
		return f.Hint
	}
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok && h.Hint() != "" {
		return h.Hint()
	}
	return otherwise
}

// ReadsOnly annotates commands that cannot change what permd decides. Agents are
// denied every command without it, see
// decisions/effects/own/own_commands.txt.
var ReadsOnly = map[string]string{"effect": "reads"}
