// Package facts writes down what a remembered choice is about: the facts of an effect, as the
// bytes that are hashed to find the choice again.
package facts

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/strictjson"
)

// Form selects which facts of an effect a digest covers.
type Form struct {
	// AnyArguments leaves out the arguments of a named tool.
	AnyArguments bool
	// Absolute identifies files of the project by absolute path; otherwise they
	// are relative to the project, so that all its worktrees share choices.
	Absolute bool
	// Moved is set for allows of what is moved away.
	Moved bool
	// Variables counts those that are set for a run: an allow of exactly a run covers no other.
	Variables bool
	// Earlier takes what a run executes as earlier versions did.
	Earlier bool
	// Unbound leaves out the content that a run executes. Such a digest is of no choice:
	// it finds those that are bound to another content.
	Unbound bool
}

// Moves reports whether a file is moved away: an allow of that is none of deleting it.
// Allows of deletes, and those of earlier versions, are also found for what is moved.
func Moves(e *effects.Effect) bool { return e.File != nil && e.File.Moved != "" }

// SetsVariables reports whether variables are set for a run. All may reach what it runs: make and
// scripts see those of the environment.
func SetsVariables(e *effects.Effect) bool { return e.Run != nil && len(e.Run.Variables) > 0 }

// Append appends the facts of the effect of q. It is false for an effect that no choice can be
// about.
func Append(b []byte, q *decisions.MemoryQuery, f Form) ([]byte, bool) {
	e := q.Effect
	b = AppendText(b, string(e.Kind))
	b = AppendFlag(b, e.Claimed)
	switch e.Kind {
	case effects.KindRun:
		if e.Run == nil {
			return b, false
		}
		return appendRun(b, e.Run, q, f), true
	case effects.KindRead, effects.KindWrite, effects.KindDelete:
		if e.File == nil {
			return b, false
		}
		b = appendPath(b, e.File.Path, q, f)
		if b = AppendFlag(b, e.File.Recursive); f.Moved {
			b = append(b, 2) // a byte that no flag uses
		}
		return b, true
	case effects.KindConnect:
		if e.Connect == nil {
			return b, false
		}
		b = AppendText(b, e.Connect.Host)
		b = binary.BigEndian.AppendUint32(b, uint32(e.Connect.Port))
		return AppendText(b, e.Connect.Method), true
	case effects.KindUse:
		if e.Use == nil {
			return b, false
		}
		b = AppendText(b, e.Use.Server)
		b = AppendText(b, e.Use.Source)
		b = AppendText(b, e.Use.Tool)
		b = appendTerms(b, e.Use)
		b = AppendFlag(b, f.AnyArguments)
		if !f.AnyArguments {
			b = AppendFlag(b, e.Use.Arguments != nil)
			b = AppendText(b, string(compact(e.Use.Arguments)))
		}
		return b, true
	case effects.KindState, effects.KindMode, effects.KindQuestion, effects.KindUnknown:
	}
	return b, false
}

// appendTerms appends the facts about a tool's use besides its arguments: the
// requested version, the credentials passed to it, and the user it acts for.
// Without any of these it appends nothing, and otherwise a byte that no flag
// uses, so that choices made before these facts existed still match.
func appendTerms(b []byte, u *effects.Use) []byte {
	if u.Version == "" && u.Credentials.Empty() && u.OnBehalfOf == "" {
		return b
	}
	b = append(b, 2)
	b = AppendText(b, u.Version)
	b = appendList(b, u.Credentials.Secrets)
	b = binary.AppendUvarint(b, uint64(len(u.Credentials.Authorizations)))
	for _, a := range u.Credentials.Authorizations {
		b = appendList(AppendText(b, a.ID), a.Scopes)
	}
	return AppendText(b, u.OnBehalfOf)
}

func appendList(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = AppendText(b, s)
	}
	return b
}

func appendRun(b []byte, r *effects.Run, q *decisions.MemoryQuery, f Form) []byte {
	b = appendPath(b, r.Program, q, f)
	b = AppendText(b, r.Executable)
	b = binary.AppendUvarint(b, uint64(len(r.Args)))
	for _, arg := range r.Args {
		b = AppendText(b, arg)
	}
	b = AppendText(b, string(StdinOf(r)))
	b = AppendText(b, r.StdinText)
	at := LocationOf(r, q)
	b = AppendFlag(b, at.InProject)
	b = appendPath(b, at.Cwd, q, f)
	if f.Variables {
		b = appendList(append(b, 3), r.Variables) // a byte that no flag uses
	}
	if f.Unbound {
		return append(b, 2) // a byte that no flag uses
	}
	for _, s := range []*effects.Script{r.Script, q.Target} {
		if s != nil && s.Unbound != "" {
			s = nil // so that rejects are found as before
		}
		b = AppendFlag(b, s != nil)
		if s != nil {
			b = appendPath(b, s.Path, q, f)
			if f.Earlier && s.Earlier != "" {
				b = AppendText(b, s.Earlier)
				continue
			}
			b = AppendText(b, s.SHA256)
		}
	}
	return b
}

