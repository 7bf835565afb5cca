package xdg

import (
	"io"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
)

// PrivateGroup reports whether a group is private to a user: it is the user's primary
// group, has the same name, and has no other members. Many systems create such a group
// for each user and let it write the user's files (umask 002), which then means the user
// alone.
//
// Only /etc/passwd and /etc/group are read. The users and groups of a directory service
// cannot be listed reliably, so their groups are never private. Nor is root's group,
// which system users share.
func PrivateGroup(uid, gid uint32) bool {
	passwd, err := readAccounts("/etc/passwd")
	if err != nil {
		return false
	}
	group, err := readAccounts("/etc/group")
	return err == nil && privateGroup(passwd, group, uid, gid)
}

// maxAccounts is the maximum length of an account file, in bytes.
const maxAccounts = 16 << 20

func readAccounts(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxAccounts+1))
	if err == nil && len(data) > maxAccounts {
		err = os.ErrInvalid // the rest could name other users
	}
	return string(data), err
}

func privateGroup(passwd, group string, uid, gid uint32) bool {
	if gid == 0 {
		return false
	}
	var names []string // of the user: several entries may have the same uid
	primary := false
	for f := range accountLines(passwd) { // name:password:uid:gid:…
		if len(f) < 4 {
			continue
		}
		u, uok := parseID(f[2])
		g, gok := parseID(f[3])
		switch {
		case !uok || !gok:
			if strings.Contains(f[3], strconv.FormatUint(uint64(gid), 10)) {
				return false // a malformed entry, which programs may read differently
			}
		case u == uid:
			names = append(names, f[0])
			primary = primary || g == gid
		case g == gid:
			return false
		}
	}
	named := false
	for f := range accountLines(group) { // name:password:gid:member,…
		if len(f) < 4 {
			continue
		}
		if g, ok := parseID(f[2]); !ok || g != gid {
			continue
		}
		if !slices.Contains(names, f[0]) {
			return false
		}
		named = true
		for member := range strings.SplitSeq(f[3], ",") {
			if member = strings.TrimSpace(member); member != "" && !slices.Contains(names, member) {
				return false
			}
		}
	}
	return primary && named
}

// accountLines returns the lines of an account file, split at colons.
func accountLines(text string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			if !yield(strings.Split(line, ":")) {
				return
			}
		}
	}
}

func parseID(s string) (uint32, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 32)
	return uint32(n), err == nil
}
