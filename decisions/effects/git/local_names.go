package git

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects/collect"
	"github.com/permd/permd/internal/lexpath"
)

// maxConfig is the maximum size of a configuration that is looked at for remotes, in bytes.
const maxConfig = 64 << 10

// MayBeFolder reports whether git may take a bare name for a repository, or a bundle, in the
// file system, whose hooks and configuration it obeys: what lies there, or may by then, unless
// it is certainly a remote of the project. git looks below the folder that it runs in, or at
// the top of the working tree. A clone looks for no remote of that name.
func MayBeFolder(c *collect.Collector, run int, cwd, name string, clone bool) bool {
	root, at := c.Paths.Project(), c.Paths.Resolved(cwd, "")
	switch {
	case cwd == "" || at == "":
		return true
	case !clone && root != "" && lexpath.In(root, at) && hasRemote(c, root, name):
		return false
	}
	for dir := at; ; dir = path.Dir(dir) {
		for _, end := range []string{"", ".git", ".bundle"} {
			file := path.Join(dir, name+end)
			if c.Exists(file) || c.MadeBefore(run, file) || c.MayMake(dir, func(made string) bool { return made == lexpath.Fold(name+end) }) {
				return true
			}
		}
		if dir == root || root == "" || !lexpath.In(root, dir) || dir == "/" {
			return false
		}
	}
}

// hasRemote reports whether the project's own configuration certainly has an address for a
// remote.
func hasRemote(c *collect.Collector, root, name string) bool {
	if c.FS == nil || c.ChangesGit() {
		return false
	}
	data, err := c.FS.ReadFile(root+"/.git/config", maxConfig)
	if err != nil {
		return false
	}
	in, found := false, false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			in = line == `[remote "`+name+`"]`
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		switch value = strings.TrimSpace(value); {
		case !strings.EqualFold(strings.TrimSpace(key), "url"):
		case value == "":
			return false // it takes back what is before it
		case in && !strings.ContainsAny(value[:1], `"#;\`):
			found = true
		}
	}
	return found
}
