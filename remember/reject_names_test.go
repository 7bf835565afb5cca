//go:build cgo

package remember_test

import (
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/fsfake"
)

// TestRejectByOtherNames: a rule allows all, and the agent calls what was
// rejected by another name: that of a sub-command, or a link to a script.
func TestRejectByOtherNames(t *testing.T) {
	files := map[string]string{
		"/p/tool.sh": "#!/bin/sh\necho 1\n", "/p/other.sh": "#!/bin/sh\necho 2\n", "/p/package.json": `{"scripts":{"test":"node t.js","build":"node b.js"}}`,
	}
	for _, tt := range []struct {
		rejected        string
		denied, allowed []string
	}{
		{"npm test", []string{"npm t", "npm tst"}, []string{"npm start", "npm test x", "npm run build"}},
		{"npm t", []string{"npm test", "npm tst"}, []string{"npm start"}},
		{"npm run build", []string{"npm run-script build", "npm rum build"}, []string{"npm run test", "npm test"}},
		{"npm uninstall left", []string{"npm rm left", "npm un left"}, []string{"npm uninstall right"}},
		{"./tool.sh", []string{"bash ./tl", "sh d/tl2", "bash tool.sh", "./tl"}, []string{"bash ./ol", "./other.sh", "sh -e other.sh"}},
		{"sh tl", []string{"bash tool.sh", "./tool.sh", "dash d/tl2"}, []string{"sh ol"}},
		{"git stash", []string{"git stash"}, []string{"git stash pop", "git stash push -m x"}},
	} {
		a, allow := rejecting(t, files)
		a.config.FS.(*fsfake.FS).Link("/p/tl", "tool.sh").Link("/p/ol", "other.sh").Link("/p/d/tl2", "/p/tool.sh")
		a.reject(t, a.in(t, "/p", tt.rejected), "project")
		allow(anything)
		for _, command := range append(tt.denied, tt.rejected) {
			wantVerdict(t, a.in(t, "/p", command), decisions.Deny, command+" after a reject of "+tt.rejected)
		}
		for _, command := range tt.allowed {
			wantVerdict(t, a.in(t, "/p", command), decisions.Allow, command+" after a reject of "+tt.rejected)
		}
	}
}
