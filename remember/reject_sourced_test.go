//go:build cgo

package remember_test

import (
	"testing"

	"github.com/permd/permd/decisions"
)

// TestRejectOfSourcedScript: a rejected script is denied also where the shell runs it
// itself. A rule allows everything.
func TestRejectOfSourcedScript(t *testing.T) {
	for rejected, c := range map[string]struct{ denied, allowed []string }{
		"./tool.sh": {
			[]string{"./tool.sh", ". ./tool.sh", "source ./tool.sh", ". tool.sh", "bash -c '. ./tool.sh'", "cd sub && . ../tool.sh", ". ./link.sh", "echo x; . $PWD/tool.sh"},
			[]string{". ./other.sh", ". sub/tool.sh", "cat tool.sh", "./other.sh"},
		},
	} {
		a, allow := rejecting(t, map[string]string{
			"/p/tool.sh": "#!/bin/sh\n", "/p/other.sh": "#!/bin/sh\n", "/p/sub/tool.sh": "#!/bin/sh\n",
		})
		a.fs().Link("/p/link.sh", "tool.sh")
		a.reject(t, a.in(t, "/p", rejected), "project")
		allow(anything)
		for _, command := range c.denied {
			wantVerdict(t, a.in(t, "/p", command), decisions.Deny, rejected+" rejected: "+command)
		}
		for _, command := range c.allowed {
			wantVerdict(t, a.in(t, "/p", command), decisions.Allow, rejected+" rejected: "+command)
		}
	}
}
