package tools

import (
	"fmt"
	"strconv"
	"strings"
)

// versionRange is a list of bounds that all must hold; an empty one holds for every version,
// even a malformed one.
type versionRange []versionBound

type versionBound struct {
	op string
	v  [3]int
}

// parseVersionRange parses bounds such as ">=0.20 <2".
func parseVersionRange(s string) (versionRange, error) {
	var r versionRange
	for f := range strings.FieldsSeq(s) {
		op := strings.TrimRight(f, "0123456789.")
		v, ok := parseVersion(f[len(op):])
		if !ok {
			return nil, fmt.Errorf("reading version range %q: no version in %q", s, f)
		}
		switch op {
		case "<", "<=", ">", ">=", "=":
		default:
			return nil, fmt.Errorf("reading version range %q: %q compares nothing", s, f)
		}
		r = append(r, versionBound{op, v})
	}
	return r, nil
}

// Holds reports whether a version is in the range. A malformed one is in no range with
// bounds.
func (r versionRange) Holds(version string) bool {
	if len(r) == 0 {
		return true
	}
	v, ok := parseVersion(version)
	if !ok {
		return false
	}
	for _, b := range r {
		c := 0
		for i := range v {
			if c == 0 {
				c = v[i] - b.v[i]
			}
		}
		var in bool
		switch b.op {
		case "<":
			in = c < 0
		case "<=":
			in = c <= 0
		case ">":
			in = c > 0
		case ">=":
			in = c >= 0
		case "=":
			in = c == 0
		}
		if !in {
			return false
		}
	}
	return true
}

// parseVersion parses up to three numbers separated by dots. The part after a hyphen, a plus
// sign or a space is ignored: a pre-release has the tools of its release.
func parseVersion(s string) (v [3]int, ok bool) {
	s = strings.TrimPrefix(s, "v")
	if i := strings.IndexAny(s, "-+ "); i >= 0 {
		s = s[:i]
	}
	parts := strings.Split(s, ".")
	if len(parts) > len(v) {
		return v, false
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 31)
		if err != nil {
			return [3]int{}, false
		}
		v[i] = int(n)
	}
	return v, true
}
