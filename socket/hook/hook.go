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

// MaxInput is the most that a harness may write, in bytes. permd's socket takes
// 4 MiB; what is longer can not be decided.
const MaxInput = 8 << 20

// exitBlock is the exit code that stops a tool in all harnesses that look at
// exit codes, when there is a text on standard error and nothing on standard
// output.
const exitBlock = 2

// Output is the output of a hook process.
type Output struct {
	Stdout []byte
	Stderr string
	Code   int
}

// Request is one tool call that a harness asks about.
type Request struct {
	Event string // the harness's name for the occasion
	// Session is the harness's session, and Parent the one that it belongs to
	// when it is that of a sub-agent.
	Session, Parent string
	Cwd             string   // absolute
	Roots           []string // absolute
	Mode            string   // the agent's permission mode, "" when it was not said
	// AtShell is set when Cwd is where the agent's shell is now, and nothing else
	// of the shell lives on from one call to the next.
	AtShell bool
	Call    toolCall

	// asks is set if the harness certainly shows its person a question when
	// told to.
	asks bool
	// rules is set if the harness, without an answer, asks its person or
	// follows what the person allowed in it.
	rules bool
	// readOnly is set when the agent may only look and plan: an allow would let it do
	// more than its person wants, so the harness goes by its own rules.
	readOnly bool
	// question is set when the tool does nothing but ask the person, so that one
	// question more would be no safer.
	question bool
}

// toolCall is the tool call itself.
type toolCall struct {
	ID     string
	Name   string
	Server string // the tool server, "" for none
	Source string // where that server's configuration comes from
	Input  strictjson.Value
}

// Harness is one harness.
type Harness struct {
	// Name is the word on the command line.
	Name string
	// Agent is the name by which permd knows the harness's tools.
	Agent effects.Party
	// read parses the harness's input.
	read func(in []byte) (*Request, error)
	// say encodes an answer for the harness.
	say func(r *Request, o answerKind, text string) Output
	// blocks encodes a "no" for when the request could not be read.
	blocks func(text string) Output
}

// Names are the harnesses that Of knows.
func Names() []string {
	return []string{"claude", "cline", "codex", "copilot", "cursor", "gemini"}
}

// Of returns the harness of that name, nil if there is none.
func Of(name string) *Harness {
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

// Read makes a request of what the harness wrote on standard input. On an error
// there is nothing to decide, and Failed says so to the harness.
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

// Answer says the decision in the harness's words.
func (h *Harness) Answer(r *Request, d *decisions.Decision) Output {
	o, text := r.outcome(d)
	return h.say(r, o, text)
}

// Failed encodes the lack of a decision: the person is asked where that is
// certain, otherwise the tool does not run. r is nil if the request could not
// be read.
func (h *Harness) Failed(r *Request, why string) Output {
	if r == nil {
		return h.blocks(clean(why))
	}
	if r.asks {
		return h.say(r, ask, clean(why))
	}
	return h.blocks(clean(why))
}

// Block is the answer that stops a tool in every harness that looks at exit
// codes, for when not even the harness is known.
func Block(text string) Output {
	return Output{Stderr: "permd: " + clean(text) + "\n", Code: exitBlock}
}

// maxName is the most bytes of an id or a name; permd takes no more.
const maxName = 1024

// check refuses a request that could not be asked about.
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

// object is a tool's input that must be an object.
func object(v strictjson.Value, name string) (strictjson.Value, error) {
	if strictjson.Kind(v) != '{' {
		return nil, fmt.Errorf("%s is not an object", name)
	}
	return v, nil
}

// textOrObject is a tool's input that is an object, or one written as text.
func textOrObject(v strictjson.Value, name string) (strictjson.Value, error) {
	if text, ok := strictjson.ParseString(v); ok {
		v = strictjson.Value(text)
		if err := strictjson.Check(v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return object(v, name)
}

// clean makes a text fit for a terminal and for an answer: one line, bounded,
// nothing that a terminal acts on.
func clean(s string) string {
	const most = 2000
	var b strings.Builder
	n := 0
	for _, c := range s {
		if n++; n == most {
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
