package paths

import (
	"strings"

	"github.com/permd/permd/internal/wordset"
)

// requestSchemes are the schemes of RequestsOnly.
var requestSchemes = wordset.Of("", "http", "https", "git", "oci", "docker", "svn")

// RequestsOnly reports whether a program only requests something from an address with
// that scheme. With any other, it may send parts of the address to the host.
func RequestsOnly(scheme string) bool { return requestSchemes.Has(scheme) }

// guessedSchemes are the protocols that curl assumes for an address without a scheme
// whose host begins with that name and a dot (CURLOPT_URL).
var guessedSchemes = []string{"ftp", "dict", "ldap", "imap", "smtp", "pop3"}

// GuessScheme prepends the scheme that curl would guess.
func GuessScheme(url string) string {
	if strings.Contains(url, "://") {
		return url
	}
	host := url[strings.LastIndexByte(url[:authorityEnd(url)], '@')+1:]
	for _, scheme := range guessedSchemes {
		if len(host) > len(scheme) && strings.EqualFold(host[:len(scheme)], scheme) && host[len(scheme)] == '.' {
			return scheme + "://" + url
		}
	}
	return url
}

func authorityEnd(url string) int {
	if i := strings.IndexAny(url, "/?#"); i >= 0 {
		return i
	}
	return len(url)
}

// IsURLPattern reports whether curl itself expands braces or brackets of an address.
// The brackets of an IPv6 address do not count.
func IsURLPattern(url string) bool {
	if scheme, rest, ok := strings.Cut(url, "://["); ok && !strings.ContainsAny(scheme, "{}[]") {
		if _, after, ok := strings.Cut(rest, "]"); ok {
			url = after
		}
	}
	return strings.ContainsAny(url, "{}[]")
}

// CurlFileURL returns the path of a file URL as curl interprets it: the scheme in any
// case, this machine by name or address, escapes decoded, query and fragment removed.
// why is the reason if it has none.
func CurlFileURL(url string) (p, why string) {
	p = url[len("file:"):]
	if rest, ok := strings.CutPrefix(p, "//"); ok {
		end := strings.IndexByte(rest, '/')
		if end < 0 {
			return "", "file URL without an absolute path"
		}
		switch strings.ToLower(rest[:end]) {
		case "", "localhost", "127.0.0.1":
		default:
			return "", "file URL names another machine"
		}
		p = rest[end:]
	}
	if !strings.HasPrefix(p, "/") || strings.Contains(p, "\\") {
		return "", "file URL without an absolute path"
	}
	if end := strings.IndexAny(p, "?#"); end >= 0 {
		p = p[:end]
	}
	p, ok := DecodePercent(p)
	if !ok {
		return "", "file URL with a broken percent sign"
	}
	return p, ""
}
