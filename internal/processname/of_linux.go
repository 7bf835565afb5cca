package processname

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// of returns the name of the file that the process runs, which the kernel knows. That of another
// user's process cannot be read: then it is the name that the process has, and may give itself.
func of(pid int32) string {
	dir := filepath.Join("/proc", strconv.Itoa(int(pid)))
	if path, err := os.Readlink(filepath.Join(dir, "exe")); err == nil {
		return strings.TrimSuffix(filepath.Base(path), " (deleted)") // by an update
	}
	name, err := os.ReadFile(filepath.Join(dir, "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(name), "\n")
}
