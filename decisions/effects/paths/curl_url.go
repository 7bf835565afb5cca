package paths

import (
	"slices"
	"strconv"
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

// Bounds of the patterns of addresses that are expanded.
const (
	maxURLs       = 256  // parts of a pattern that are looked at
	maxURLPattern = 2048 // bytes
)

// MayConnect adds the place that a program may connect to, for denies. To an address with braces
// or brackets these are all places that it means to curl.
func (r *Resolver) MayConnect(pattern, method, from string) {
	var x urlExpansion
	if len(pattern) > maxURLPattern || !x.expand("", pattern) {
		r.TooManyHosts = true
	}
	if !slices.Contains(x.urls, pattern) {
		x.urls = append(x.urls, pattern)
	}
	for _, url := range x.urls {
		a, _ := parseAddress(GuessScheme(url))
		r.mayReach(&a, method, from)
	}
}

// urlExpansion collects the addresses that a pattern stands for, each up to its path.
type urlExpansion struct {
	urls  []string
	parts int // that were looked at
}

// expand adds what head and a pattern behind it stand for (curl(1), URL). It returns false if
// that is too much.
func (x *urlExpansion) expand(head, rest string) bool {
	if x.parts++; x.parts > maxURLs {
		return false
	}
	for rest != "" {
		_, authority, ok := strings.Cut(head, "://")
		if ok && authorityEnd(authority) < len(authority) {
			break // its host is known
		}
		end := -1
		switch rest[0] {
		case '{':
			end = strings.IndexByte(rest, '}')
		case '[':
			end = strings.IndexByte(rest, ']')
		case '\\':
			rest = rest[1:]
			if rest == "" {
				continue
			}
		}
		if end < 0 {
			head, rest = head+rest[:1], rest[1:]
			continue
		}
		parts := strings.Split(rest[1:end], ",")
		if rest[0] == '[' {
			if parts, ok = urlRange(rest[1:end]); !ok {
				return false
			}
		}
		for _, part := range parts {
			if !x.expand(head+part, rest[end+1:]) {
				return false
			}
		}
		return true
	}
	if !slices.Contains(x.urls, head) {
		x.urls = append(x.urls, head)
	}
	return true
}

// urlRange returns what a range such as a-z, 01-10 or 1-9:2 stands for, and the text itself
// if it is none, as the address of an interface is; ok is false if it is too much.
func urlRange(text string) (parts []string, ok bool) {
	span, by, _ := strings.Cut(text, ":")
	from, to, isRange := strings.Cut(span, "-")
	step := max(1, number(by))
	first, last := number(from), number(to)
	letters := len(from) == 1 && len(to) == 1 && first < 0
	if letters {
		first, last = int(from[0]), int(to[0])
	}
	if !isRange || first < 0 || last < 0 || strings.Contains(by, ":") {
		return []string{"[" + text + "]"}, true
	}
	for i := first; i <= last; i += step {
		if len(parts) > maxURLs {
			return nil, false
		}
		part := string(rune(i))
		if !letters {
			part = strconv.Itoa(i)
			part = strings.Repeat("0", max(0, len(from)-len(part))) + part
		}
		parts = append(parts, part)
	}
	return parts, true
}

// number returns a number of digits, -1 for any other text.
func number(text string) int {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return -1
	}
	return int(n)
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
