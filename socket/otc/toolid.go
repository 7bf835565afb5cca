package otc

import (
	"cmp"
	"strings"

	"github.com/permd/permd/socket"
)

// toolID is the name of a tool in a call.
type toolID struct {
	toolkit, name string
	version       string // x.y.z, "" for the latest one
}

// parseToolID reads Toolkit.Tool[@x|x.y.z], where x, y and z are integers. Each version has
// one form, so that no rule about it can be evaded: x is x.0.0, and 01 is 1.
func parseToolID(s string) (id toolID, ok bool) {
	if len(s) > socket.MaxName {
		return id, false
	}
	rest, version, versioned := strings.Cut(s, "@")
	if id.toolkit, id.name, ok = strings.Cut(rest, "."); !ok || !isWord(id.toolkit) || !isWord(id.name) {
		return toolID{}, false
	}
	if !versioned {
		return id, true
	}
	if id.version, ok = parseVersion(version); !ok {
		return toolID{}, false
	}
	return id, true
}

// ParseTool reads Toolkit.Tool[@x|x.y.z] as otc/call does. The version is x.y.z, "" for the
// latest one.
func ParseTool(s string) (toolkit, name, version string, ok bool) {
	id, ok := parseToolID(s)
	return id.toolkit, id.name, id.version, ok
}

// parseVersion reads x or x.y.z.
func parseVersion(s string) (string, bool) {
	parts := strings.Split(s, ".")
	for i, p := range parts {
		if p == "" || strings.Trim(p, "0123456789") != "" {
			return "", false
		}
		parts[i] = cmp.Or(strings.TrimLeft(p, "0"), "0")
	}
	if len(parts) == 1 {
		return parts[0] + ".0.0", true
	}
	return strings.Join(parts, "."), len(parts) == 3
}

// isWord reports whether a text is letters, digits and underscores of ASCII.
func isWord(s string) bool {
	for _, c := range []byte(s) {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return s != ""
}
