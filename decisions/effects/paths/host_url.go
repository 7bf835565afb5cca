package paths

import (
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/wordset"
)

// webSchemes are the schemes of HTTP and WebSocket.
var webSchemes = wordset.Of("http", "https", "ws", "wss")

// sendSchemes are the schemes with which a program sends data from the address, or
// opens a connection in both directions: connecting is never a plain GET.
var sendSchemes = wordset.Of("gopher", "dict", "telnet", "tcp", "udp", "tls", "ws", "wss", "smtp", "smtps", "ldap", "ldaps", "redis", "rediss", "mqtt", "mqtts")

// url returns the normal form of the address, which rules compare. A rule that allows
// https://h/public/ must match one place only: scheme and host are lower case; the
// scheme's default port, the fragment (which is never sent) and, for the web, user
// information are removed; the path begins with a slash, has no empty segments and no
// unnecessary escapes. If programs or servers would still disagree about the place,
// why tells so.
func (a *address) url() (url, why string) {
	web := webSchemes.Has(a.scheme)
	written := strings.Contains(a.asWritten, "://")
	if a.scheme != "" && !written { // the forms of ssh and rsync
		if hasDotSegments(a.path) {
			return "", whyTwoPlaces
		}
		if a.user == "" || a.user == "git@" {
			return a.asWritten, ""
		}
		return a.asWritten[:a.userAt] + display.Masked + "@" + a.asWritten[a.userAt+len(a.user):], ""
	}
	var b strings.Builder
	if written {
		b.WriteString(a.scheme)
		b.WriteString("://")
	}
	switch {
	case a.user == "" || web:
	case a.user == "git@":
		b.WriteString(a.user)
	default:
		b.WriteString(display.Masked + "@")
	}
	if strings.Contains(a.host, ":") {
		b.WriteString("[" + a.host + "]")
	} else {
		b.WriteString(a.host)
	}
	if a.port != 0 && a.port != schemePorts[lastScheme(a.scheme)] {
		b.WriteString(":" + strconv.Itoa(a.port))
	}
	p, why := plainPath(a.path, web)
	b.WriteString(p)
	return b.String(), why
}

const whyTwoPlaces = "address with a path that programs read in two ways"

// plainPath returns the normal form of the part after the authority.
func plainPath(p string, web bool) (plain, why string) {
	p, _, _ = strings.Cut(p, "#")
	p, query, asked := strings.Cut(p, "?")
	if web && p == "" {
		p = "/"
	}
	if strings.ContainsAny(p, "%;") || strings.Contains(p, "//") || strings.Contains(p, "/.") || !ascii(p) {
		if p = plainEscapes(p); hasHiddenDotSegments(p) {
			return "", whyTwoPlaces
		}
		for strings.Contains(p, "//") {
			p = strings.ReplaceAll(p, "//", "/")
		}
	}
	if asked {
		p += "?" + query
	}
	return p, ""
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

const upperHex = "0123456789ABCDEF"

// plainEscapes removes unnecessary escapes, writes the others in upper case (RFC 3986,
// 6.2.2) and escapes non-ASCII characters.
func plainEscapes(p string) string {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		c, escaped := p[i], false
		if c == '%' && i+2 < len(p) && hexDigits(p[i+1:i+3]) {
			n, _ := strconv.ParseUint(p[i+1:i+3], 16, 8)
			c, escaped = byte(n), true
			i += 2
		}
		switch {
		case escaped && !unreserved(c), c >= 0x80:
			b.Write([]byte{'%', upperHex[c>>4], upperHex[c&15]})
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// maxEscapeLevels is how many nested escapes are decoded: a chain of servers may
// decode one level each.
const maxEscapeLevels = 4

// hasHiddenDotSegments reports whether a path has a .. segment to readers that decode
// its escapes once more (%2F, %252e), split at backslashes, or ignore the parameters
// of a segment (..;x).
func hasHiddenDotSegments(p string) bool {
	for range maxEscapeLevels {
		for segment := range strings.FieldsFuncSeq(p, isSlash) {
			name, _, _ := strings.Cut(segment, ";")
			if name == "." || name == ".." {
				return true
			}
		}
		next := decoded(p)
		if next == p {
			return false
		}
		p = next
	}
	return true // there is no legitimate use of so many levels
}

func isSlash(c rune) bool { return c == '/' || c == '\\' }

func decoded(p string) string {
	if strings.IndexByte(p, '%') < 0 {
		return p
	}
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] == '%' && i+2 < len(p) && hexDigits(p[i+1:i+3]) {
			n, _ := strconv.ParseUint(p[i+1:i+3], 16, 8)
			b.WriteByte(byte(n))
			i += 2
			continue
		}
		b.WriteByte(p[i])
	}
	return b.String()
}
