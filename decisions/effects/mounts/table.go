package mounts

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/wordset"
)

// table is what is mounted, as far as it matters for looking at files.
type table struct {
	remote []mount // longest mount point first
	procs  []string
	// unstamped are the mount points of file systems whose folders are not known to have a
	// time that each change of their names changes.
	unstamped []string
}

// mount is a mount of a file system that does not always answer.
type mount struct {
	key   string // differs for a file system that is mounted at the same point later
	point string
}

// everything is the table of a machine whose mounts are not known.
func everything() *table { return &table{remote: []mount{{key: "/", point: "/"}}} }

// of returns the innermost remote mount that a path lies in, nil if there is none. A
// path is not local because a local file system is mounted within a remote one: on the
// way to it the kernel asks the remote one.
func (t *table) of(p string) *mount {
	for i := range t.remote {
		if lexpath.In(t.remote[i].point, p) {
			return &t.remote[i]
		}
	}
	return nil
}

// keepsStamps reports whether a path lies in file systems whose folders have a stamp.
func (t *table) keepsStamps(p string) bool {
	for _, point := range t.unstamped { // no closure, which would take memory for each request
		if lexpath.In(point, p) {
			return false
		}
	}
	return t.of(p) == nil
}

// holdsMount reports whether a remote mount point lies directly in a folder that is
// local.
func (t *table) holdsMount(dir string) bool {
	for i := range t.remote {
		if point := t.remote[i].point; path.Dir(point) == dir && t.of(dir) == nil {
			return true
		}
	}
	return false
}

// magic reports whether links at a place may be those of /proc, whose targets as text
// are not where they lead.
func (t *table) magic(p string) bool {
	if lexpath.In("/proc", p) {
		return true
	}
	for _, proc := range t.procs {
		if lexpath.In(proc, p) {
			return true
		}
	}
	return false
}

// local are the types of file systems that answer by themselves: from a disk of this
// machine, from memory, or from the kernel. Any other may wait for another machine or
// for another process.
var local = wordset.Of(
	"ext2", "ext3", "ext4", "xfs", "btrfs", "bcachefs", "zfs", "f2fs", "jfs", "nilfs2", "reiserfs", "minix",
	"vfat", "msdos", "exfat", "ntfs3", "hfs", "hfsplus", "iso9660", "udf", "squashfs", "erofs", "cramfs", "romfs", "ubifs", "jffs2",
	"overlay", "aufs", "tmpfs", "ramfs", "rootfs", "devtmpfs", "devpts", "hugetlbfs", "mqueue", "nsfs",
	"proc", "sysfs", "cgroup", "cgroup2", "cpuset", "securityfs", "selinuxfs", "smackfs", "debugfs", "tracefs", "pstore", "efivarfs", "bpf",
	"configfs", "fusectl", "binfmt_misc", "rpc_pipefs", "resctrl", "nfsd",
)

// stamped are those whose folders have a ctime of their own, which changes with their names and
// permissions, and which programs cannot set. The kernel's own file systems, such as proc, let
// names come and go without one; vfat and its kin have only the mtime.
var stamped = wordset.Of(
	"ext2", "ext3", "ext4", "xfs", "btrfs", "bcachefs", "zfs", "f2fs", "jfs", "nilfs2", "reiserfs", "ubifs", "jffs2",
	"iso9660", "squashfs", "erofs", "cramfs", "romfs", "overlay", "aufs", "tmpfs", "ramfs", "rootfs", "devtmpfs",
)

// Bounds of the list of mounts.
const (
	maxTable  = 8 << 20 // bytes
	maxRemote = 4096    // mounts that are remote, and as many without stamps
)

// parse reads the text of /proc/self/mountinfo, as proc_pid_mountinfo(5) describes it:
//
//	36 35 98:0 /mnt1 /mnt/parent rw,noatime master:1 - ext3 /dev/root rw
//
// What cannot be read leaves nothing local.
func parse(text string) *table {
	t := &table{}
	stacked := map[mount]string{} // their options
	for line := range strings.Lines(text) {
		head, tail, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		fields, kind := strings.Split(head, " "), strings.Fields(tail)
		if !ok || len(fields) < 6 || len(kind) == 0 {
			return everything()
		}
		m := mount{key: fields[0] + " " + fields[4], point: unescape(fields[4])}
		if !path.IsAbs(m.point) {
			continue // of another root, so that no path leads there
		}
		if !stamped.Has(kind[0]) {
			if len(t.unstamped) == maxRemote {
				return everything()
			}
			t.unstamped = append(t.unstamped, m.point)
		}
		switch {
		case kind[0] == "proc":
			t.procs = append(t.procs, m.point)
		case m.point == "/":
		case local.Has(kind[0]):
			if kind[0] == "overlay" {
				stacked[m] = kind[len(kind)-1]
			}
		case len(t.remote) == maxRemote:
			return everything()
		default:
			t.remote = append(t.remote, m)
		}
	}
	if text == "" {
		return everything()
	}
	// One overlay can be a layer of another.
	for found := true; found; {
		found = false
		for m, options := range stacked {
			if t.uses(options) {
				t.remote, found = append(t.remote, m), true
				delete(stacked, m)
			}
		}
	}
	slices.SortStableFunc(t.remote, func(a, b mount) int { return cmp.Compare(len(b.point), len(a.point)) })
	return t
}

// uses reports whether the options of an overlay file system name a folder of a remote
// one as one of its layers, as in lowerdir=/a:/b,upperdir=/c.
func (t *table) uses(options string) bool {
	for _, p := range strings.FieldsFunc(options, func(r rune) bool { return strings.ContainsRune(",:=", r) }) {
		if path.IsAbs(p) && t.of(path.Clean(unescape(p))) != nil {
			return true
		}
	}
	return false
}

// unescape replaces what the kernel writes for a space, a tab, a line's end and a
// backslash: the octal number of the byte.
func unescape(s string) string {
	return escapes.Replace(s)
}

var escapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#")
