// Package lexpath compares paths as they are written, without a file system.
// Paths are absolute, with slashes, and cleaned, unless a function says otherwise.
// They are compared letter by letter, as are ids of rules and names of layers, which
// callers compare by In and Shorten, too.
package lexpath

import (
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/permd/permd/internal/chars"
)

// In reports whether p is the folder dir or below it.
func In(dir, p string) bool {
	return strings.HasPrefix(p, dir) && (len(p) == len(dir) || dir == "/" || p[len(dir)] == '/')
}

// Below reports whether p is below the folder dir.
func Below(dir, p string) bool { return len(p) > len(dir) && In(dir, p) }

// Rel returns the path of p relative to dir, "." for dir itself. ok is false if p is not
// in dir.
func Rel(dir, p string) (rel string, ok bool) {
	switch {
	case !In(dir, p):
		return "", false
	case len(p) == len(dir):
		return ".", true
	}
	return strings.TrimPrefix(p[len(dir):], "/"), true
}

// RelBelow returns the path of p relative to dir. ok is false if p is not below dir, or
// if dir is "".
func RelBelow(dir, p string) (rel string, ok bool) {
	if dir == "" || !Below(dir, p) {
		return "", false
	}
	return Rel(dir, p)
}

// Within reports whether a word of a command, and each value in it (-oVALUE, --o=VALUE, a:b), is as
// a path certainly below the working folder by its letters: relative, without "..", a home or a
// variable, and without a hidden name, such as .env or .git/config. Go's "..." is no such name, and
// an address of the web no path.
func Within(word string) bool {
	for _, scheme := range []string{"https://", "http://"} {
		for at := strings.Index(word, scheme); at >= 0; at = strings.Index(word, scheme) {
			end := strings.IndexAny(word[at:], ",;'\"`\\ \t\n")
			if end < 0 {
				end = len(word) - at
			}
			if at > 0 && !strings.ContainsAny(word[at-1:at], "=:,;@'\" ") {
				return false // another scheme, or none
			}
			word = word[:at] + "," + word[at+end:]
		}
	}
	for _, piece := range strings.FieldsFunc(word, func(c rune) bool { return strings.ContainsRune("=:,;@'\"`\\ \t\n", c) }) {
		if strings.ContainsAny(piece, "~$") || strings.HasPrefix(piece, "/") {
			return false
		}
		if option, ok := strings.CutPrefix(piece, "-"); ok {
			// The letters of options, and then a path without a space: -f/etc/x, -xf.env.
			letters := strings.IndexFunc(option, func(c rune) bool { return c != '-' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') })
			if letters >= 0 && (option[letters] == '/' || letters < 4 && option[letters] == '.') {
				return false
			}
			piece = option
		}
		for name := range strings.SplitSeq(piece, "/") {
			if strings.HasPrefix(name, ".") && name != "." && name != "..." {
				return false
			}
		}
	}
	return true
}

// Shorten returns the path of p relative to the folder dir if it is below it,
// and p otherwise.
func Shorten(dir, p string) string {
	if rel, ok := RelBelow(dir, p); ok {
		return rel
	}
	return p
}

// Abs returns p cleaned. A relative p is relative to dir.
func Abs(dir, p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(dir, p)
}

// Fold converts a path to the form in which names are compared with tables:
// without case, composed (NFC), and without the characters that some file
// systems ignore. For a case-sensitive file system it treats some different
// paths as equal.
func Fold(s string) string {
	upper := false
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf {
			return foldUnicode(s)
		}
		upper = upper || 'A' <= c && c <= 'Z'
	}
	if upper {
		return strings.ToLower(s)
	}
	return s
}

func foldUnicode(s string) string {
	s = strings.Map(func(c rune) rune {
		if chars.Invisible(c) {
			return -1
		}
		return c
	}, norm.NFC.String(s))
	return norm.NFC.String(cases.Fold().String(s))
}

// Star reports whether a pattern matches the whole of s. * matches any number of
// characters.
func Star(pattern, s string) bool {
	head, rest, any := strings.Cut(pattern, "*")
	if !any {
		return pattern == s
	}
	if !strings.HasPrefix(s, head) {
		return false
	}
	s = s[len(head):]
	for {
		part, more, any := strings.Cut(rest, "*")
		if !any {
			return strings.HasSuffix(s, part)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], more
	}
}
