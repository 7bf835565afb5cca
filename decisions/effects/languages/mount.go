package languages

import (
	"slices"
	"strings"
)

// MountSource returns the part of this machine that a container sees, "" if that is an
// anonymous volume: of SRC:DST[:OPTIONS], or type=bind,source=SRC and so on. ok is false if a
// key is not known.
func MountSource(text string) (source string, readonly, ok bool) {
	if !strings.Contains(text, "=") || strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".") {
		source, rest, found := strings.Cut(text, ":")
		if !found {
			return "", false, true
		}
		if at := strings.LastIndexByte(rest, ':'); at >= 0 {
			readonly = slices.Contains(strings.Split(rest[at+1:], ","), "ro")
		}
		return source, readonly, true
	}
	for part := range strings.SplitSeq(text, ",") {
		switch name, value, _ := strings.Cut(part, "="); name {
		case "source", "src":
			source = value
		case "readonly", "ro":
			readonly = value == "" || value == "true" || value == "1"
		case "type", "target", "dst", "destination", "consistency", "bind-propagation":
		default:
			return "", false, false
		}
	}
	return source, readonly, true
}
