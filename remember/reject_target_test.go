//go:build cgo

package remember_test

import (
	"testing"

	"github.com/permd/permd/decisions"
)

// TestRejectOfTargetsAndScripts: a rejected target is denied also next to others, with
// variables and by another name of make, and a rejected script also where the shell runs
// it itself. A rule allows everything.
func TestRejectOfTargetsAndScripts(t *testing.T) {
	for rejected, c := range map[string]struct{ denied, allowed []string }{
		"make ship": {
			[]string{"make ship", "make lint ship", "make ship lint", "make ship X=1", "make X=1 ship", "make -j4 lint ship", "gmake ship", "gmake -s lint ship", "nice make lint ship", "make -C . lint ship", "make .DEFAULT_GOAL=ship"},
			[]string{"make lint", "make lint all", "make shipping lint", "make lint SHIP=ship", "gmake lint"},
		},
		"./tool.sh": {
			[]string{"./tool.sh", ". ./tool.sh", "source ./tool.sh", ". tool.sh", "bash -c '. ./tool.sh'", "cd sub && . ../tool.sh", "make SHELL=./tool.sh lint", "make lint CC='./tool.sh -O2'", ". ./link.sh", "echo x; . $PWD/tool.sh"},
			[]string{". ./other.sh", ". sub/tool.sh", "cat tool.sh", "./other.sh", "make lint CC=gcc V=1"},
		},
	} {
		a, allow := rejecting(t, map[string]string{
			"/p/Makefile": "ship:\n\ttrue\nlint:\n\ttrue\n", "/p/tool.sh": "#!/bin/sh\n", "/p/other.sh": "#!/bin/sh\n", "/p/sub/tool.sh": "#!/bin/sh\n",
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
