package tools

import (
	"github.com/permd/permd/decisions/effects"
)

// maxHints bounds the claimed paths of a call that are looked at. With more of
// them the call is not fully known.
const maxHints = maxToolPaths

// hint adds the claimed paths that none of the call's effects is about, each in
// the ways in which it may be touched. They are kept apart from the effects:
// only what denies or asks sees them, so that a claim can make an answer
// stricter and never helps to allow.
//
// A diff changes its file, whatever else is said. What is done at a location
// follows from the call's kind. Where that does not tell and the call is not
// understood, any of read, write and delete may be done there. Of a call that is
// understood, a location without such a kind says nothing: it is a file that its
// command names.
func (t *tool) hint() {
	cl := &t.Call.Claims
	if len(cl.Diffs)+len(cl.Locations) == 0 {
		return
	}
	h := hinting{tool: t, understood: t.understood(), have: map[hintKey]bool{}}
	for i := range t.Effects {
		if e := &t.Effects[i]; e.File != nil {
			h.have[hintKey{e.Kind, e.File.Path, e.File.Recursive}] = true
			h.have[hintKey{e.Kind, e.File.Path, false}] = true
		}
	}
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
	h.guessing = len(kinds) > 1
	for _, l := range cl.Locations {
		h.add(l.Path, l.From, !h.understood, kinds...)
	}
}

type hintKey struct {
	kind      effects.Kind
	path      string
	recursive bool
}

// hinting is the state of hint.
type hinting struct {
	*tool
	understood bool
	have       map[hintKey]bool
	guessing   bool // the kind of what is added is one of several
	paths      int
}

// locationKinds says what is done at the call's locations.
func (h *hinting) locationKinds() []effects.Kind {
	switch h.Call.Claims.Kind {
	case "read", "search":
		return []effects.Kind{effects.KindRead}
	case "edit":
		return []effects.Kind{effects.KindWrite}
	case "delete":
		return []effects.Kind{effects.KindDelete}
	case "move":
		// It may be the old or the new one.
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

// add adds a claimed path in each of the ways. A search reads all below a
// folder, and a delete deletes it; below is false where the input says how much
// is meant.
func (h *hinting) add(given, from string, below bool, kinds ...effects.Kind) {
	if len(kinds) == 0 {
		return
	}
	if h.paths++; h.paths > maxHints {
		if h.paths == maxHints+1 {
			h.addMissing("the agent names more paths than are looked at")
		}
		return
	}
	for _, kind := range kinds {
		e := h.Paths.File(kind, given, h.Call.Cwd, from)
		if e.File == nil {
			// It is not known where it leads. What is not understood asks anyway.
			continue
		}
		if below && (kind == effects.KindDelete || h.Call.Claims.Kind == "search") {
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

// understood reports whether the call's effects are all that it does: nothing is
// unknown or missing, and no tool of somebody else is called.
func (t *tool) understood() bool {
	if t.missing != "" || t.Call.Incomplete != "" {
		return false
	}
	for i := range t.Effects {
		switch e := &t.Effects[i]; e.Kind {
		case effects.KindUnknown:
			return false
		case effects.KindUse:
			if e.Use.Source != SourceAgent {
				return false
			}
		case effects.KindRun, effects.KindRead, effects.KindWrite, effects.KindDelete, effects.KindConnect, effects.KindState,
			effects.KindMode, effects.KindQuestion:
		}
	}
	return true
}
