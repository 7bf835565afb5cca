package tools

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/shell"
)

// maxOtherPaths bounds the effects by other paths of one call, in addition to those of
// its effects themselves. With more, the call is not understood.
const maxOtherPaths = 2 * shell.MaxEffects

// hintOtherPaths adds each effect on a file or a program that was reached through links
// once more for each path that led there. The effect itself has the resolved path, because
// an allow must be about the file that is used. A deny of ./data is about the files that are
// reached by that name, wherever they are stored.
func (t *tool) hintOtherPaths(r *effects.Result) {
	left := maxOtherPaths
	var hints []effects.Effect
	for i := range t.Effects {
		hints = t.byOtherPaths(hints, &t.Effects[i], i+1, &left)
	}
	for i := range t.hints {
		hints = t.byOtherPaths(hints, &t.hints[i], 0, &left)
	}
	t.hints = append(t.hints, hints...)
	var rest []effects.Effect
	for i := range r.Rest {
		rest = t.byOtherPaths(rest, &r.Rest[i], 0, &left)
	}
	r.Rest = append(slices.Clip(r.Rest), rest...)
}

// byOtherPaths appends an effect by each of its other paths; nameOf is that of a hint.
func (t *tool) byOtherPaths(list []effects.Effect, e *effects.Effect, nameOf int, left *int) []effects.Effect {
	var others []string
	switch {
	case e.File != nil:
		others = e.File.OtherPaths
	case e.Run != nil:
		others = e.Run.OtherPaths
	}
	for _, p := range others {
		if *left--; *left < 0 {
			t.TooManyAsides = true
			break
		}
		o := *e
		o.Hint, o.Guessed, o.NameOf, o.StandsFor = true, true, nameOf, 0
		if e.File != nil {
			file := *e.File
			file.Path, file.Resolved, file.OtherPaths = p, e.File.Path, nil
			o.File = &file
			o.Text = display.Display(string(e.Kind) + " " + t.Paths.Name(p) + ", which is " + t.Paths.Name(e.File.Path))
		} else {
			run := *e.Run
			run.Program, run.OtherPaths = p, nil
			o.Run = &run
		}
		list = append(list, o)
	}
	return list
}
