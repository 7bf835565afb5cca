package policy

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/policy/policytest"
)

func TestPrivateGroup(t *testing.T) {
	w := newWorld(t)
	w.opts.PrivateGroup = func(uint32, uint32) bool { return true }
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "user")})
	policytest.Chmod(t, filepath.Join(w.user, "a.rego"), 0o664)
	s := w.open(t)
	if l := userLayer(s); l.State != StateOK || l.Deny != 1 {
		t.Errorf("status of user: %+v", l)
	}
	policytest.Chmod(t, w.org, 0o775)
	if _, err := Open(t.Context(), w.opts); err == nil || !strings.Contains(err.Error(), "can be written by its group") {
		t.Errorf("a folder of the organisation that a group may write: %v", err)
	}
}
