package languages

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects/display"
)

// pathSeparators stand between paths of a list, or between a name and a path.
const pathSeparators = ",:;="

// PathParts returns the paths that a value may hold besides the one that it is as a whole:
// those of a list (a:b, a,b), that of NAME=PATH, and that of @PATH. Which of these a program
// reads differs between options and versions, so all count. ok is false for a value whose
// parts may be quoted, and for one with a secret, which a part would show.
func PathParts(value string) (parts []string, ok bool) {
	if strings.HasPrefix(value, "@") {
		parts = append(parts, strings.TrimLeft(value, "@"))
	}
	if !strings.ContainsAny(value, pathSeparators) || strings.Contains(value, "://") {
		return parts, true
	}
	if display.HoldsSecret(value) {
		return nil, false
	}
	for _, separators := range []string{pathSeparators, ",", ":", ";", "="} {
		if strings.ContainsAny(value, separators) {
			parts = append(parts, strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(separators, r) })...)
		}
	}
	if _, rest, found := strings.Cut(value, "="); found {
		parts = append(parts, rest)
	}
	for i, part := range parts {
		parts[i] = strings.TrimLeft(strings.TrimSpace(part), "@")
	}
	slices.Sort(parts)
	parts = slices.DeleteFunc(slices.Compact(parts), func(s string) bool { return s == "" || s == "-" })
	return parts, !strings.ContainsAny(value, "\"'\\")
}
