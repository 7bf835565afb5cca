//go:build linux

package main

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
)

// besides reports whether a program makes a file in addition to one that the
// decision has: the folders above a new one, temporary files that are renamed when
// complete, what git keeps in a repository that it makes, and its own data.
func (f *touched) besides(v *verdict) bool {
	name := path.Base(f.by)
	if slices.Contains(temporaries, name) && temporary.MatchString(path.Base(f.path)) {
		return true
	}
	if name == "git" && (v.changes(strings.TrimSuffix(f.path, ".lock")) || v.makesRepository(f.path)) {
		return true
	}
	if name == "git" && v.keepsOwnData() && gitData.MatchString(f.path) {
		return true
	}
	if name == "mktemp" && v.makesTemporary(f.path) {
		return true
	}
	if name == "split" && strings.HasPrefix(path.Base(f.path), "x") && v.changes(path.Dir(f.path)) {
		return true
	}
	return (name == "mkdir" || name == "git" || name == "patch" || name == "install" || name == "cp" || name == "tar" || name == "unzip") && v.below(f.path, effects.KindWrite)
}

// staged reports whether git reads a file of the project that is no secret, in order to
// keep it.
func (f *touched) staged(v *verdict) bool {
	rel, ok := lexpath.RelBelow(project, f.path)
	return ok && path.Base(f.by) == "git" && v.keepsOwnData() && !paths.Guarded().Match(lexpath.Fold("/"+rel), "").Has(effects.Secret)
}

// makesTemporary reports whether a path is one that mktemp makes of a template, or of its
// own in a folder, that the decision has: the last Xs become letters and digits.
func (v *verdict) makesTemporary(p string) bool {
	base := path.Base(p)
	if v.changes(path.Dir(p)) && ownTemplate.MatchString(base) {
		return true
	}
	return slices.ContainsFunc(v.effects, func(e effects.Effect) bool {
		if e.Kind != effects.KindWrite || e.File == nil {
			return false
		}
		folder, name := path.Split(trees[v.tree].resolve(e.File.Path, true))
		xs := lastXs.FindStringSubmatch(name)
		return xs != nil && len(base) == len(name) && strings.HasPrefix(base, xs[1]) && strings.HasSuffix(base, xs[3]) &&
			(path.Clean(folder) == path.Dir(p) || v.changes(path.Dir(p)))
	})
}

// makesRepository reports whether a path is in a repository that the decision
// makes.
func (v *verdict) makesRepository(p string) bool {
	return slices.ContainsFunc(v.effects, func(e effects.Effect) bool {
		return e.Kind == effects.KindWrite && e.Via != nil && v.effects[e.Via.Effect].Run != nil && v.effects[e.Via.Effect].Run.Subcommand == "init" &&
			lexpath.In(e.File.Path, trees[v.tree].resolve(p, true))
	})
}

// keepsOwnData reports whether a run of the decision may change what git keeps of the project.
func (v *verdict) keepsOwnData() bool {
	return slices.ContainsFunc(v.effects, func(e effects.Effect) bool { return e.Run != nil && e.Run.OwnData })
}

// below reports whether the decision has an effect below a folder.
func (v *verdict) below(folder string, kinds ...effects.Kind) bool {
	folder = trees[v.tree].resolve(folder, true)
	return slices.ContainsFunc(v.effects, func(e effects.Effect) bool {
		return slices.Contains(kinds, e.Kind) && e.File != nil && lexpath.Below(folder, e.File.Path)
	})
}

// packers are the programs that tar starts.
var packers = []string{"gzip", "bzip2", "xz", "zstd", "lzma", "compress", "lzip", "lzop"}

// gitParts are programs that are parts of git.
const gitParts = "/usr/lib/git-core/git"

// own reports whether a program is part of the one that started it.
func (r *ran) own() bool {
	if r.by == "" && r.name() == "id" && slices.Equal(r.args, []string{"-u"}) {
		return true // what /etc/profile of Debian begins with, in a login shell
	}
	switch path.Base(r.by) {
	case "tar":
		return slices.Contains(append(packers, "sh"), r.name())
	case "git":
		return strings.HasPrefix(r.exe, gitParts)
	}
	return strings.HasPrefix(r.by, gitParts)
}

var (
	ownTemplate = regexp.MustCompile(`^tmp\.[A-Za-z0-9]{10}$`)
	lastXs      = regexp.MustCompile(`^(.*?)(X{3,})([^X]*)$`)
	gitData     = regexp.MustCompile(`^` + regexp.QuoteMeta(project) + `/\.git/(objects|refs/heads|logs)(/|$)|^` + regexp.QuoteMeta(project) + `/\.git/(HEAD|index|COMMIT_EDITMSG)(\.lock)?$`)
	temporaries = []string{"sed", "sort", "tac", "zip", "patch", "ln"}
	temporary   = regexp.MustCompile(`^(sed|sort|tac|Cu)[A-Za-z0-9]{6}$|^zi[A-Za-z0-9]{6}$|^p[pieo][A-Za-z0-9]{6}$|\.[ro][A-Za-z0-9]{6}$|^\..*\.(rej|orig)$`)
)

