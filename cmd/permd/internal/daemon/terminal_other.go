//go:build !linux && !darwin

package daemon

// hasTerminal reports whether a process has a controlling terminal, which is not known
// here.
func hasTerminal(int32) bool { return false }
