//go:build !linux && !darwin

package pause

import (
	"errors"
	"time"
)

// uptime fails: no clock is known here that nobody can set.
func uptime() (start string, since time.Duration, err error) {
	return "", 0, errors.ErrUnsupported
}
