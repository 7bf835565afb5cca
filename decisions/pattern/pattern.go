// Package pattern is the one list language of permd: a rule line such as "go
// test *", "./docs/**", "*.python.org" or "github:get_*". It parses a line,
// matches it against an effect and formats it. Lists, remembered choices and
// suggestions all use it, so that a line means the same everywhere.
//
// A line never matches a command string, only one effect. The package knows no
// layers and no verdicts: the consequences of a match are determined elsewhere.
package pattern

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/permd/permd/decisions/effects"
)

// MaxLine is the maximum length of a rule line, in bytes.
const MaxLine = 4096

// Kinds are the kinds of effects that a line can be about.
var Kinds = []effects.Kind{
	effects.KindRun, effects.KindRead, effects.KindWrite, effects.KindDelete,
	effects.KindConnect, effects.KindUse,
}

// Pattern is a parsed rule line. Exactly one of the members after Kind is set,
// the one for the kind. It is immutable.
type Pattern struct {
	Kind effects.Kind
	Run  *Run  // KindRun
	Path *Path // KindRead, KindWrite, KindDelete
	Host *Host // KindConnect
	Tool *Tool // KindUse
}

// Detail returns which member after Kind is set, as the kind of detail of the effects
// that the line is about. Code that handles these members is a switch on it, so that a
// linter finds all places where a new one has to be added.
func (p *Pattern) Detail() effects.Detail {
	switch {
	case p.Run != nil:
		return effects.DetailRun
	case p.Path != nil:
		return effects.DetailFile
	case p.Host != nil:
		return effects.DetailConnect
	case p.Tool != nil:
		return effects.DetailUse
	}
	return effects.NoDetail
}

// Precision is how much a line spells out, to compare lines of the same kind: the words of
// a run without a last *, one more if nothing may follow, and of other lines the
// characters that are no wildcards.
func (p *Pattern) Precision() int {
	if r := p.Run; r != nil {
		n := 2 * (len(r.Words) + len(r.Named))
		if !r.Rest {
			n++
		}
		return n
	}
	text := p.String()
	return len(text) - strings.Count(text, "*")
}

// Context is what a line is relative to. If a member is empty, lines that need
// it match nothing.
type Context struct {
	Project string // root of the call's project, for ./
	Home    string // the person's home, for ~/
	Cwd     string // the session's working directory
}

// Error is why a line cannot be used, and what to write instead.
type Error struct {
	Kind   effects.Kind
	Line   string
	Reason string
	Fix    string // "" if there is nothing to suggest
}

// maxShown bounds the part of a line that an error shows, in bytes.
const maxShown = 200

// Error returns the line, or its beginning, and the reason.
func (e *Error) Error() string {
	line, rest := e.Line, ""
	if len(line) > maxShown {
		line, rest = strings.ToValidUTF8(line[:maxShown], ""), "…"
	}
	return fmt.Sprintf("reading %s line %q%s: %s", e.Kind, line, rest, e.Reason)
}

// Hint returns what to write instead, "" if unknown.
func (e *Error) Hint() string { return e.Fix }

// refusal is an Error without the line.
type refusal struct{ reason, fix string }

func refuse(fix, format string, args ...any) *refusal {
	return &refusal{reason: fmt.Sprintf(format, args...), fix: fix}
}

// Parse reads a rule line. The error is an *Error.
func Parse(kind effects.Kind, line string) (*Pattern, error) {
	p, r := parse(kind, line)
	if r != nil {
		return nil, &Error{Kind: kind, Line: line, Reason: r.reason, Fix: r.fix}
	}
	return p, nil
}

