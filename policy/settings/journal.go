package settings

import (
	"strconv"
	"strings"
	"time"
)

// Journal limits what the journal keeps.
type Journal struct {
	// MaxBytes is the size of its database, from 16 MiB to 1 TiB; 256 MiB if not
	// set.
	MaxBytes int `toml:"max_bytes"`
	// MaxAge is in days, from "1d" to "36500d"; "90d" if not set.
	MaxAge string `toml:"max_age"`
}

const (
	minJournalBytes     = 16 << 20
	maxJournalBytes     = 1 << 40
	minLogBytesPerUser  = 1 << 20
	defaultJournalBytes = 256 << 20
	maxJournalDays      = 36500
	defaultJournalAge   = "90d"
)

// Age is MaxAge, 0 if it is not set.
func (j *Journal) Age() time.Duration { return days(j.MaxAge, maxJournalDays) }

// days returns a time in days, as in "30d", from one to most; 0 if it is none.
func days(text string, most uint64) time.Duration {
	digits, ok := strings.CutSuffix(text, "d")
	n, err := strconv.ParseUint(digits, 10, 32)
	if !ok || err != nil || n < 1 || n > most {
		return 0
	}
	return time.Duration(n) * 24 * time.Hour
}

func (j *Journal) validAge() bool { return j.MaxAge == "" || j.Age() > 0 }
