// Package author names who answered a question. It decides nothing: who may answer is the matter of
// the socket by which the answer comes.
package author

// Via is the way by which an answer came.
type Via string

// The ways. Of Client the socket is proof, as of all others that they are none of it: they came over
// the management socket. Which of these it was is what the process said that sent the answer, and
// Admin if it said nothing.
const (
	Client  Via = "client" // from the client that asked, over its own connection
	Admin   Via = "admin"
	Command Via = "command" // permd allow and permd deny
	Review  Via = "review"  // the page in a terminal
	Web     Via = "web"     // the page in a browser
	Lock    Via = "lock"    // permd lock, which takes back what was allowed once
)

// Stated returns the way that a process on the management socket says it is, "" for none, and
// whether it may be that one.
func Stated(way Via) (Via, bool) {
	switch way {
	case "":
		return Admin, true
	case Command, Review, Web:
		return way, true
	case Client, Admin, Lock:
	}
	return "", false
}

// Identity is who answered.
type Identity struct {
	Via Via `json:"via"`
	// UID and PID are those of the process that connected, from the kernel. The PID is 0 for one in
	// another pid namespace.
	UID uint32 `json:"uid"`
	PID int32  `json:"pid"`
	// Process is the name of the program of the process when the answer came, "" if that is not known.
	// One that is interpreted has the name of its interpreter.
	Process string `json:"process,omitzero"`
}
