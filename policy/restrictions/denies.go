package restrictions

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// The ids of the denies, by which decisions and the log name them.
const (
	idModes    = "org.forbid_modes"
	idPrograms = "org.unknown_programs"
	idServers  = "org.unknown_servers"
)

// settingsName is where a deny comes from, in place of a rule's file and line.
const settingsName = "permd.toml"

// With returns the rules that fired for an effect with the denies of the restrictions, each
// as a deny of the organisation after its rules. fired is not changed.
func (r *Restrictions) With(in *decisions.Input, fired []decisions.Finding) []decisions.Finding {
	denies := r.denies(in, fired)
	if denies == nil {
		return fired
	}
	at := slices.IndexFunc(fired, func(f decisions.Finding) bool { return f.Rule.Layer != decisions.Org })
	if at < 0 {
		at = len(fired)
	}
	return slices.Insert(slices.Clone(fired), at, denies...)
}

func (r *Restrictions) denies(in *decisions.Input, fired []decisions.Finding) (list []decisions.Finding) {
	add := func(id, reason, message string) {
		list = append(list, decisions.Finding{
			Rule: decisions.RuleRef{ID: id, Layer: decisions.Org, At: settingsName}, Set: decisions.SetDeny,
			Reason: "the organisation forbids " + reason + " (" + strings.TrimPrefix(id, "org.") + ")", Message: message,
		})
	}
	if mode := r.forbiddenMode(in); mode != "" {
		add(idModes, "the mode "+mode, "the organisation forbids this mode: go on in another one")
	}
	e := in.Effect
	if e.Guessed || e.Hint || in.OnlyDeny {
		return list // what a call may do besides needs no allow
	}
	allowed := func(covers func(*decisions.Finding) bool) bool {
		return slices.ContainsFunc(fired, func(f decisions.Finding) bool {
			return f.Set == decisions.SetAllow && f.Rule.Layer == decisions.Org && covers(&f)
		})
	}
	any := func(*decisions.Finding) bool { return true }
	switch e.Kind {
	case effects.KindRun:
		switch {
		case !r.DenyUnknownPrograms || inTables(e.Run) && !e.Undescribed || allowed(any):
		case inTables(e.Run):
			add(idPrograms, "running a program or script that is not known", "")
		default:
			add(idPrograms, "programs that are not known", "")
		}
	case effects.KindState:
		if r.DenyUnknownPrograms && e.Undescribed && !allowed(any) {
			add(idPrograms, "running a program or script that is not known", "")
		}
	case effects.KindUnknown:
		if r.DenyUnknownPrograms && e.Cause != effects.CauseUnanswered && !allowed(func(f *decisions.Finding) bool { return coversUnknown(e, f) }) {
			add(idPrograms, "what is not understood", "")
		}
	case effects.KindUse:
		if r.DenyUnknownServers && (e.Use == nil || !e.Use.Own) && !allowed(any) {
			add(idServers, "tools of servers that it does not allow", "")
		}
	case effects.KindRead, effects.KindWrite, effects.KindDelete, effects.KindConnect, effects.KindMode, effects.KindQuestion:
	}
	return list
}

// inTables reports whether the shipped table or the organisation describes the program of a run:
// what a person's own table says does not count.
func inTables(run *effects.Run) bool {
	if run != nil && run.WithoutOverlay != nil {
		run = run.WithoutOverlay
	}
	return run != nil && run.Known
}

// coversUnknown reports whether an allow is meant for an unknown effect, as in the precedence
// table.
func coversUnknown(e *effects.Effect, f *decisions.Finding) bool {
	switch e.Cause {
	case "":
		return f.CoversUnknown
	case effects.CauseOnlyNamed:
		return f.CoversOnlyNamed
	case effects.CauseNotPlain, effects.CauseUnanswered, effects.CauseTooLarge:
	}
	return false
}

// forbiddenMode returns the mode that forbids an effect: one that its call would enter, one that it
// starts an agent in, or the one that its session is in; a switch of mode may leave that, and is forbidden by any mode that
// its call names.
func (r *Restrictions) forbiddenMode(in *decisions.Input) string {
	if len(r.ForbidModes) == 0 {
		return ""
	}
	for _, name := range in.Result.Enters {
		if mode := r.modeOf(name); mode != "" {
			return mode
		}
	}
	for _, name := range startsIn(in.Effect.Run) {
		if mode := r.modeOf(name); mode != "" {
			return mode
		}
	}
	if in.Effect.Kind != effects.KindMode {
		return r.modeOf(in.Session.Mode)
	}
	if in.Call == nil {
		return ""
	}
	return r.namedMode(in.Call.Input, 0)
}

// modeOf returns the forbidden mode that a name means, "" for none. Agents that name modes by
// an address mean its last part.
func (r *Restrictions) modeOf(name string) string {
	name = strings.TrimSpace(name)
	last := name[strings.LastIndexAny(name, "/#")+1:]
	for _, mode := range r.ForbidModes {
		if strings.EqualFold(name, mode) || strings.EqualFold(last, mode) {
			return mode
		}
	}
	return ""
}

// maxDepth is how deep a mode is looked for in the input of a call.
const maxDepth = 16

// namedMode returns a forbidden mode that a text anywhere in a value names, "" for none.
func (r *Restrictions) namedMode(v strictjson.Value, depth int) string {
	if depth > maxDepth {
		return ""
	}
	switch strictjson.Kind(v) {
	case '"':
		text, _ := strictjson.ParseString(v)
		return r.modeOf(text)
	case '[':
		items, _ := strictjson.ParseArray(v)
		for _, item := range items {
			if mode := r.namedMode(item, depth+1); mode != "" {
				return mode
			}
		}
	case '{':
		o, _ := strictjson.ParseObject(v)
		for i := range o {
			if mode := r.namedMode(o[i].Value, depth+1); mode != "" {
				return mode
			}
		}
	}
	return ""
}
