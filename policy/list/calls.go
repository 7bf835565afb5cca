package list

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/chars"
)

// Bounds of a file of calls. Each call is decided when the rules are loaded.
const (
	maxCalls     = 1000
	maxCallFiles = 1000
)

// Calls is a file of calls with the verdicts that they must have (*_test.yaml).
type Calls struct {
	Cases []CallCase
	Files []CallFile // in the file system that the calls are decided in
}

// CallCase is one call. Exactly one of Run, Read, Write, Fetch, Use and Tool is set.
type CallCase struct {
	Want  decisions.Verdict
	Run   string // shell text
	Read  string // a path
	Write string // a path
	Fetch string // an address
	Use   string // SERVER:TOOL
	Tool  string // the name of a tool of the agent, which gets Input
	Input map[string]any
	Cwd   string // "" for the project's root
	Agent string // NAME or NAME@VERSION, "" for the usual one
	Line  int
}

// Text describes the call as the file does.
func (c *CallCase) Text() string {
	switch {
	case c.Run != "":
		return c.Run
	case c.Read != "":
		return "read " + c.Read
	case c.Write != "":
		return "write " + c.Write
	case c.Fetch != "":
		return "fetch " + c.Fetch
	case c.Use != "":
		return "use " + c.Use
	}
	return "tool " + c.Tool
}

// CallFile is a file, or a folder if the path ends in a slash.
type CallFile struct {
	Path, Text string
	Line       int
}

// ParseCalls reads a file of calls. As in a list, only maps, lists and scalars of YAML are
// accepted. The error joins an *Error for each problem.
func ParseCalls(file string, data []byte) (*Calls, error) {
	r := &callReader{reader: reader{file: file}}
	if len(data) > maxBytes {
		r.fail(0, "", "the file is longer than %d bytes", maxBytes)
		return nil, errors.Join(r.errs...)
	}
	if line := chars.HidesLine(data); line > 0 {
		r.fail(line, "take the character out", "it holds a character with which the file shows other lines than it has")
		return nil, errors.Join(r.errs...)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
	case err != nil:
		r.syntax(err)
	case !errors.Is(dec.Decode(&more), io.EOF):
		r.fail(0, "use one file for each", "the file has more than one document")
	case len(doc.Content) == 1:
		r.document(doc.Content[0])
	}
	if r.errs != nil {
		return nil, errors.Join(r.errs...)
	}
	return &r.calls, nil
}

// callReader reads a file of calls and collects all problems.
type callReader struct {
	reader
	calls Calls
}

func (r *callReader) document(n *yaml.Node) {
	const fix = "the keys are allow, ask, deny and files"
	r.pairs(n, "the file", fix, func(key, value *yaml.Node) {
		switch {
		case slices.Contains(sets, decisions.Set(key.Value)):
			r.cases(decisions.Verdict(key.Value), value)
		case key.Value == "files":
			r.files(value)
		default:
			r.fail(key.Line, fix, "the key %q is not known", key.Value)
		}
	})
}

func (r *callReader) cases(want decisions.Verdict, n *yaml.Node) {
	if !r.plain(n) || n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.SequenceNode {
		r.fail(n.Line, fmt.Sprintf(`write %s: ["git status"]`, want), "%s is no list of calls", want)
		return
	}
	for _, item := range n.Content {
		if len(r.calls.Cases) == maxCalls {
			r.fail(item.Line, "", "the file has more than %d calls", maxCalls)
			return
		}
		c := CallCase{Want: want, Line: item.Line}
		if item.Kind == yaml.MappingNode {
			r.oneCase(item, &c)
		} else {
			c.Run = r.text(item, "a call")
		}
		if c.Run+c.Read+c.Write+c.Fetch+c.Use+c.Tool != "" {
			r.calls.Cases = append(r.calls.Cases, c)
		}
	}
}

// oneCase reads a call that is written as a map.
func (r *callReader) oneCase(n *yaml.Node, c *CallCase) {
	const fix = "the keys are one of run, read, write, fetch, use and tool, and cwd, agent and, for a tool, input"
	kinds := map[string]*string{"run": &c.Run, "read": &c.Read, "write": &c.Write, "fetch": &c.Fetch, "use": &c.Use, "tool": &c.Tool}
	what := 0
	r.pairs(n, "a call", fix, func(key, value *yaml.Node) {
		switch to := kinds[key.Value]; {
		case to != nil:
			what++
			*to = r.text(value, key.Value)
		case key.Value == "cwd":
			c.Cwd = r.text(value, "cwd")
		case key.Value == "agent":
			c.Agent = r.text(value, "agent")
		case key.Value == "input" && value.Kind == yaml.MappingNode && r.allPlain(value):
			if err := value.Decode(&c.Input); err != nil {
				r.fail(value.Line, "", "reading the input: %v", err)
			}
		case key.Value == "input":
			r.fail(value.Line, "write the members of the tool's input", "the input is no map")
		default:
			r.fail(key.Line, fix, "the key %q is not known", key.Value)
		}
	})
	switch server, tool, ok := strings.Cut(c.Use, ":"); {
	case what != 1:
		r.fail(n.Line, fix, "the call has %d of run, read, write, fetch, use and tool, not one", what)
	case c.Input != nil && c.Tool == "" && c.Use == "":
		r.fail(n.Line, "name the tool, as in tool: Bash", "only a tool has an input")
	case c.Use != "" && (!ok || server == "" || tool == ""):
		r.fail(n.Line, "write use: github:create_issue", "use %q names no tool of a server", c.Use)
	}
}

// text returns the text of a scalar, which must not be empty.
func (r *callReader) text(n *yaml.Node, what string) string {
	switch {
	case !r.plain(n):
	case n.Kind != yaml.ScalarNode || n.Tag != "!!str":
		r.fail(n.Line, "put quotes around it", "%s is no text", what)
	case strings.TrimSpace(n.Value) == "":
		r.fail(n.Line, "", "%s is empty", what)
	case len(n.Value) > maxEntryBytes:
		r.fail(n.Line, "", "%s has more than %d bytes", what, maxEntryBytes)
	default:
		return n.Value
	}
	return ""
}

// allPlain reports whether a value and all within are plain.
func (r *callReader) allPlain(n *yaml.Node) bool {
	return r.plain(n) && !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return !r.allPlain(c) })
}

func (r *callReader) files(n *yaml.Node) {
	r.pairs(n, "files", `write files: {Makefile: "test:\n\tgo test ./...\n"}`, func(key, value *yaml.Node) {
		if len(r.calls.Files) == maxCallFiles {
			r.fail(key.Line, "", "there are more than %d files", maxCallFiles)
			return
		}
		f := CallFile{Path: key.Value, Line: key.Line}
		switch {
		case !r.plain(value):
			return
		case value.Kind == yaml.ScalarNode && value.Tag == "!!null":
		case value.Kind != yaml.ScalarNode || value.Tag != "!!str":
			r.fail(value.Line, "put quotes around it", "the content of %s is no text", key.Value)
			return
		default:
			f.Text = value.Value
		}
		if key.Value == "" || strings.HasSuffix(key.Value, "/") && f.Text != "" {
			r.fail(key.Line, "", "%q is no file with a content", key.Value)
			return
		}
		r.calls.Files = append(r.calls.Files, f)
	})
}
