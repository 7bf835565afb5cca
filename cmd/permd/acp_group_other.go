//go:build !linux

package main

import "syscall"

// groupAlive reports whether there is a process of the group.
func groupAlive(group int) bool { return syscall.Kill(-group, 0) == nil }
