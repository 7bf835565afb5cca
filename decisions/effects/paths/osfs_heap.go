//go:build !linux || !(amd64 || arm64)

package paths

import "golang.org/x/sys/unix"

func lstat(path string, st *unix.Stat_t) error { return unix.Lstat(path, st) }

func open(path string, flags int) (int, error) { return unix.Open(path, flags, 0) }
