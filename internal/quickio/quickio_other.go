//go:build !linux || race

package quickio

import "errors"

// file is not used: raw system calls are made on Linux alone, and the race detector does not
// see the order of events in them.
type file struct{ doRead, doWrite func(uintptr) bool }

var errNone = errors.New("not used on this system")

func open(any) *file                      { return nil }
func (f *file) read([]byte) (int, error)  { return 0, errNone }
func (f *file) write([]byte) (int, error) { return 0, errNone }
func (f *file) tryRead(uintptr) bool      { return true }
func (f *file) tryWrite(uintptr) bool     { return true }
