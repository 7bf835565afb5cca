//go:build !linux || race

package quickio

import "errors"

// file is not used: on other systems the scheduler is told of each system call, and the
// race detector learns from them in which order things happen.
type file struct{ doRead, doWrite func(uintptr) bool }

var errNone = errors.New("not used on this system")

func open(any) *file                      { return nil }
func (f *file) read([]byte) (int, error)  { return 0, errNone }
func (f *file) write([]byte) (int, error) { return 0, errNone }
func (f *file) tryRead(uintptr) bool      { return true }
func (f *file) tryWrite(uintptr) bool     { return true }
