package effects

// OwnUse says what a run has permd's own program or sockets do. A person's
// answers and rules reach permd through them, so an agent that may use them
// freely could allow itself anything.
type OwnUse uint8

// The uses of permd's own program.
const (
	OwnNone    OwnUse = iota // the run is not known to use it
	OwnReads                 // it only shows something
	OwnChanges               // it changes what is decided, or is not known to be harmless
)
