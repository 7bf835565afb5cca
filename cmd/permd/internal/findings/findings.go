// Package findings is what permd doctor found: each thing that was looked at,
// how bad it is, and the command that fixes it.
package findings

import "fmt"

// State is how bad a finding is.
type State string

// The states of a finding.
const (
	OK    State = "ok"
	Warn  State = "warn"
	Error State = "error"
)

// Finding is one thing that the doctor has looked at. Its JSON form is kept.
type Finding struct {
	Check string `json:"check"`
	State State  `json:"state"`
	Text  string `json:"text"`
	Fix   string `json:"fix,omitzero"` // a command, or words where no command fixes it
}

// List is what was found so far.
type List struct{ All []Finding }

// OK adds what is as it should be.
func (l *List) OK(check, format string, args ...any) {
	l.All = append(l.All, Finding{check, OK, fmt.Sprintf(format, args...), ""})
}

// Warn adds what permd works in spite of.
func (l *List) Warn(check, fix, format string, args ...any) {
	l.All = append(l.All, Finding{check, Warn, fmt.Sprintf(format, args...), fix})
}

// Error adds what keeps permd from working.
func (l *List) Error(check, fix, format string, args ...any) {
	l.All = append(l.All, Finding{check, Error, fmt.Sprintf(format, args...), fix})
}

// Count is the number of findings that are so bad.
func (l *List) Count(state State) (n int) {
	for _, f := range l.All {
		if f.State == state {
			n++
		}
	}
	return n
}