func parse(kind effects.Kind, line string) (*Pattern, *refusal) {
	if r := checkReadable(line); r != nil {
		return nil, r
	}
	p := &Pattern{Kind: kind}
	var r *refusal
	switch kind {
	case effects.KindRun:
		p.Run, r = parseRun(line)
	case effects.KindRead, effects.KindWrite, effects.KindDelete:
		p.Path, r = parsePath(line)
	case effects.KindConnect:
		p.Host, r = parseHost(line)
	case effects.KindUse:
		p.Tool, r = parseTool(line)
	case effects.KindState, effects.KindMode, effects.KindQuestion, effects.KindUnknown:
	}
	if r == nil && p.Detail() == effects.NoDetail {
		names := make([]string, len(Kinds))
		for i, k := range Kinds {
			names[i] = string(k)
		}
		return nil, refuse("the kinds are "+strings.Join(names, ", "), "no line can speak of the kind %q", kind)
	}
	if r != nil {
		return nil, r
	}
	return p, nil
}

// checkReadable refuses text that does not look like what it is: a person must be
// able to review a line by reading it.
func checkReadable(line string) *refusal {
	switch {
	case line == "":
		return refuse("", "the line is empty")
	case len(line) > MaxLine:
		return refuse("", "the line is longer than %d bytes", MaxLine)
	case !utf8.ValidString(line):
		return refuse("", "the line is not valid UTF-8")
	case strings.TrimSpace(line) != line:
		return refuse("remove the spaces", "the line begins or ends with a space")
	}
	for _, c := range line {
		if isInvisible(c) {
			return refuse("", "the line has the control or invisible character %U", c)
		}
	}
	return nil
}

// isInvisible reports whether a character is invisible or changes how its neighbours
// are displayed (controls, bidirectional and zero-width characters).
func isInvisible(c rune) bool {
	return c != ' ' && !unicode.IsPrint(c)
}

// String returns the line in its canonical form; Parse returns an equal pattern
// for it.
func (p *Pattern) String() string {
	switch p.Detail() {
	case effects.DetailRun:
		return p.Run.String()
	case effects.DetailFile:
		return p.Path.String()
	case effects.DetailConnect:
		return p.Host.String()
	case effects.DetailUse:
		return p.Tool.String()
	case effects.NoDetail:
	}
	return ""
}

// Match reports whether the line covers the whole effect, as an allow or a
// remembered allow requires. all are the effects of the call, which e.Via
// indexes.
func (p *Pattern) Match(e *effects.Effect, all []effects.Effect, ctx Context) bool {
	if p.Kind == effects.KindRun {
		return p.Run.match(e, all, ctx)
	}
	if e.Kind != p.Kind || e.Detail() != p.Detail() {
		return false
	}
	switch p.Detail() {
	case effects.DetailFile:
		return p.Path.match(e.Kind, e.File, ctx)
	case effects.DetailConnect:
		return p.Host.match(e.Connect)
	case effects.DetailUse:
		return p.Tool.match(e.Use)
	case effects.DetailRun, effects.NoDetail: // a run is matched above
	}
	return false
}

// Exact reports whether the line matches the effect and names its exact path or
// host, so that it covers the effect's guarded tags too.
func (p *Pattern) Exact(e *effects.Effect, all []effects.Effect, ctx Context) bool {
	if !p.Match(e, all, ctx) {
		return false
	}
	switch p.Detail() {
	case effects.DetailRun:
		return p.Run.exact(e, all)
	case effects.DetailFile:
		return p.Path.Literal()
	case effects.DetailConnect:
		return !p.Host.Below
	case effects.DetailUse, effects.NoDetail:
	}
	return false
}

// Touches reports whether the line may cover any part of the effect, which
// suffices for a deny, an ask or a remembered reject. It is wider than Match
// where missing a match would be dangerous: further options are ignored after a
// last *, a program also matches by its base name, options count in any
// position, a recursive effect touches everything below its path, and a tool whose
// server is not known may be one of every server, and its names match in any case.
func (p *Pattern) Touches(e *effects.Effect, ctx Context) bool {
	if e.Kind != p.Kind || e.Detail() != p.Detail() {
		return false
	}
	switch p.Detail() {
	case effects.DetailRun:
		return p.Run.touches(e.Run, ctx)
	case effects.DetailFile:
		return p.Path.touches(e.File, ctx)
	case effects.DetailConnect:
		return p.Host.touches(e.Connect, e.Tags)
	case effects.DetailUse:
		return p.Tool.touches(e)
	case effects.NoDetail:
	}
	return false
}
