//go:build !linux

package userrules

import "errors"

// swap fails: no daemon serves several people on this system.
func swap(string, string) error { return errors.ErrUnsupported }
