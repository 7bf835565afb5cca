package pattern

import (
	"slices"
	"strings"
)

// UnknownVersion is the normal form of a version that cannot be parsed. Denies and asks take
// it for any version.
const UnknownVersion = "?"

// normalVersion returns a tool's version, folded by FoldTool, as x.y.z: 2, v2 and 2.0.0+b are
// 2.0.0. A pre-release is a version of its own: 2-rc is 2.0.0-rc. It returns UnknownVersion
// for what cannot be read.
func normalVersion(version string) string {
	text, _, _ := strings.Cut(trimVersion(version), "+")
	text = strings.TrimRight(text, versionSpace)
	numbers, pre, isPre := strings.Cut(text, "-")
	parts := strings.Split(numbers, ".")
	if len(parts) > 3 || isPre && (pre == "" || strings.Trim(pre, "0123456789abcdefghijklmnopqrstuvwxyz.-") != "") {
		return UnknownVersion
	}
	for i, p := range parts {
		if p == "" || strings.Trim(p, "0123456789") != "" {
			return UnknownVersion
		}
		if parts[i] = strings.TrimLeft(p, "0"); parts[i] == "" {
			parts[i] = "0"
		}
	}
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	text = strings.Join(parts, ".")
	if isPre {
		text += "-" + pre
	}
	return text
}

// NormalVersions returns a line's versions for comparison with what normalVersion returns.
func NormalVersions(g Glob) Glob {
	if text, ok := g.Literal(); ok {
		return Glob{normalVersion(text)}
	}
	first := trimVersion(g[0])
	if first == g[0] {
		return g
	}
	g = slices.Clone(g)
	g[0] = first
	return g
}

// What may stand before the numbers of a version, and around it.
const (
	versionMarks = "=v" + versionSpace
	versionSpace = " \t\n\r\f"
)

func trimVersion(s string) string { return strings.TrimLeft(s, versionMarks) }

// VersionRegexp is a regular expression for the versions that normalVersion can read, whose
// groups are the numbers without leading zeros and the pre-release with its hyphen.
const VersionRegexp = `^[=v \t\n\r\f]*0*([0-9]+)(?:\.0*([0-9]+))?(?:\.0*([0-9]+))?(-[0-9a-z.-]+)?[ \t\n\r\f]*(?:\+(?s:.*))?$`
