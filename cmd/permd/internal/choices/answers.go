package choices

import (
	"fmt"

	"github.com/permd/permd/socket/admin"
)

// Approved says what a person's yes to a question has done, a sentence an entry.
func Approved(done *admin.Approved) []string {
	var said []string
	switch {
	// Whether a client that is just leaving has read it is not known.
	case done.Told && len(done.Stored) == 0:
		said = append(said, "allowed: this call only, so that the next one asks again; the answer was handed to the client that waited")
	case done.Told:
		said = append(said, "allowed; the answer was handed to the client that waited")
	}
	if !done.Until.IsZero() {
		said = append(said, fmt.Sprintf("allowed once, in its session, until %s or the end of the daemon; nothing is remembered", done.Until.Local().Format("15:04:05")))
	}
	for i := range done.Stored {
		k := &done.Stored[i]
		said = append(said, fmt.Sprintf("remembered: %s %s (%s)", k.Verdict, k.Label, k.Scope))
	}
	return said
}
