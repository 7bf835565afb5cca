package paths

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// Bounds of path resolution.
const (
	MaxPath  = 4096 // bytes of a path, before and after each link; the kernel's PATH_MAX
	MaxName  = 255  // bytes of one component; NAME_MAX
	maxLinks = 40   // links followed for one path; the kernel's MAXSYMLINKS
	maxSteps = 8192 // components examined for one path, those of links included
)

// place is the target of a path.
type place struct {
	Path string // absolute and cleaned; only the last component may be a link
	// mode is the file's mode; not set if missing.
	mode    fs.FileMode
	Missing bool
	// links is how many links were followed.
	links int
	// aliases are the paths before each link was followed. They count for the guarded
	// tags: a file is also guarded by the names that lead to it.
	aliases []string
}

var RootPlace = place{Path: "/", mode: fs.ModeDir}

// Walk resolves rest from the folder at, component by component, as the kernel does: a
// link is followed before the ".." after it is applied. A link in the last component
// is followed if follow is set or a slash follows it. If the path cannot be resolved,
// why is the reason.
func (r *Resolver) Walk(at place, rest string, follow bool) (_ place, why string) {
	whole := Joined(at.Path, rest)
	straight := true // whole begins with at.path, and goes on with rest
	for steps := 0; ; steps++ {
		if steps > maxSteps {
			return at, "path has too many components"
		}
		if strings.HasPrefix(rest, "/") && (steps > 0 || at.Path == "/" && strings.HasPrefix(rest, "//")) {
			straight = false // consecutive slashes
		}
		rest = strings.TrimLeft(rest, "/")
		if rest == "" {
			return at, ""
		}
		name, more, slash := strings.Cut(rest, "/")
		rest = more
		if !at.Missing && !at.mode.IsDir() {
			return at, "a component of the path is not a folder"
		}
		switch name {
		case ".":
			straight = false
			continue
		case "..":
			straight = false
			if at.Missing {
				return at, "path goes up from a folder that does not exist"
			}
			at.Path = path.Dir(at.Path)
			continue
		}
		if len(name) > MaxName {
			return at, "a component of the path is too long"
		}
		var next string
		if end := len(strings.TrimSuffix(at.Path, "/")) + 1 + len(name); straight {
			next = whole[:end]
		} else {
			next = Joined(at.Path, name)
		}
		if len(next) > MaxPath {
			return at, "path is too long"
		}
		if why := r.whyOpaque(at.Path, next, more); why != "" {
			return at, why
		}
		if why := r.unsearchable(at); why != "" {
			return at, why
		}
		if at.Missing && len(r.Made) == 0 {
			at.Path = next
			continue
		}
		mode, err := r.Lstat(next)
		switch {
		case at.Missing, errors.Is(err, fs.ErrNotExist):
			at.Path, at.Missing, at.mode = next, true, 0
			if slices.Contains(r.Made, next) {
				at.Missing, at.mode = false, fs.ModeDir
			}
			continue
		case err != nil:
			return at, unreadable(err)
		}
		if mode&fs.ModeSymlink == 0 || !follow && !slash {
			at.Path, at.mode = next, mode
			continue
		}
		if at.links++; at.links > maxLinks {
			return at, "too many links, or links in a circle"
		}
		target := r.readlink(next)
		if target == "" {
			return at, "a link of the path cannot be read"
		}
		if why := BadPath(target); why != "" {
			return at, "a link of the path leads to an unclear place"
		}
		at.aliases = append(slices.Clip(at.aliases), path.Clean(next+"/"+rest))
		if slash {
			target += "/" + rest
		}
		if len(target) > MaxPath {
			return at, "path is too long"
		}
		straight = false
		if target[0] == '/' {
			at.Path, at.mode = "/", fs.ModeDir
		}
		rest = target
	}
}

// unreadable returns why a component of a path cannot be looked at.
func unreadable(err error) string {
	var silent *effects.NoAnswerError
	if errors.As(err, &silent) {
		return silent.Error()
	}
	return "a component of the path cannot be read"
}

// Joined joins a cleaned folder and a path. It does not allocate if the path is
// absolute.
func Joined(dir, rest string) string {
	switch {
	case dir != "/":
		return dir + "/" + strings.TrimLeft(rest, "/")
	case len(rest) > 0 && rest[0] == '/':
		return rest
	}
	return "/" + rest
}

// whyOpaque returns why the path next, a child of the folder dir, cannot be known whatever
// lies there; "" if it can. What follows next in the path is more.
func (r *Resolver) whyOpaque(dir, next, more string) string {
	switch dir {
	case "/":
		switch next {
		case "/proc":
			switch more {
			case "cpuinfo", "loadavg", "meminfo", "uptime", "version": // the machine's
				return ""
			}
			return "paths below /proc mean something else for each process"
		case "/.vol", "/.nofollow", "/.resolve": // other ways to name files on macOS
			return "path names a file by its number"
		}
	case "/dev":
		switch next {
		case "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr":
			return "path means an open file of the process"
		case "/dev/tcp", "/dev/udp":
			return "path means a network connection in some shells"
		}
	}
	for _, d := range r.Disturbed {
		if d == next {
			return "an earlier part of the call changes what the path leads to"
		}
	}
	return ""
}
