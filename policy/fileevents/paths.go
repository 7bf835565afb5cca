package fileevents

import (
	"os"
	"path/filepath"
)

// maxLinks bounds the length of a chain of dangling links.
const maxLinks = 8

// Real returns a folder's path without links, even if it does not exist at the moment:
// then its link still gives the expected path.
func Real(dir string) string { return resolvePath(dir, maxLinks) }

func resolvePath(dir string, links int) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	up := filepath.Dir(dir)
	if up == dir || links == 0 {
		return dir
	}
	if to, err := os.Readlink(dir); err == nil {
		if !filepath.IsAbs(to) {
			to = filepath.Join(up, to)
		}
		dir, links = to, links-1
	}
	return filepath.Join(resolvePath(filepath.Dir(dir), links), filepath.Base(dir))
}

// Parents returns the parent folders of a folder that exist, up to a number of
// levels.
func Parents(dir string, levels int) []string {
	var out []string
	for levels > 0 && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		out = append(out, dir)
		if _, err := os.Stat(dir); err == nil {
			levels--
		}
	}
	return out
}
