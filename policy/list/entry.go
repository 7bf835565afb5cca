package list

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/pattern"
)

// Bounds of what an entry says in words, in bytes. A person reads a reason in a dialog;
// an agent reads a message.
const (
	maxReason  = 200
	maxMessage = 1000
)

const entryFix = `write "git push *" or {match: "git push *", reason: "why", message: "what to do instead"}`

// entry reads an entry: a rule line, or a map with the line and what to say about it.
func (r *reader) entry(set decisions.Set, kind effects.Kind, item *yaml.Node) (e Entry, ok bool) {
	e = Entry{Set: set, Kind: kind, Line: item.Line, Column: item.Column}
	line := item
	if item.Kind == yaml.MappingNode {
		before := len(r.errs)
		line = nil
		r.pairs(item, "an entry", entryFix, func(key, value *yaml.Node) {
			switch key.Value {
			case "match":
				line = value
			case "reason":
				e.Reason = r.text(key.Value, value, maxReason)
			case "message":
				e.Message = r.text(key.Value, value, maxMessage)
			default:
				r.fail(key.Line, entryFix, "the key %q of an entry is not known", key.Value)
			}
		})
		if line == nil {
			r.fail(item.Line, entryFix, "an entry of %s %s without match", set, kind)
		}
		if len(r.errs) > before || !r.plain(line) {
			return e, false
		}
	}
	if line.Kind != yaml.ScalarNode || line.Tag != "!!str" {
		r.fail(line.Line, "put quotes around it", "an entry of %s %s is no text", set, kind)
		return e, false
	}
	if len(line.Value) > maxEntryBytes {
		r.fail(line.Line, "", "an entry of %s %s has more than %d bytes", set, kind, maxEntryBytes)
		return e, false
	}
	p, err := pattern.Parse(kind, line.Value)
	if err != nil {
		fix := ""
		if pe, ok := errors.AsType[*pattern.Error](err); ok {
			fix = pe.Hint()
		}
		r.errs = append(r.errs, &Error{file: r.file, Line: line.Line, Err: err, fix: fix})
		return e, false
	}
	e.Pattern = p
	return e, true
}

// text reads what an entry says in words: one line, as it is shown to people.
func (r *reader) text(key string, n *yaml.Node, limit int) string {
	const fix = "write one line of plain text"
	switch {
	case !r.plain(n):
	case n.Kind != yaml.ScalarNode || n.Tag != "!!str" || strings.TrimSpace(n.Value) == "":
		r.fail(n.Line, "put quotes around it", "the %s of an entry is no text", key)
	case len(n.Value) > limit:
		r.fail(n.Line, "write less", "the %s of an entry has more than %d bytes", key, limit)
	case !display.Printable(n.Value):
		r.fail(n.Line, fix, "the %s of an entry holds a character that is not shown as it is", key)
	default:
		return display.Display(n.Value) // secrets are masked
	}
	return ""
}

// says returns the reason of an entry's rules, and the message for the agent. What a
// project says is marked as its words.
func (e *Entry) says(project bool) (reason, message string) {
	if !project {
		if e.Reason != "" {
			return e.Reason, e.Message
		}
		return fmt.Sprintf("listed under %s %s: %s", e.Set, e.Kind, e.Pattern), e.Message
	}
	reason = fmt.Sprintf("listed under %s %s by the project", e.Set, e.Kind)
	if e.Reason != "" {
		reason += ", which says: " + inQuotes(e.Reason)
	}
	if e.Message != "" {
		message = "the project's rules say: " + inQuotes(e.Message)
	}
	return reason, message
}

// inQuotes puts a text in quotes that it cannot end.
func inQuotes(text string) string {
	return "“" + strings.NewReplacer("“", "'", "”", "'").Replace(text) + "”"
}
