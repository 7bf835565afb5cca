package decisions

import (
	"bytes"
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// rejected returns the indexes of the effects that a reject of a call is about of which
// no effect is asked about by itself: the call was asked about as a whole, because permd
// is locked, for example, or because of what it combines. They are what the call does,
// as narrow as the person can have meant: the files that it names and not folders with
// all that is in them, the hosts, tools and runs, but no run that only does what others
// of them say, and nothing that a program does by itself.
func rejected(q *MemoryQuery) []int {
	if q.Call != nil && len(bytes.TrimSpace(q.Call.Input)) == 0 {
		return nil
	}
	var list []int
	named := make([]bool, len(q.All)) // runs of which a file or host is in the list
	wide := make([]bool, len(q.All))  // runs of which a file is too wide for it
	add := func(is func(i int, e *effects.Effect) bool) {
		for i := range q.All {
			if e := &q.All[i]; !e.Hint && !e.Claimed && !e.Inherent() && is(i, e) {
				list = append(list, i)
			}
		}
	}
	add(func(_ int, e *effects.Effect) bool {
		if e.File == nil && e.Connect == nil {
			return false
		}
		of := named
		if e.File != nil && (tooWide(e, q.Project) || ownScript(q.All, e)) {
			of = wide
		}
		if e.Via != nil && e.Via.Effect >= 0 && e.Via.Effect < len(of) {
			of[e.Via.Effect] = true
		}
		return &of[0] == &named[0]
	})
	add(func(_ int, e *effects.Effect) bool { return e.Use != nil || e.Run != nil && !e.Run.Readonly })
	none := len(list) == 0
	add(func(i int, e *effects.Effect) bool {
		return e.Run != nil && e.Run.Readonly && (none || wide[i] && !named[i])
	})
	slices.Sort(list)
	return list
}

// tooWide reports whether a reject of the file would be one of all that is in a folder
// that is read, or in the project.
func tooWide(e *effects.Effect, project string) bool {
	if !e.File.Recursive {
		return false
	}
	return e.Kind == effects.KindRead || project == "" || lexpath.In(e.File.Path, project)
}

// ownScript reports whether the effect is the read of the script of a run, which the
// reject of that run is about.
func ownScript(all []effects.Effect, e *effects.Effect) bool {
	return e.Kind == effects.KindRead && slices.ContainsFunc(all, func(o effects.Effect) bool {
		return o.Run != nil && o.Run.Script != nil && o.Run.Script.Path == e.File.Path
	})
}
