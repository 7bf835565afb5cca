package tools

import (
	"maps"
	"slices"

	"github.com/permd/permd/decisions/effects"
)

// maxHints bounds the claimed paths of a call that are examined. A call with more of them is
// not fully known.
const maxHints = maxToolPaths

// hint adds the claimed paths to which none of the call's effects refers, with each access
// that is possible. They are separate from the effects: only denies and asks see them, so
// that a claim can make a decision stricter but never helps to allow.
//
// A diff changes its file in any case. The access to a location follows from the call's
// kind. If the kind does not tell and the call is not understood, the access may be a
// read, write or delete. If the call is understood, its effects tell what becomes of the
// files that it names, and a location that none of them is about is read.
func (t *tool) hint() {
	cl := &t.Call.Claims
	stronger := t.strongerKinds()
	if len(cl.Diffs)+len(cl.Locations)+len(stronger) == 0 {
		return
	}
	h := hintState{tool: t, understood: t.isComplete(), have: map[hintKey]bool{}}
	for i := range t.Effects {
		if e := &t.Effects[i]; e.File != nil {
			h.have[hintKey{e.Kind, e.File.Path, e.File.Recursive}] = true
			h.have[hintKey{e.Kind, e.File.Path, false}] = true
		}
	}
	h.stronger(stronger)
	for _, d := range cl.Diffs {
		if d.Operation == "delete" {
			h.add(d.Path, d.From+".path", false, effects.KindDelete)
		} else {
			h.add(d.Path, d.From+".path", false, effects.KindWrite)
		}
		switch {
		case d.OldPath == "":
		case d.Operation == "copy":
			h.add(d.OldPath, d.From+".oldPath", false, effects.KindRead)
		default:
			h.add(d.OldPath, d.From+".oldPath", false, effects.KindRead, effects.KindDelete)
		}
	}
	kinds := h.locationKinds()
	if kinds == nil { // of a call that is understood
		for _, k := range slices.Collect(maps.Keys(h.have)) {
			h.have[hintKey{effects.KindRead, k.path, false}] = true
		}
		kinds = []effects.Kind{effects.KindRead}
	}
	h.guessing = len(kinds) > 1
	for _, l := range cl.Locations {
		h.add(l.Path, l.From, !h.understood, kinds...)
	}
}

// strongerKinds returns the accesses to the input's paths that the call's kind claims, where
// the tool's name implies a weaker one: a call of kind edit by a tool called Read may write.
// A name must not make the decision milder than without it.
func (t *tool) strongerKinds() []effects.Kind {
	switch t.Call.Claims.Kind {
	case "edit":
		if !t.has(effects.KindWrite) && !t.has(effects.KindDelete) {
			return []effects.Kind{effects.KindWrite}
		}
	case "delete":
		if !t.has(effects.KindDelete) {
			return []effects.Kind{effects.KindDelete}
		}
	case "move":
		var kinds []effects.Kind
		for _, k := range []effects.Kind{effects.KindWrite, effects.KindDelete} {
			if !t.has(k) {
				kinds = append(kinds, k)
			}
		}
		return kinds
	}
	return nil
}

// stronger adds an access of each kind to every path that the input names. Those of a
// command are not the input's: agents only guess the kind of a command.
func (h *hintState) stronger(kinds []effects.Kind) {
	for i := range h.Effects {
		e := h.Effects[i]
		if len(kinds) == 0 || e.File == nil || e.Via != nil && e.Via.Effect != h.use {
			continue
		}
		h.guessing, h.tree = e.Guessed, e.File.Recursive
		h.add(e.File.Path, e.From, false, kinds...)
	}
	h.guessing, h.tree = false, false
}

type hintKey struct {
	kind      effects.Kind
	path      string
	recursive bool
}

// hintState is the state of hint.
type hintState struct {
	*tool
	understood bool
	have       map[hintKey]bool
	guessing   bool // the access is one of several possible ones
	tree       bool // it is to everything below the path
	paths      int
}

// locationKinds returns the access to the call's locations, nil if the call is understood and
// its kind does not say.
func (h *hintState) locationKinds() []effects.Kind {
	switch h.Call.Claims.Kind {
	case "read", "search":
		return []effects.Kind{effects.KindRead}
	case "edit":
		return []effects.Kind{effects.KindWrite}
	case "delete":
		return []effects.Kind{effects.KindDelete}
	case "move":
		// It may be the old or the new path.
		return []effects.Kind{effects.KindRead, effects.KindWrite, effects.KindDelete}
	}
	switch {
	case h.understood:
		return nil
	case h.use >= 0 && verbOf(h.id.name) == verbRead:
		return []effects.Kind{effects.KindRead}
	}
	return []effects.Kind{effects.KindRead, effects.KindWrite, effects.KindDelete}
}

// add adds a claimed path with each kind of access. A search reads everything below a
// folder, and a delete deletes it; below is false if the input determines the extent.
func (h *hintState) add(given, from string, below bool, kinds ...effects.Kind) {
	if h.paths++; h.paths > maxHints {
		if h.paths == maxHints+1 {
			h.addMissing("the agent names more paths than are looked at")
		}
		return
	}
	for _, kind := range kinds {
		e := h.Paths.File(kind, given, h.Call.Cwd, from)
		if e.File == nil {
			// It cannot be resolved; the Unknown effect of the call asks anyway.
			continue
		}
		if h.tree || below && (kind == effects.KindDelete || h.Call.Claims.Kind == "search") {
			h.Paths.Recurse(&e, false)
		}
		key := hintKey{e.Kind, e.File.Path, e.File.Recursive}
		if h.have[key] {
			continue
		}
		h.have[key] = true
		e.Claimed, e.Hint = true, true
		e.Guessed = h.guessing
		h.hints = append(h.hints, e)
	}
}

// isComplete reports whether the call's effects are complete: nothing is unknown or missing,
// and no foreign tool is called.
func (t *tool) isComplete() bool {
	if t.missing != "" || t.Call.Incomplete != "" {
		return false
	}
	for i := range t.Effects {
		switch e := &t.Effects[i]; e.Kind {
		case effects.KindUnknown:
			return false
		case effects.KindUse:
			if e.Use.Source != sourceAgent {
				return false
			}
		case effects.KindRun, effects.KindRead, effects.KindWrite, effects.KindDelete, effects.KindConnect, effects.KindState,
			effects.KindMode, effects.KindQuestion:
		}
	}
	return true
}
