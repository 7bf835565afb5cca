package paths

import (
	"testing"

	"github.com/permd/permd/decisions/effects/fsfake"
)

func TestFindProject(t *testing.T) {
	fs := fsfake.New(
		"/home/dev/proj/.git/config", "/home/dev/proj/src/deep/", "/home/dev/proj/sub/.git", "/home/dev/proj/sub/x/",
		"/home/dev/plain/a/b/", "/home/dev/.git/config", "/link -> /home/dev/proj/src", "/home/dev/lroot -> proj",
		"/srv/app/", "/tmp/x/y/", "/opt/tool/.git/", "/opt/tool/src/", "/usr/lib/python3/", "/etc/nginx/", "/var/www/site/", "/workspace/",
		"/home/dev/loop -> loop", "/home/dev/proj/.git/hooks/", "/home/dev/glink/.git -> /srv/app", "/tmp/.git/config",
		"/var/home/u/proj/.git/", "/home/dev/file",
	).Deny("/home/dev/locked")
	for _, tt := range []struct{ name, cwd, home, want string }{
		{"root of a repository", "/home/dev/proj", "/home/dev", "/home/dev/proj"},
		{"folder of a repository", "/home/dev/proj/src/deep", "/home/dev", "/home/dev/proj"},
		{"submodule or worktree", "/home/dev/proj/sub/x", "/home/dev", "/home/dev/proj/sub"},
		{"through a link", "/link/deep", "/home/dev", "/home/dev/proj"},
		{"root is a link", "/home/dev/lroot", "/home/dev", "/home/dev/proj"},
		{"trailing slash", "/home/dev/proj/", "/home/dev", "/home/dev/proj"},
		{"no repository", "/home/dev/plain/a/b", "/home/dev", "/home/dev/plain/a/b"},
		{"a home with .git is none", "/home/dev/plain", "/home/dev", "/home/dev/plain"},
		{"home", "/home/dev", "/home/dev", ""},
		{"home through dots", "/home/dev/proj/..", "/home/dev", ""},
		{"home that nobody named", "/home/dev", "", ""},
		{"above home", "/home", "/home/dev", ""},
		{"root", "/", "/home/dev", ""},
		{"system folder", "/etc/nginx", "/home/dev", ""},
		{"deep in a system folder", "/usr/lib/python3", "/home/dev", ""},
		{"temporary folder", "/tmp", "/home/dev", ""},
		{"below a temporary folder with .git", "/tmp/x/y", "/home/dev", "/tmp/x/y"},
		{"served", "/srv/app", "/home/dev", "/srv/app"},
		{"all that is served", "/srv", "/home/dev", ""},
		{"optional software", "/opt/tool/src", "/home/dev", "/opt/tool"},
		{"web site", "/var/www/site", "/home/dev", "/var/www/site"},
		{"workspace of a container", "/workspace", "/root", "/workspace"},
		{"home of root", "/root", "/root", ""},
		{"below the home of root", "/root/x", "/root", "/root/x"},
		{"home in a system folder", "/var/home/u/proj", "/var/home/u", "/var/home/u/proj"},
		{"inside .git", "/home/dev/proj/.git/hooks", "/home/dev", "/home/dev/proj"},
		{".git as a link", "/home/dev/glink", "/home/dev", "/home/dev/glink"},
		{"missing", "/home/dev/new/x", "/home/dev", "/home/dev/new/x"},
		{"missing in a repository", "/home/dev/proj/new", "/home/dev", "/home/dev/proj"},
		{"relative", "proj", "/home/dev", ""},
		{"empty", "", "/home/dev", ""},
		{"link in a circle", "/home/dev/loop", "/home/dev", ""},
		{"cannot be searched", "/home/dev/locked/x", "/home/dev", ""},
		{"a file", "/home/dev/file", "/home/dev", ""},
		{"control character", "/home/dev/a\nb", "/home/dev", ""},
		{"home is root", "/home/dev/proj", "/", "/home/dev/proj"},
		{"case of another file system", "/ETC/nginx", "/home/dev", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := FindProject(fs, tt.cwd, tt.home); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
