package paths

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/permd/permd/internal/chars"
)

// BadPath returns why a path as written is rejected, "" if it is not.
func BadPath(p string) string {
	if p == "" {
		return "empty path"
	}
	if len(p) > MaxPath {
		return "path is too long"
	}
	ascii := true
	for i := range len(p) {
		switch c := p[i]; {
		case c < ' ' || c == 0x7f:
			return "path holds a control character"
		case c == '\\':
			return "path holds a backslash"
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	if ascii {
		return ""
	}
	if !utf8.ValidString(p) {
		return "path is not valid UTF-8"
	}
	for _, c := range p {
		if unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) || c == '\u2028' || c == '\u2029' {
			return "path holds a control character"
		}
	}
	return ""
}

// parseWritten parses a path as a file tool gets it. It returns the path with a leading ~
// or variable replaced, either absolute or relative to the working folder.
func (r *Resolver) parseWritten(given, cwd string) (p, why string) {
	if why := BadPath(given); why != "" {
		return "", why
	}
	if strings.TrimSpace(given) != given {
		// Some tools trim it: ".env " is .env to them.
		return "", "path begins or ends with a blank"
	}
	if len(given) >= 5 && strings.EqualFold(given[:5], "file:") {
		return fileURL(given)
	}
	if i := strings.IndexByte(given, ':'); i > 0 {
		if isScheme(given[:i]) && strings.HasPrefix(given[i:], "://") {
			return "", "an address where a path is expected"
		}
		if i == 1 && chars.IsLetter(given[0]) { // C:/x and C:x
			return "", "path is in the form of another system"
		}
	}
	if strings.HasPrefix(given, "//") && !strings.HasPrefix(given, "///") && len(given) > 2 {
		// //host/share is on another machine on some systems. POSIX leaves its
		// meaning to the implementation.
		return "", "path may name another machine"
	}
	if encodedDots(given) {
		return "", "path holds percent-encoded dots or slashes"
	}
	switch given[0] {
	case '~':
		head, tail, _ := strings.Cut(given, "/")
		if head != "~" {
			return "", "path names a home that is not known"
		}
		return r.joinPrefix(r.home(), head, tail, cwd)
	case '$':
		name, tail, ok := variable(given)
		if !ok {
			return "", "path begins with a variable that is not known"
		}
		value := r.variable(name, cwd)
		if value == "" {
			return "", "path begins with a variable that is not known"
		}
		head, _, _ := strings.Cut(given, "/")
		return r.joinPrefix(value, head, tail, cwd)
	}
	if strings.Contains(given, "${") || strings.Contains(given, "$(") || strings.IndexByte(given, '`') >= 0 {
		return "", "path holds a variable or a substitution"
	}
	return given, ""
}

// joinPrefix joins the value of a leading ~ or variable and the rest. Some tools take
// such a path literally: if something of that literal name exists, the path is
// ambiguous.
func (r *Resolver) joinPrefix(value, head, tail, cwd string) (p, why string) {
	if !path.IsAbs(value) {
		return "", "path names a home that is not known"
	}
	if why := BadPath(value); why != "" {
		return "", why
	}
	if strings.Contains(tail, "${") || strings.Contains(tail, "$(") || strings.IndexByte(tail, '`') >= 0 {
		return "", "path holds a variable or a substitution"
	}
	if path.IsAbs(cwd) {
		if base, why := r.base(cwd); why != "" {
			return "", why
		} else if at, why := r.Walk(base, head, false); why != "" || !at.Missing {
			return "", "a file of that very name exists, so the path has two meanings"
		}
	}
	return value + "/" + tail, ""
}

// variable splits "$NAME/rest" and "${NAME}/rest".
func variable(s string) (name, tail string, ok bool) {
	head, tail, _ := strings.Cut(s, "/")
	name = head[1:]
	if strings.HasPrefix(name, "{") {
		if !strings.HasSuffix(name, "}") {
			return "", "", false
		}
		name = name[1 : len(name)-1]
	}
	return name, tail, name != ""
}

// variable returns the value of a variable at the beginning of a path, "" if it is not
// known. The defaults are those of the XDG Base Directory Specification 0.8;
// XDG_RUNTIME_DIR and TMPDIR have none.
func (r *Resolver) variable(name, cwd string) string {
	fallback := ""
	switch name {
	case "PWD":
		return cwd
	case "HOME":
		return r.home()
	case "XDG_CONFIG_HOME":
		fallback = ".config"
	case "XDG_DATA_HOME":
		fallback = ".local/share"
	case "XDG_STATE_HOME":
		fallback = ".local/state"
	case "XDG_CACHE_HOME":
		fallback = ".cache"
	case "XDG_RUNTIME_DIR", "TMPDIR":
	default:
		return ""
	}
	// The specification says that programs must ignore a relative value; not all
	// do.
	if v, ok := r.c.User.Env[name]; ok && v != "" {
		if path.IsAbs(v) {
			return v
		}
		return ""
	}
	if fallback == "" || r.home() == "" {
		return ""
	}
	return r.home() + "/" + fallback
}

// home returns the value of ~: $HOME if it is known, as in a shell.
func (r *Resolver) home() string {
	if h := r.c.User.Env["HOME"]; path.IsAbs(h) {
		return h
	}
	if path.IsAbs(r.c.User.Home) {
		return r.c.User.Home
	}
	return ""
}

// fileURL returns the path of a file URL. Some tools only cut off the scheme and
// others decode the rest: a URL that the two read differently is rejected.
func fileURL(given string) (p, why string) {
	if why := BadPath(given); why != "" {
		return "", why
	}
	p = given[len("file:"):]
	if rest, ok := strings.CutPrefix(p, "//"); ok {
		host, _, _ := strings.Cut(rest, "/")
		if host != "" && !strings.EqualFold(host, "localhost") {
			return "", "file URL names another machine"
		}
		p = rest[len(host):]
	}
	if !strings.HasPrefix(p, "/") || strings.HasPrefix(p, "//") {
		return "", "file URL without an absolute path"
	}
	if strings.ContainsAny(p, "?#") {
		return "", "file URL with a query or fragment"
	}
	if len(p) > 2 && p[2] == ':' && chars.IsLetter(p[1]) {
		return "", "path is in the form of another system"
	}
	if encodedDots(p) {
		return "", "path holds percent-encoded dots or slashes"
	}
	p, ok := DecodePercent(p)
	if !ok {
		return "", "file URL with a broken percent sign"
	}
	return p, BadPath(p)
}

// encodedDots reports whether percent sequences of s encode a dot, a slash, a
// backslash, a percent sign or a control character. A tool that decodes them opens
// another path than one that does not.
func encodedDots(s string) bool {
	for i := strings.IndexByte(s, '%'); i >= 0 && i+2 < len(s); {
		switch hi, lo := unhex(s[i+1]), unhex(s[i+2]); {
		case hi < 0 || lo < 0:
		case hi < 2, hi == 7 && lo == 15:
			return true
		default:
			switch hi<<4 | lo {
			case '.', '/', '\\', '%':
				return true
			}
		}
		n := strings.IndexByte(s[i+1:], '%')
		if n < 0 {
			return false
		}
		i += 1 + n
	}
	return false
}

// DecodePercent returns text with its percent-encoded bytes decoded, false if there is a
// percent sign that begins none.
func DecodePercent(s string) (string, bool) {
	if strings.IndexByte(s, '%') < 0 {
		return s, true
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			out = append(out, s[i])
			continue
		}
		if i+2 >= len(s) || unhex(s[i+1]) < 0 || unhex(s[i+2]) < 0 {
			return "", false
		}
		out = append(out, byte(unhex(s[i+1])<<4|unhex(s[i+2])))
		i += 2
	}
	return string(out), true
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// isScheme reports whether s has the form of a URL's scheme (RFC 3986, 3.1).
func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		inner := '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'
		if !chars.IsLetter(c) && (i == 0 || !inner) {
			return false
		}
	}
	return s != ""
}