// Files that every program, or some programs, of the system open for themselves.
var (
	ownFolders = []string{"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/share/locale/", "/usr/share/zoneinfo/", "/usr/share/awk/", "/usr/share/i18n/", "/usr/share/file/", "/usr/share/misc/", "/etc/alternatives/", "/sys/fs/cgroup/", "/usr/libexec/", "/usr/share/git-core/templates/"}
	ownSingle  = []string{"/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/locale.alias", "/etc/localtime", "/proc/filesystems", "/proc/self/maps", "/dev/null", "/dev/tty", "/etc/magic", "/proc/meminfo", "/proc/cpuinfo", "/sys/devices/system/cpu/online", "/proc/self/cgroup", "/proc/self/mountinfo", "/proc/self/fd", "/dev/urandom"}
	lookUp     = []string{"/etc/nsswitch.conf", "/etc/passwd", "/etc/group"} // to show the names of owners
	looksUp    = []string{"ls", "dir", "vdir", "stat", "find", "git", "tree", "tar", "install"}
	resolver   = []string{"/etc/host.conf", "/etc/resolv.conf", "/etc/hosts"}                                                                      // git looks up the name of the machine for an author without an address
	startUp    = []string{"/etc/nsswitch.conf", "/etc/passwd", "/etc/group", "/etc/zsh/zshenv", "/proc/self/loginuid", "/dev/tty", "/etc/inputrc"} // opened by shells
	terminals  = []string{"/etc/terminfo/", "/lib/terminfo/", "/usr/lib/terminfo/", "/usr/share/terminfo/"}
	keepers    = []string{"gzip", "install", "tar", "unzip", "rm", "du", "cp", "zip", "zstd"}
	rereaders  = []string{"zip", "unzip", "tar", "git", "patch"} // also opened for writing
	heredocs   = []string{"/tmp/zsh", "/tmp/sh-thd"}             // where shells keep here-documents
)

// harmless reports whether the program opens the file whatever its arguments are.
func (f *touched) harmless() bool {
	in := func(folder string) bool { return strings.HasPrefix(f.path, folder) }
	if f.by == "" && (slices.ContainsFunc(heredocs, in) || f.folder && !f.write) {
		return true // a shell lists folders for its patterns
	}
	if f.path == "/dev/null" || f.path == "/dev/tty" || strings.HasPrefix(f.path, "pipe:") || f.path == "/log" || f.path == "/out" {
		return true
	}
	name := path.Base(f.by)
	if name == "git" && path.Dir(f.path) == project+"/.git" && strings.HasPrefix(path.Base(f.path), "index") {
		return true // git status refreshes the times of files in its index
	}
	if f.by == "" && !f.write && slices.ContainsFunc(terminals, in) {
		return true // zsh looks up how to show what set -x prints
	}
	if f.by == "" {
		return !f.write && f.inner && (slices.Contains(startUp, f.path) || in("/etc/profile") || f.path == home+"/.profile" || slices.Contains(ownSingle, f.path) || slices.ContainsFunc(ownFolders, in))
	}
	if f.write {
		return false
	}
	if (name == "sort" || name == "tac") && temporary.MatchString(path.Base(f.path)) {
		return true
	}
	if strings.HasPrefix(f.by, gitParts) && strings.HasPrefix(f.path, "/usr/lib/git-core/") || strings.HasPrefix(f.by, gitParts) && f.path == "/etc/gitconfig" {
		return true
	}
	if rel, ok := lexpath.RelBelow(project, f.path); ok && name == "git" && slices.Contains(tracked, rel) {
		return true // a git command may read every file that git tracks
	}
	if (f.folder || f.there) && slices.Contains(keepers, name) {
		return true // they open the folder of a name
	}
	if name == "git" && (f.folder || strings.Contains(f.path, "/.git") || in(home+"/.config/git") || f.path == "/etc/gitconfig") {
		return true
	}
	if name == "git" && slices.Contains(resolver, f.path) {
		return true
	}
	if name == "mkdir" && f.there {
		return true // it opens the folder in order to return to it
	}
	if name == "find" && (f.there || f.same) {
		return true // it opens the folder that it returns to, and reads a file's identity
	}
	return slices.Contains(ownSingle, f.path) || slices.ContainsFunc(ownFolders, in) || slices.Contains(lookUp, f.path) && slices.Contains(looksUp, name)
}
