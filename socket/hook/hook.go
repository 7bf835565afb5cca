// Package hook implements the hook protocols of agent harnesses: a harness
// starts `permd hook HARNESS` before a tool runs, writes the planned call to
// standard input, and acts on the answer.
//
// Each harness is a file of pure functions: bytes to a Request, and the
// decision of a Request to the bytes, the text on standard error and the exit
// code that make this harness run the tool, block it, or ask its person. The
// package decides nothing and connects to nothing; cmd/permd does that.
//
// Harnesses differ most when something is missing, and most of them then run
// the tool. So there are two rules: an answer that a harness could take for
// "continue" is only written for an allow, or where it is certain that the
// harness asks its person; and input that cannot be read gets the one answer
// that certainly blocks the tool.
package hook

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// MaxInput bounds the input of a hook, in bytes. permd's socket takes 4 MiB; longer
// calls cannot be decided.
const MaxInput = 8 << 20

// exitBlock is the exit code that blocks the tool in every harness that uses exit codes,
// with text on standard error and nothing on standard output.
const exitBlock = 2

// Output is the result of a hook process.
type Output struct {
	Stdout []byte
	Stderr string
	Code   int
}

// Request is one tool call that a harness asks about.
type Request struct {
	Event string // the harness's name for the event
	// Session is the harness's session. For a sub-agent's, Parent is the session that it
	// belongs to.
	Session, Parent string
	Cwd             string   // absolute
	Roots           []string // absolute
	Mode            string   // the agent's permission mode, "" if unknown
	// AtShell is set if Cwd is the current directory of the agent's shell, and nothing
	// else of the shell's state survives from one call to the next.
	AtShell bool
	Call    toolCall

	// canAsk is set if it is certain that the harness shows its person a question when
	// told to.
	canAsk bool
	// ownRules is set if the harness, without an answer, asks its person or follows the
	// rules that the person set in it.
	ownRules bool
	// readOnly is set if the agent may only read and plan. An allow would override that,
	// so permd leaves such calls to the harness.
	readOnly bool
	// onlyAsks is set if the tool does nothing but ask the person: a second question
	// would not make it safer.
	onlyAsks bool
}

// toolCall is the planned call of a tool.
type toolCall struct {
	ID     string
	Name   string
	Server string // the tool server, "" if none
	Source string // where that server's configuration comes from
	Input  strictjson.Value
}

// Harness is an agent harness with hooks.
type Harness struct {
	// Name is its name on the command line.
	Name string
	// Agent is its name in permd's profiles of tools.
	Agent effects.Party
	// read parses the harness's input.
	read func(in []byte) (*Request, error)
	// readAfter parses the harness's input at events after a tool.
	readAfter func(in []byte) (*Finished, error)
	// encode returns the output for an answer.
	encode func(r *Request, o answerKind, text string) Output
	// encodeBlock returns the output that blocks the tool if the input could not be read.
	encodeBlock func(text string) Output
}

// Names returns the names that ByName knows.
func Names() []string {
	return []string{"claude", "cline", "codex", "copilot", "cursor", "gemini"}
}

// ByName returns the harness with that name, nil if there is none.
func ByName(name string) *Harness {
	switch name {
	case "claude":
		return claude()
	case "cline":
		return cline()
	case "codex":
		return codex()
	case "copilot":
		return copilot()
	case "cursor":
		return cursor()
	case "gemini":
		return gemini()
	}
	return nil
}

// Read parses the input of a hook. After an error there is nothing to decide; Failed
// tells the harness so.
func (h *Harness) Read(in []byte) (*Request, error) {
	if len(in) > MaxInput {
		return nil, errors.New("the harness wrote too much")
	}
	if err := strictjson.Check(in); err != nil {
		return nil, fmt.Errorf("reading what the harness wrote: %w", err)
	}
	r, err := h.read(in)
	if err != nil {
		return nil, fmt.Errorf("reading what the harness wrote: %w", err)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("reading what the harness wrote: %w", err)
	}
	return r, nil
}

// Answer returns the output for a decision.
func (h *Harness) Answer(r *Request, d *decisions.Decision) Output {
	o, text := r.outcome(d)
	return h.encode(r, o, text)
}

// Failed returns the output for a call that could not be decided: the harness asks its
// person if that is certain, otherwise it blocks the tool. r is nil if the input could
// not be read.
func (h *Harness) Failed(r *Request, why string) Output {
	if r == nil {
		return h.encodeBlock(printable(why))
	}
	if r.canAsk {
		return h.encode(r, ask, byPermd+printable(why))
	}
	return h.encodeBlock(printable(why))
}

// Block returns the output that blocks the tool in every harness that uses exit codes,
// for an unknown harness.
func Block(text string) Output {
	return Output{Stderr: byPermd + printable(text) + "\n", Code: exitBlock}
}

// maxName bounds ids and names, in bytes, as permd's socket does.
const maxName = 1024

// check returns an error for a request that cannot be sent to permd.
func (r *Request) check() error {
	switch {
	case r.Session == "":
		return errors.New("the session has no id")
	case r.Call.Name == "":
		return errors.New("the tool has no name")
	case r.Cwd == "":
		return errors.New("the working directory is missing")
	case !filepath.IsAbs(r.Cwd):
		return errors.New("the working directory is not absolute")
	}
	for _, name := range []string{r.Session, r.Parent, r.Mode, r.Call.ID, r.Call.Name, r.Call.Server, r.Call.Source} {
		if len(name) > maxName {
			return fmt.Errorf("a name is longer than %d bytes", maxName)
		}
	}
	if r.Call.ID == "" {
		r.Call.ID = "1"
	}
	return nil
}

// requireObject returns a tool's input, which must be an object. name is for the error.
func requireObject(v strictjson.Value, name string) (strictjson.Value, error) {
	if strictjson.Kind(v) != '{' {
		return nil, fmt.Errorf("%s is not an object", name)
	}
	return v, nil
}

// textOrObject returns a tool's input, which must be an object or the text of one.
func textOrObject(v strictjson.Value, name string) (strictjson.Value, error) {
	if text, ok := strictjson.ParseString(v); ok {
		v = strictjson.Value(text)
		if err := strictjson.Check(v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return requireObject(v, name)
}

// printable returns s on one line, with at most maxChars characters and without control
// characters.
func printable(s string) string {
	const maxChars = 2000
	var b strings.Builder
	n := 0
	for _, c := range s {
		if n++; n == maxChars {
			b.WriteRune('…')
			break
		}
		if !unicode.IsPrint(c) {
			c = ' '
		}
		b.WriteRune(c)
	}
	return b.String()
}
