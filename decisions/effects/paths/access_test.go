package paths

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
)

// TestFoldersThatThePersonCannotSearch: if the daemon can read more than the
// person, paths below a folder that the person cannot search are unknown.
func TestFoldersThatThePersonCannotSearch(t *testing.T) {
	const other, person = 2000, 1000
	for _, tt := range []struct {
		name   string
		owner  uint32
		perm   fs.FileMode
		uid    uint32
		others bool
		want   string
	}{
		{"theirs", person, 0o700, person, true, "/srv/x/a"},
		{"theirs, without the right", person, 0o677, person, true, "?"},
		{"everybody's", other, 0o755, person, true, "/srv/x/a"},
		{"another's alone", other, 0o700, person, true, "?"},
		{"another's group's", other, 0o750, person, true, "?"},
		{"for others, not for the group", other, 0o705, person, true, "?"},
		{"root may", other, 0o700, 0, true, "/srv/x/a"},
		{"a daemon of the person's own", other, 0o700, person, false, "/srv/x/a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := fsfake.New("/srv/x/a", "/srv/link -> x/a").Own("/srv/x", tt.owner, tt.perm)
			r := NewResolver(Environment{FS: files, Others: tt.others}, &effects.Call{Cwd: "/srv", User: effects.User{UID: tt.uid}})
			for _, given := range []string{"/srv/x/a", "x/a", "/srv/link", "x/../x/a"} {
				e := r.Operand(effects.KindRead, given, "/srv", "path")
				if got := resolved(e); got != tt.want && (tt.want != "?" || !strings.Contains(got, "cannot be searched")) {
					t.Errorf("%s: got %s, want %s", given, got, tt.want)
				}
			}
		})
	}
}
