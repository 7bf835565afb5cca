//go:build !linux

package systemd

import (
	"errors"
	"os"
)

// listens fails: only systemd passes sockets in this way.
func listens(*os.File) error {
	return errors.New("sockets are passed by a service manager only on Linux")
}
