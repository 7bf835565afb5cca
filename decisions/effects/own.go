package effects

// OwnUse says what a run does with permd's own program or sockets. People answer and
// make rules through these, so an agent that may use them freely could allow itself
// anything.
type OwnUse uint8

// The uses of permd's own program.
const (
	OwnNone    OwnUse = iota // it is not known to use them
	OwnReads                 // it only shows something
	OwnChanges               // it changes decisions, or is not known to be harmless
)
