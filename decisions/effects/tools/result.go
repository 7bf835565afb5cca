package tools

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/shell"
)

// markClaimed marks the effects from index n on if they are based on claims only.
func (t *tool) markClaimed(n int) {
	if !t.claimed {
		return
	}
	for i := n; i < len(t.Effects); i++ {
		t.Effects[i].Claimed = true
	}
}

// nothing returns the effect of a command that does nothing.
func (t *tool) nothing() effects.Effect {
	return effects.Effect{
		Kind: effects.KindRun, From: t.from, Text: "run true", Tags: t.Paths.CwdTags(t.cwd),
		Run: &effects.Run{Program: "true", Shown: []string{"true"}, Stdin: effects.StdinNone, Cwd: t.cwd, Known: true, Readonly: true},
	}
}

// addMissing adds an Unknown effect for something that the call lacks.
func (t *tool) addMissing(why string) {
	t.Unknown(t.from, why)
	if t.missing == "" {
		t.missing = why
	}
}

// malformed adds an Unknown and a defect for a part of the wrong type.
func (t *tool) malformed(at, why string) {
	t.Unknown(at, why)
	t.defect(effects.DefectDropped, at, why)
}

func (t *tool) defect(code, at, text string) {
	d := effects.Defect{Code: code, At: at, Text: text}
	for _, have := range t.Defects {
		if have == d {
			return
		}
	}
	if len(t.Defects) < shell.MaxEffects {
		t.Defects = append(t.Defects, d)
	}
}

// result completes the call: it has at least one effect, not too many, and records how much
// of it is known.
func (t *tool) result() effects.Result {
	r := effects.Result{Completeness: effects.Full, Missing: t.missing, Project: t.Paths.Project()}
	switch {
	case len(t.Effects) > 0:
	case t.Nothing:
		// Comments, true, a cd inside the project: it has no effect.
		e := t.nothing()
		e.Claimed = t.unnamedClaim
		t.Add(e)
	default:
		t.addMissing("nothing is known of what the call does")
		r.Missing = t.missing
	}
	if n := len(t.Effects); n > shell.MaxEffects {
		r.Rest = shell.ReadRest(t.Builder, t.Effects[shell.MaxEffects:n:n])
		t.Effects = t.Effects[:shell.MaxEffects:shell.MaxEffects]
		t.TooLarge(t.from, "the call has more effects than are looked at")
	} else {
		r.Rest = shell.ReadRest(t.Builder, nil)
	}
	t.hints = append(t.hints, ofShown(t.Asides)...)
	r.Rest = slices.Concat(r.Rest, ofShown(t.Opened), t.Paths.MayReach)
	t.hintOtherPaths(&r)
	if t.TooManyAsides || t.Paths.TooManyHosts {
		t.TooLarge(t.from, "the call may do more than permd looks at")
	}
	if r.Missing == "" {
		r.Missing = t.Call.Incomplete
	}
	if r.Missing != "" {
		r.Completeness = effects.Partial
		if t.isEmpty() {
			r.Completeness = effects.None
		}
	}
	if t.readByDeclaration() {
		for _, list := range [...][]effects.Effect{t.Effects, t.hints, r.Rest} {
			for i := range list {
				list[i].Declared = true
			}
		}
	}
	r.Claimed, r.Enters = t.claimedPaths, t.enters
	r.Effects, r.Hints, r.Defects, r.Folders, r.Activated, r.After = t.Effects, t.hints, t.Defects, t.FinalFolders, t.Environments.Activated, t.After()
	return r
}

// isEmpty reports whether the call has neither input nor claims.
func (t *tool) isEmpty() bool {
	cl := &t.Call.Claims
	return t.have == inputAbsent && t.id.name == "" && cl.Title == "" && len(cl.Locations) == 0 &&
		len(cl.Diffs) == 0 && len(t.Call.Marks) == 0 && (cl.Kind == "" || cl.Kind == "other")
}

// ofShown returns those of the effects that come out of a run which is among the effects
// of the call, and not over their bound.
func ofShown(list []effects.Effect) []effects.Effect {
	return slices.DeleteFunc(list, func(e effects.Effect) bool { return e.Via.Effect >= shell.MaxEffects })
}
