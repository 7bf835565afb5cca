package runs

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/wordset"
)

// requestSchemes are the schemes with which a program only requests something. With
// any other, parts of the address may be sent to the host.
var requestSchemes = wordset.Of("", "http", "https", "git", "oci", "docker", "svn")

// guessedSchemes are the protocols that curl assumes for an address without a scheme
// whose host begins with that name and a dot (CURLOPT_URL).
var guessedSchemes = []string{"ftp", "dict", "ldap", "imap", "smtp", "pop3"}

// guessScheme prepends the scheme that curl would guess.
func guessScheme(url string) string {
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

// isURLPattern reports whether curl itself expands braces or brackets of an address.
// The brackets of an IPv6 address do not count.
func isURLPattern(url string) bool {
	if scheme, rest, ok := strings.Cut(url, "://["); ok && !strings.ContainsAny(scheme, "{}[]") {
		if _, behind, ok := strings.Cut(rest, "]"); ok {
			url = behind
		}
	}
	return strings.ContainsAny(url, "{}[]")
}

// readsFileURL adds the read of a file URL, as curl interprets it: the scheme in any
// case, this machine by name or address, escapes decoded, query and fragment removed.
// Any other file URL is an unknown effect.
func (v *invocation) readsFileURL(i int, url string) {
	p, why := programFileURL(url)
	if why != "" {
		v.unknown(i, why)
		return
	}
	// curl removes dot segments from the path before it opens it; others do not.
	e := v.b.CheckLinks(v.b.Paths.Effect(effects.KindRead, paths.Request{AsWritten: p, Path: p, Cwd: v.run.Cwd, Follow: true, Both: true}, paths.BadPath(p), v.at.From))
	v.b.Add(v.via(i, e))
}

func programFileURL(url string) (p, why string) {
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
	p, ok := paths.PercentDecode(p)
	if !ok {
		return "", "file URL with a broken percent sign"
	}
	return p, ""
}
