package remember

import (
	"errors"
	"time"
)

// maxExpiry is the longest time limit of a choice; longer-lived choices have
// none.
const maxExpiry = 10 * 365 * 24 * time.Hour

// errExpiry says so.
var errExpiry = errors.New("the time limit must be more than nothing and at most ten years")

// Expiry is a number of seconds as the time limit of a choice; 0 is none.
func Expiry(seconds int64) (time.Duration, error) {
	// What no time.Duration can hold is out of bounds either way.
	limit := time.Duration(min(max(seconds, -1), int64(maxExpiry/time.Second)+1)) * time.Second
	return limit, checkExpiry(limit)
}

// checkExpiry returns why a choice cannot have that time limit; 0 is none.
func checkExpiry(limit time.Duration) error {
	if limit < 0 || limit > maxExpiry {
		return errExpiry
	}
	return nil
}
