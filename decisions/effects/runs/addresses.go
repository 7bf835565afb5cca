package runs

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/wordset"
)

// gettingSchemes are those under which a program that is told an address only
// asks for something. Under any other one, what the address spells may be sent
// in whatever form the scheme has.
var gettingSchemes = wordset.Of("", "http", "https", "git", "oci", "docker", "svn")

// guessedSchemes are the protocols that curl takes for meant when an address has
// none and its host begins with that name and a dot (CURLOPT_URL).
var guessedSchemes = []string{"ftp", "dict", "ldap", "imap", "smtp", "pop3"}

// guessScheme writes the scheme that curl guesses in front of an address.
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

// isURLPattern reports whether curl expands braces or brackets of an address
// itself. The brackets of an IPv6 address are none.
func isURLPattern(url string) bool {
	if scheme, rest, ok := strings.Cut(url, "://["); ok && !strings.ContainsAny(scheme, "{}[]") {
		if _, behind, ok := strings.Cut(rest, "]"); ok {
			url = behind
		}
	}
	return strings.ContainsAny(url, "{}[]")
}

// readsFileURL adds the read of a file URL that a program is told, as curl reads
// it: the scheme in any case, this machine by name or address, escapes decoded,
// query and fragment left out. Where it would not be read, it is unknown.
func (v *invocation) readsFileURL(i int, url string) {
	p, why := programFileURL(url)
	if why != "" {
		v.unknown(i, why)
		return
	}
	// curl takes dots out of the path before it opens it; others do not.
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
