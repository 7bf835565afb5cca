//go:build linux

package main

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// besides reports whether a program makes a file on the way to one that the
// decision has: the folders that lead to a new one, and what sed -i,
// sort and tac write before they have all.
func (f *touched) besides(v *verdict) bool {
	name := path.Base(f.by)
	if (name == "sed" || name == "sort" || name == "tac") && temporary.MatchString(path.Base(f.path)) {
		return true
	}
	return name == "mkdir" && slices.ContainsFunc(v.effects, func(e effects.Effect) bool {
		return e.Kind == effects.KindWrite && lexpath.Below(f.path, e.File.Path)
	})
}

var temporary = regexp.MustCompile(`^(sed|sort|tac)[A-Za-z0-9]{6}$`)

// What every program of the system opens for itself, and what some do.
var (
	ownFolders = []string{"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/share/locale/", "/usr/share/zoneinfo/", "/usr/share/awk/", "/usr/share/i18n/", "/usr/share/file/", "/usr/share/misc/", "/etc/alternatives/", "/sys/fs/cgroup/", "/usr/libexec/"}
	ownSingle  = []string{"/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/locale.alias", "/etc/localtime", "/proc/filesystems", "/proc/self/maps", "/dev/null", "/dev/tty", "/etc/magic", "/proc/meminfo", "/sys/devices/system/cpu/online", "/proc/self/cgroup", "/proc/self/mountinfo"}
	lookUp     = []string{"/etc/nsswitch.conf", "/etc/passwd", "/etc/group"} // of names of owners
	looksUp    = []string{"ls", "stat", "find", "git", "tree"}
	startUp    = []string{"/etc/nsswitch.conf", "/etc/passwd", "/etc/group", "/etc/zsh/zshenv", "/proc/self/loginuid", "/dev/tty", "/etc/inputrc"} // of shells
	terminals  = []string{"/etc/terminfo/", "/lib/terminfo/", "/usr/lib/terminfo/", "/usr/share/terminfo/"}
	heredocs   = []string{"/tmp/zsh", "/tmp/sh-thd"} // where shells keep here-documents
)

// harmless reports whether the program opens that whatever it is told.
func (f *touched) harmless() bool {
	in := func(folder string) bool { return strings.HasPrefix(f.path, folder) }
	if f.by == "" && (slices.ContainsFunc(heredocs, in) || f.folder && !f.write) {
		return true // a shell lists folders for its patterns
	}
	if f.path == "/dev/null" || f.path == "/dev/tty" || strings.HasPrefix(f.path, "pipe:") || f.path == "/log" {
		return true
	}
	name := path.Base(f.by)
	if name == "git" && path.Dir(f.path) == project+"/.git" && strings.HasPrefix(path.Base(f.path), "index") {
		return true // git status writes down what it found out about files
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
	if name == "git" && (f.folder || strings.Contains(f.path, "/.git") || in(home+"/.config/git") || f.path == "/etc/gitconfig") {
		return true
	}
	if name == "mkdir" && f.there {
		return true // it comes back to it
	}
	if name == "find" && (f.there || f.same) {
		return true // it keeps the folder that it comes back to, and looks at a file's identity
	}
	return slices.Contains(ownSingle, f.path) || slices.ContainsFunc(ownFolders, in) || slices.Contains(lookUp, f.path) && slices.Contains(looksUp, name)
}
