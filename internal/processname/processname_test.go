package processname

import (
	"os"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	if name := Of(int32(os.Getpid())); !strings.HasPrefix(name, "processname") { // processname.test
		t.Errorf("this process is %q", name)
	}
	for _, pid := range []int32{0, -1, 1<<31 - 1} {
		if name := Of(pid); name != "" {
			t.Errorf("process %d is %q", pid, name)
		}
	}
}
