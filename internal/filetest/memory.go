package filetest

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// enough is how much space a file system in memory must have left: more than what tests
// write that run at the same time.
const enough = 1 << 30

// MemoryDir returns a temporary folder on a file system in memory if there is one with
// enough space, so that nothing waits for a disk. It is for tests of what a process writes,
// which a kill leaves there as on any disk. What lies there belongs to no project: the
// folder is below /dev.
func MemoryDir(t testing.TB) string {
	t.Helper()
	const memory = "/dev/shm"
	var st unix.Statfs_t
	if err := unix.Statfs(memory, &st); err != nil || int64(st.Bavail)*int64(st.Bsize) < enough { //nolint:unconvert // the types differ between systems
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "permd")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
