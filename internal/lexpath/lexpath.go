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

// StaysWithin reports whether a word of a command names nothing outside of the working folder and
// nothing hidden, by its letters alone: each part of it that may be a path (the value in -oVALUE,
// --o=VALUE or a:b, a word of shell text) is relative, without "..", a home or a variable, and has no
// hidden name but for those that are known to be plain. The host and path of an address of the web
// are no path. Links are not seen.
func StaysWithin(word string) bool {
	word, ok := withoutAddresses(word)
	if !ok || strings.ContainsFunc(word, func(c rune) bool { return c < ' ' && c != '\t' && c != '\n' || c == 0x7f }) {
		return false
	}
	for i := 0; i < len(word); i++ {
		rest := word[i+1:]
		switch word[i] {
		case '.': // a pattern of hidden names
			if (i == 0 || word[i-1] == '/' || !nameByte(word[i-1])) && rest != "" && strings.IndexByte("*?[{", rest[0]) >= 0 {
				return false
			}
		case '$': // but for the end of a regular expression
			if rest != "" && !strings.ContainsAny(rest[:1], "|)'\"/") {
				return false
			}
		case '~': // but for HEAD~1
			if i == 0 || !nameByte(word[i-1]) {
				return false
			}
		case '%': // an encoded letter
			if len(rest) >= 2 && isHex(rest[0]) && isHex(rest[1]) {
				return false
			}
		}
	}
	// Where the letters of options end and a value begins is not known.
	for piece := range strings.FieldsFuncSeq(word, func(c rune) bool { return c < utf8.RuneSelf && !nameByte(byte(c)) }) {
		if option := strings.TrimLeft(piece, "-+"); option != piece {
			at, long := strings.IndexAny(option, "./"), strings.HasPrefix(piece, "--")
			switch {
			case at < 0:
			case option[at] == '/', !long && option[0] != 'D' && !namesWithin(option[at:]):
				return false
			case !long && option[0] == 'D': // a definition, -Da.b=c
				option = option[1:]
			}
			piece = option
		}
		if strings.HasPrefix(piece, "/") && piece != "/dev/null" || !namesWithin(piece) {
			return false
		}
	}
	return true
}

// nameByte reports whether a byte of ASCII is one of those that names of files, options and packages
// usually have; others separate.
func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-' || c == '/' || c == '+'
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// withoutAddresses returns a word with a comma in the place of each address of the web, up to a
// byte that no address needs. ok is false if what comes before one is not separated from it.
func withoutAddresses(word string) (string, bool) {
	for _, scheme := range []string{"https://", "http://"} {
		for at := strings.Index(word, scheme); at >= 0; at = strings.Index(word, scheme) {
			if at > 0 && nameByte(word[at-1]) {
				return "", false // another scheme, or none
			}
			end := at + len(scheme)
			for end < len(word) && (nameByte(word[end]) || strings.IndexByte(":?#=%", word[end]) >= 0) {
				end++
			}
			word = word[:at] + "," + word[end:]
		}
	}
	return word, true
}

// namesWithin reports whether a relative path leads nowhere upwards and to no hidden name, but for
// "..." (Go's for all packages) and those that are known to be plain.
func namesWithin(p string) bool {
	for name := range strings.SplitSeq(p, "/") {
		if !strings.HasPrefix(name, ".") || name == "." || name == "..." {
			continue
		}
		first, _, _ := strings.Cut(name[1:], ".")
		_, plain := plainHidden[first]
		if number := first != "" && strings.Trim(first, "0123456789") == ""; !plain && !number {
			return false
		}
	}
	return true
}

// plainHidden are hidden names, up to a second dot, that hold no secret, and change neither what
// starts by itself nor how an agent works: suffixes of files (--ext .ts), settings of formatters and
// linters, and folders of tools.
var plainHidden = func() map[string]struct{} {
	set := map[string]struct{}{}
	for name := range strings.FieldsSeq(`c cc cjs cpp css cts cxx go h hpp htm html java js json jsx kt less md mjs mts php
		proto py pyi rb rs sass scss sql svelte swift toml ts tsx txt vue xml yaml yml
		babelrc c8rc clang-format clang-tidy coveragerc editorconfig eslintignore eslintrc flake8 golangci isort markdownlint mocharc nycrc
		prettierignore prettierrc pylintrc rubocop rustfmt stylelintrc swcrc yamllint
		bin build cache eslintcache next nox nuxt output pytest_cache ruff_cache mypy_cache tox venv`) {
		set[name] = struct{}{}
	}
	return set
}()

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
