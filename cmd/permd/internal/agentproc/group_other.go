//go:build !linux

package agentproc

import "syscall"

// groupAlive reports whether there is a process in the group.
func groupAlive(group int) bool { return syscall.Kill(-group, 0) == nil }