// appendPath appends a path with a marker, relative to the project's root if it
// is in the project.
func appendPath(b []byte, p string, q *decisions.MemoryQuery, f Form) []byte {
	if !f.Absolute && Within(p, q.Project) {
		b = append(b, 1)
		return AppendText(b, p[len(q.Project):])
	}
	return AppendText(append(b, 0), p)
}

// Within reports whether a path is a project's root or below it.
func Within(p, project string) bool {
	return project != "" && lexpath.In(project, p)
}

// Location is what a run is bound to: a project, the folder itself, or both.
type Location struct {
	InProject bool
	Cwd       string // "" if only the project counts
}

// LocationOf returns what a run in the project of q is bound to.
func LocationOf(r *effects.Run, q *decisions.MemoryQuery) Location {
	// A folder that the path places in the project may be a link to another
	// project.
	p := Location{InProject: Within(r.Cwd, q.Project) && !q.Effect.Tags.Has(effects.Outside)}
	// A relative path names another program in another folder, unless a script
	// pins its content.
	if !p.InProject || r.Executable != "" && !filepath.IsAbs(r.Executable) && r.Script == nil {
		p.Cwd = r.Cwd
	}
	return p
}

// StdinOf returns where the standard input of a run comes from.
func StdinOf(r *effects.Run) effects.Stdin {
	if r.Stdin == "" {
		return effects.StdinNone
	}
	return r.Stdin
}

// compact removes white space between tokens and nothing else: numbers keep
// their digits and members their order, so that different arguments stay
// different.
func compact(raw []byte) []byte {
	v := strictjson.Value(raw).Clone()
	if v.Compact() != nil {
		return raw
	}
	return v
}

// AppendText appends a text after its length.
func AppendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// AppendFlag appends a byte that is 0 or 1.
func AppendFlag(b []byte, f bool) []byte {
	if f {
		return append(b, 1)
	}
	return append(b, 0)
}

// ScriptOf returns the text that a run executes, nil if it is not a script of
// the project.
func ScriptOf(q *decisions.MemoryQuery) *effects.Script {
	if q.Effect.Run != nil && q.Effect.Run.Script != nil {
		return q.Effect.Run.Script
	}
	return q.Target
}

// CheckKnown returns what is missing for an exact match of the effect. An allow
// needs more than a reject: unknown facts may be different next time.
func CheckKnown(q *decisions.MemoryQuery, verdict decisions.Verdict) error {
	e := q.Effect
	why := ""
	switch e.Kind {
	case effects.KindRun:
		why = unknownRun(q, verdict == decisions.Allow)
	case effects.KindRead, effects.KindWrite, effects.KindDelete:
		if e.File == nil || !filepath.IsAbs(e.File.Path) {
			why = "the path is not known"
		}
	case effects.KindConnect:
		if e.Connect == nil || e.Connect.Host == "" {
			why = "the host is not known"
		}
	case effects.KindUse:
		switch {
		case e.Use == nil || e.Use.Tool == "":
			why = "the tool is not known"
		case e.Use.OfKind():
			why = "the call names no tool: another one of its kind may be of another tool"
		}
	case effects.KindState, effects.KindMode, effects.KindQuestion, effects.KindUnknown:
		fallthrough
	default:
		why = fmt.Sprintf("an effect of kind %q is never remembered", e.Kind)
	}
	if why != "" {
		return errors.New(why)
	}
	return nil
}

func unknownRun(q *decisions.MemoryQuery, allow bool) string {
	r := q.Effect.Run
	if r == nil || r.Program == "" {
		return "the program is not known"
	}
	if !allow {
		return ""
	}
	for _, arg := range r.Args {
		if strings.Contains(arg, effects.DynamicWord) {
			return "an argument is only known when the command runs"
		}
	}
	switch {
	case q.Target != nil && q.Target.Unbound != "":
		return q.Target.Unbound
	case r.Program == effects.DynamicWord:
		return "the program is only known when the command runs"
	case !filepath.IsAbs(r.Cwd):
		return "the folder it runs in is not known"
	case r.Script != nil && (r.Script.SHA256 == "" || r.Script.Path == ""):
		return "the script could not be read"
	case r.Stdin == effects.StdinNetwork && !r.Known:
		return "what it reads comes from the network"
	case filepath.Base(r.Program) == "git" && !LocationOf(r, q).InProject && !q.Effect.Tags.Has(effects.Worktree):
		return "git obeys the configuration of where it runs, and that is no project"
	}
	return ""
}

// TextOfPermd reports whether a run is given text with a command of permd in
// it: many programs execute text in one of their arguments (vim -c '!permd …'),
// and answers about permd's own commands are never remembered.
func TextOfPermd(e *effects.Effect) bool {
	if e.Run == nil {
		return false
	}
	return slices.ContainsFunc(e.Run.Args, func(word string) bool {
		words := strings.FieldsFunc(word, func(r rune) bool { return r <= ' ' || strings.ContainsRune("!;|&()`\"'=:,", r) })
		i := slices.IndexFunc(words, func(w string) bool { return path.Base(w) == "permd" })
		return i >= 0 && i < len(words)-1
	})
}
