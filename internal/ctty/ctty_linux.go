// Package ctty reports whether a process has a controlling terminal.
package ctty

import (
	"bytes"
	"os"
	"strconv"
)

// Has reports whether a process has a controlling terminal.
func Has(pid int32) bool {
	if pid <= 0 {
		return false // it is in another namespace
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(int(pid)) + "/stat")
	if err != nil {
		return false
	}
	// After the name, which may hold anything: state, parent, group, session, terminal.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const terminal = 4
	return len(fields) > terminal && string(fields[terminal]) != "0"
}
