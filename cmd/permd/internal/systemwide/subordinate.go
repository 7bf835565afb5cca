package systemwide

import (
	"bufio"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
)

// subordinates are the uids that users were given besides their own, by a file as subuid(5)
// describes it. The file is read again when it has changed.
type subordinates struct {
	path string

	mu     sync.Mutex
	state  fs.FileInfo // of what was read
	ranges []uidRange
}

// uidRange has the uids from first to last.
type uidRange struct{ first, last uint64 }

// has reports whether a uid is such a one. Without the file there are none; while it cannot be
// read, those of before are.
func (s *subordinates) has(uid uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	for _, r := range s.ranges {
		if r.first <= uint64(uid) && uint64(uid) <= r.last {
			return true
		}
	}
	return false
}

func (s *subordinates) refresh() {
	state, err := os.Stat(s.path)
	if err != nil || s.state != nil && os.SameFile(state, s.state) && state.Size() == s.state.Size() && state.ModTime().Equal(s.state.ModTime()) {
		return
	}
	f, err := os.Open(s.path)
	if err != nil {
		return
	}
	defer f.Close()
	var ranges []uidRange
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if r, ok := parseRange(lines.Text()); ok {
			ranges = append(ranges, r)
		}
	}
	if lines.Err() == nil {
		s.state, s.ranges = state, ranges
	}
}

// parseRange reads a line: a user, the first uid and how many there are, with colons between. Numbers
// may be hexadecimal or octal, as for newuidmap(1).
// Ranges of other lines give nobody a uid: newuidmap(1) does not take them either.
func parseRange(line string) (r uidRange, ok bool) {
	fields := strings.Split(line, ":")
	if len(fields) != 3 {
		return r, false
	}
	first, err := strconv.ParseUint(strings.TrimSpace(fields[1]), 0, 32)
	if err != nil {
		return r, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(fields[2]), 0, 33)
	return uidRange{first, first + n - 1}, err == nil && n > 0
}
