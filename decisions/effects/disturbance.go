package effects

import "slices"

// Disturbance is what calls may change of where paths lead: they link, move or
// extract something there. Paths through it are not known to a call that comes
// after them. The zero value is none.
type Disturbance struct {
	paths []string // what is linked or moved
	trees []string // folders that may hold links anywhere, "" for all
	lost  bool     // it cannot be told what
}

// Everything is the disturbance by a call of which nothing is known.
func Everything() Disturbance { return Disturbance{lost: true} }

// maxDisturbed bounds what is remembered from call to call; over it, nothing
// is known.
const maxDisturbed = 256

// after is the disturbance that the call leaves.
func (b *builder) after() Disturbance {
	if len(b.res.disturbed)+len(b.rearranged) > maxDisturbed {
		return Everything()
	}
	return Disturbance{paths: slices.Clip(b.res.disturbed), trees: slices.Clip(b.rearranged), lost: b.res.lost}
}
