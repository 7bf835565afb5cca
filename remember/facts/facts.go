// Package facts says what is known of an effect: whether that is enough to remember an answer
// about it, and which place a run of it is bound to.
package facts

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// Location is what a run is bound to: a project, the folder itself, or both.
type Location struct {
	InProject bool
	Cwd       string
}

// LocationOf returns where the run of q is.
func LocationOf(r *effects.Run, q *decisions.MemoryQuery) Location {
	// A folder that the path places in the project may be a link to another
	// project.
	p := Location{InProject: q.Project != "" && lexpath.In(q.Project, r.Cwd) && !q.Effect.Tags.Has(effects.Outside)}
	// A relative path names another program in another folder, unless a script
	// pins its content.
	if !p.InProject || r.Executable != "" && !filepath.IsAbs(r.Executable) && r.Script == nil {
		p.Cwd = r.Cwd
	}
	return p
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

// UsesPermd reports whether a run is given text with a command of permd in
// it: many programs execute text in one of their arguments (vim -c '!permd …'),
// and answers about permd's own commands are never remembered.
func UsesPermd(e *effects.Effect) bool {
	if e.Run == nil {
		return false
	}
	return slices.ContainsFunc(e.Run.Args, func(word string) bool {
		words := strings.FieldsFunc(word, func(r rune) bool { return r <= ' ' || strings.ContainsRune("!;|&()`\"'=:,", r) })
		i := slices.IndexFunc(words, func(w string) bool { return path.Base(w) == "permd" })
		return i >= 0 && i < len(words)-1
	})
}
