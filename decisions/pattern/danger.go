package pattern

import "github.com/permd/permd/decisions/effects"

// danger is a class of what can be lost by an effect on files, from the mildest. A line
// that is suggested for an effect covers none of a higher class.
//
// Runs have no class of their own: what their words do to files and hosts are effects
// apart, and of the rest [effects.Run.LimitedTo] tells which words a line spells out.
type danger uint8

// The classes. That of a write does not depend on whether there is a file by now.
const (
	dangerReads danger = iota
	dangerMoves
	dangerWrites
	dangerDeletes        // one file, or an empty folder
	dangerDeletesFolders // with all that is in them
)

// dangerOf returns the class of an effect on files; that of others is the mildest.
func dangerOf(e *effects.Effect) danger {
	if e.File == nil {
		return dangerReads
	}
	switch e.Kind {
	case effects.KindWrite:
		return dangerWrites
	case effects.KindDelete:
		switch {
		case e.File.Moved != "":
			return dangerMoves
		case e.File.Recursive:
			return dangerDeletesFolders
		}
		return dangerDeletes
	case effects.KindRead, effects.KindRun, effects.KindConnect, effects.KindUse, effects.KindState, effects.KindMode,
		effects.KindQuestion, effects.KindUnknown:
	}
	return dangerReads
}

// worst returns the highest class of the effects that a line about files covers.
func (p *Pattern) worst() danger {
	switch {
	case p.Path == nil:
		return dangerReads
	case p.Kind == effects.KindWrite:
		return dangerWrites
	case p.Kind == effects.KindDelete && (p.Path.Deep() || p.Path.Literal()):
		return dangerDeletesFolders
	case p.Kind == effects.KindDelete:
		return dangerDeletes
	}
	return dangerReads
}
