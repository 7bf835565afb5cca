package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// ownFile is a file that is permd's alone: harnesses that take a folder of files
// get one more.
type ownFile struct {
	harness string
	text    func(program string) []byte
}

func (o *ownFile) install(text []byte, program string) ([]byte, error) {
	if text != nil {
		return nil, cli.Failf(cli.ExitError, "look at it; permd can be called from it with: permd hook "+o.harness, "there is another file in its place")
	}
	return o.text(program), nil
}

func (o *ownFile) remove(text []byte) ([]byte, bool, error) {
	if text == nil {
		return nil, false, nil
	}
	if o.program(text) == "" {
		if bytes.Contains(text, []byte(" hook "+o.harness)) && bytes.Contains(text, []byte("permd")) {
			return nil, false, cli.Failf(cli.ExitError, "look at it, and remove it by hand", "it was changed, so it is not permd's alone any more")
		}
		return text, false, nil
	}
	return nil, true, nil
}

func (o *ownFile) check(text []byte) (e configEntries, err error) {
	if program := o.program(text); program != "" {
		e.program(program)
	} else if bytes.Contains(text, []byte(" hook "+o.harness)) {
		e.problems = append(e.problems, "it was changed")
	}
	return e, nil
}

// program is the permd that the file runs, "" if it is not as permd writes it.
func (o *ownFile) program(text []byte) string {
	for line := range strings.Lines(string(text)) {
		_, rest, ok := strings.Cut(line, ownMark)
		if !ok {
			continue
		}
		rest, _, _ = strings.Cut(rest, ownMarkEnd)
		if program := hookProgram(rest+" hook "+o.harness, o.harness); program != "" && bytes.Equal(o.text(program), text) {
			return program
		}
	}
	return ""
}

// What stands around the program's path, as a shell takes it, where the files
// name it first.
const (
	ownMark    = "Written by permd hook install for "
	ownMarkEnd = "; permd hook uninstall removes it."
)

// copilotFile is one of Copilot's files of hooks.
func copilotFile(program string) []byte {
	type hook struct {
		Type    string `json:"type"`
		Bash    string `json:"bash"`
		Limit   int    `json:"timeoutSec"`
		Comment string `json:"comment"`
	}
	type hooks struct {
		PreToolUse []hook `json:"preToolUse"`
	}
	text, err := json.Marshal(struct {
		Version int   `json:"version"`
		Hooks   hooks `json:"hooks"`
	}{1, hooks{[]hook{{"command", hookCommand(program, "copilot"), hookLimit, ownMark + cli.Quote(program) + ownMarkEnd}}}}, jsontext.WithIndent("  "))
	if err != nil {
		panic(err) // strings and numbers
	}
	return append(text, '\n')
}

// clineFile is the program that Cline starts before a tool. Cline goes on when
// its hook fails, so that one says no in words whatever happens to permd.
func clineFile(program string) []byte {
	return fmt.Appendf(nil, `#!/bin/sh
# %[1]s%[2]s%[3]s
answer=$(%[2]s hook cline) && [ -n "$answer" ] && printf '%%s\n' "$answer" && exit 0
printf '%%s\n' '{"cancel":true,"errorMessage":"permd: permd hook cline did not answer","contextModification":""}'
`, ownMark, cli.Quote(program), ownMarkEnd)
}
