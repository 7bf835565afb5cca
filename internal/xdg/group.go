package xdg

import (
	"io"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
)

// PrivateGroup reports whether a group is a person's own: their primary group,
// of the same name, with nobody else in it. Many systems give each person one
// and let their files be written by it (umask 002), which then means them alone.
//
// Only /etc/passwd and /etc/group are asked. People and groups of a directory
// service cannot be listed for certain, so their groups are never private; and
// root's never is, since system users share it.
func PrivateGroup(uid, gid uint32) bool {
	passwd, err := readAccounts("/etc/passwd")
	if err != nil {
		return false
	}
	group, err := readAccounts("/etc/group")
	return err == nil && privateGroup(passwd, group, uid, gid)
}

// maxAccounts is the longest account file that is read, in bytes.
const maxAccounts = 16 << 20

func readAccounts(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxAccounts+1))
	if err == nil && len(data) > maxAccounts {
		err = os.ErrInvalid // the end of it could name others
	}
	return string(data), err
}

func privateGroup(passwd, group string, uid, gid uint32) bool {
	if gid == 0 {
		return false
	}
	var names []string // of the person: several entries may have one uid
	primary := false
	for f := range accounts(passwd) { // name:password:uid:gid:…
		if len(f) < 4 {
			continue
		}
		u, uok := number(f[2])
		g, gok := number(f[3])
		switch {
		case !uok || !gok:
			if strings.Contains(f[3], strconv.FormatUint(uint64(gid), 10)) {
				return false // what it means is for others to guess
			}
		case u == uid:
			names = append(names, f[0])
			primary = primary || g == gid
		case g == gid:
			return false
		}
	}
	named := false
	for f := range accounts(group) { // name:password:gid:member,…
		if len(f) < 4 {
			continue
		}
		if g, ok := number(f[2]); !ok || g != gid {
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

// accounts are the lines of an account file, split at colons.
func accounts(text string) iter.Seq[[]string] {
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

func number(s string) (uint32, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 32)
	return uint32(n), err == nil
}
