package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a flag's value: a duration as in package time, which may begin with weeks
// and days, such as 7d, 2w or 1d12h. A day is 24 hours.
type Duration struct{ To *time.Duration }

// String returns the duration.
func (d Duration) String() string {
	if d.To == nil || *d.To == 0 {
		return "0s"
	}
	return d.To.String()
}

// Type names the type in help texts.
func (Duration) Type() string { return "duration" }

// Set parses a duration.
func (d Duration) Set(text string) error {
	v, err := parseDuration(text)
	if err == nil {
		*d.To = v
	}
	return err
}

// parseDuration parses a duration that may begin with weeks and days.
func parseDuration(text string) (time.Duration, error) {
	wrong := errors.New("write a duration such as 30m, 8h, 7d or 2w")
	rest, total := text, time.Duration(0)
	for _, unit := range []struct {
		name byte
		is   time.Duration
	}{{'w', 7 * 24 * time.Hour}, {'d', 24 * time.Hour}} {
		i := strings.IndexByte(rest, unit.name)
		if i < 0 {
			continue
		}
		n, err := strconv.ParseUint(rest[:i], 10, 32)
		if err != nil || n > uint64((math.MaxInt64-total)/unit.is) {
			return 0, wrong
		}
		total, rest = total+time.Duration(n)*unit.is, rest[i+1:]
		if rest == "" {
			return total, nil
		}
	}
	v, err := time.ParseDuration(rest)
	if err != nil || rest != text && (v < 0 || strings.ContainsAny(rest[:1], "+-")) || v > math.MaxInt64-total {
		return 0, wrong
	}
	return total + v, nil
}
