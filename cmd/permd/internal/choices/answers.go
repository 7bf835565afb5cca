package choices

import (
	"fmt"
	"strings"

	"github.com/permd/permd/decisions"
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
	return append(said, Stored(done.Stored)...)
}

// Denied says what a person's no to a question has done, a sentence an entry.
func Denied(done *admin.Denied) []string {
	switch {
	case done.TakenBack:
		return []string{"taken back: the call is not allowed any more"}
	case len(done.Stored) == 0:
		return []string{"denied; nothing is remembered"}
	}
	return append([]string{"denied"}, Stored(done.Stored)...)
}

// Stored says what an answer has left in memory, a choice an entry.
func Stored(list []decisions.StoredChoice) (said []string) {
	for i := range list {
		k := &list[i]
		where := k.Scope
		if !k.Expires.IsZero() {
			where += ", until " + k.Expires.Local().Format("2006-01-02 15:04:05")
		}
		said = append(said, fmt.Sprintf("remembered: %s %s (%s)", k.Verdict, OneLine(k.Label), where))
	}
	return said
}

// OneLine returns a label of several lines, which the daemon has made safe to show, in one line.
func OneLine(label string) string { return strings.ReplaceAll(label, "\n", " + ") }
