// Package findings holds the results of permd doctor: what was checked, the result, and
// the command that fixes it.
package findings

import "fmt"

// State is the severity of a finding.
type State string

// The severities.
const (
	OK    State = "ok"
	Warn  State = "warn"
	Error State = "error"
)

// Finding is the result of one check. Its JSON form is stable.
type Finding struct {
	Check string `json:"check"`
	State State  `json:"state"`
	Text  string `json:"text"`
	Fix   string `json:"fix,omitzero"` // a command, or advice if no command fixes it
}

// List collects findings.
type List struct{ All []Finding }

// OK adds a check that passed.
func (l *List) OK(check, format string, args ...any) {
	l.All = append(l.All, Finding{check, OK, fmt.Sprintf(format, args...), ""})
}

// Warn adds a problem that permd works in spite of.
func (l *List) Warn(check, fix, format string, args ...any) {
	l.All = append(l.All, Finding{check, Warn, fmt.Sprintf(format, args...), fix})
}

// Error adds a problem that prevents permd from working.
func (l *List) Error(check, fix, format string, args ...any) {
	l.All = append(l.All, Finding{check, Error, fmt.Sprintf(format, args...), fix})
}

// Count returns the number of findings with that severity.
func (l *List) Count(state State) (n int) {
	for _, f := range l.All {
		if f.State == state {
			n++
		}
	}
	return n
}
