package cli

import (
	"errors"
	"time"
)

// Moment is a flag's value: a time, written as a duration before now (7d), a day or a time
// of this machine's zone (2026-11-28, "2026-11-28 14:00"), a time of RFC 3339, today or
// yesterday. The zero Moment is none.
type Moment struct {
	text string
	at   func(now time.Time) time.Time
}

// At returns the time, zero for none.
func (m *Moment) At(now time.Time) time.Time {
	if m.at == nil {
		return time.Time{}
	}
	return m.at(now)
}

// String returns the text.
func (m *Moment) String() string { return m.text }

// Type names the type in help texts.
func (*Moment) Type() string { return "time" }

// Set parses a time.
func (m *Moment) Set(text string) error {
	m.text = text
	switch text {
	case "today":
		m.at = func(now time.Time) time.Time { return Midnight(now, 0) }
		return nil
	case "yesterday":
		m.at = func(now time.Time) time.Time { return Midnight(now, -1) }
		return nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02 15:04", time.DateTime, "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339Nano} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			m.at = func(time.Time) time.Time { return at }
			return nil
		}
	}
	d, err := parseDuration(text)
	if err != nil {
		return errors.New("write a duration such as 30m, 8h, 7d or 2w, or a time such as 2026-11-28, \"2026-11-28 14:00\" or today")
	}
	m.at = func(now time.Time) time.Time { return now.Add(-d) }
	return nil
}

// Midnight returns the beginning of the day of a time in this machine's zone, or of one so
// many days later.
func Midnight(of time.Time, later int) time.Time {
	y, m, d := of.Local().Date()
	return time.Date(y, m, d+later, 0, 0, 0, 0, time.Local)
}
