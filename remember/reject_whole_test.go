//go:build cgo

package remember_test

import (
	"testing"

	"github.com/permd/permd/decisions"
)

// TestRejectOfWholeCall: everything is allowed and only a lock asks. What is rejected
// then holds afterwards, in other words for the same, too, but for no other call.
func TestRejectOfWholeCall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command    string
		same, more []string
	}{
		{"cat notes.txt", []string{"cat ./notes.txt", "cat  notes.txt", "head notes.txt", "cat notes.txt | wc"}, []string{"cat other.txt", "ls"}},
		{"echo a > b.txt", []string{"echo a >b.txt", "printf x > ./b.txt", "cp other.txt b.txt"}, []string{"echo a", "echo a > c.txt", "cat b.txt"}},
		{"mytool up", []string{"mytool  up", "mytool up; true", "mytool up -v"}, []string{"mytool down", "mytool"}},
		{"make ship && echo done", []string{"make ship"}, []string{"echo done", "make test"}},
		{"grep -r x .", []string{"grep  -r x .", "grep -r x . | wc"}, []string{"cat notes.txt", "grep -r y ."}},
		{"git checkout .", []string{"git  checkout ."}, []string{"echo a > b.txt", "git checkout x"}},
		{"rm -r a", []string{"rm -rf ./a", "rm a/x"}, []string{"rm b.txt", "cat a/x"}},
	} {
		a, allow := rejecting(t, map[string]string{"/p/notes.txt": "n", "/p/other.txt": "o", "/p/b.txt": "b", "/p/a/x": "x", "/p/Makefile": "ship:\n\techo\ntest:\n\techo\n"})
		allow(anything)
		before := a.config.Pause
		a.config.Pause = func(uint32) *decisions.Pause { return &decisions.Pause{Locked: true} }
		a.reject(t, a.in(t, "/p", tt.command), "project")
		a.config.Pause = before
		wantVerdict(t, a.in(t, "/p", tt.command), decisions.Deny, tt.command)
		for _, c := range tt.same {
			wantVerdict(t, a.in(t, "/p", c), decisions.Deny, tt.command+", then "+c)
		}
		for _, c := range tt.more {
			wantVerdict(t, a.in(t, "/p", c), decisions.Allow, tt.command+", then "+c)
		}
	}
}
