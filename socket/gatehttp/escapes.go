package gatehttp

import (
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxEscapes is how often a text is escaped at most to be read: JSON in a text of JSON, in a
// page of HTML. Each time takes a pass over the text.
const maxEscapes = 3

// minPacked is the length of a form, in bytes, from which on it is recognised with other
// characters between its own: a shorter one would be found in any text.
const minPacked = 8

// Bounds of what is read at a time of a long text.
const (
	minWindow  = 256 << 10 // bytes
	minOverlap = 64 << 10  // bytes that two of them share
	// spread is how many bytes may stand for one of a form: three times escaped it takes 216.
	spread = 256
)

// forms are the forms in which secrets are recognised, in small letters.
type forms struct {
	all         [][]byte
	long        [][]byte // those that may have line breaks
	hex, base64 [][]byte // those that may have separators
	longest     int      // bytes of the longest form
	buf         []byte   // for readings
}

// overlap returns how many bytes of a window are in the next one, too.
func (f *forms) overlap() int { return max(minOverlap, spread*f.longest) }

// window returns how many bytes are read at a time.
func (f *forms) window() int { return max(minWindow, 4*f.overlap()) }

// read calls use with each reading of a text, in small letters, and the forms that may be in
// it, until use returns false: the text as it is, without its line breaks, without its escapes,
// and without what stands
// between the digits of hexadecimal and the characters of base64. use must not keep a reading.
func (f *forms) read(text string, use func(reading []byte, forms [][]byte) bool) {
	if !f.readLines(text, use) {
		return
	}
	for range maxEscapes {
		plain := unescape(text)
		if plain == text {
			break
		}
		text = plain
		if !f.readLines(text, use) {
			return
		}
	}
	if f.buf = appendHex(f.buf[:0], text); len(f.hex) > 0 && len(f.buf) < len(text) && !use(f.buf, f.hex) {
		return
	}
	if f.buf = appendBase64(f.buf[:0], text); len(f.buf) < len(text) {
		use(f.buf, f.base64)
	}
}

// readLines calls use with a text, and with its lines as one.
func (f *forms) readLines(text string, use func([]byte, [][]byte) bool) bool {
	if !use(f.small(text), f.all) {
		return false
	}
	if !strings.ContainsAny(text, "\r\n") || len(f.long) == 0 {
		return true
	}
	f.small(text) // use may have called for another reading
	f.buf = withoutBreaks(f.buf)
	return use(f.buf, f.long)
}

// withoutBreaks removes the line breaks of a text, with the blanks around them. The text is
// overwritten.
func withoutBreaks(s []byte) []byte {
	b := s[:0]
	for i := 0; i < len(s); {
		n, breaks := i, false
		for n < len(s) && (s[n] == ' ' || s[n] == '\t' || s[n] == '\r' || s[n] == '\n') {
			breaks = breaks || s[n] == '\r' || s[n] == '\n'
			n++
		}
		if !breaks {
			n = min(n+1, len(s)) // the blanks, if there are any, and a character
			b = append(b, s[i:n]...)
		}
		i = n
	}
	return b
}

// small returns a text in small letters, without the beginning of a character at its end.
func (f *forms) small(s string) []byte {
	for i := len(s) - 1; i >= max(0, len(s)-utf8.UTFMax); i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				s = s[:i]
			}
			break
		}
	}
	f.buf = slices.Grow(f.buf[:0], len(s))
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			f.buf = append(f.buf[:0], strings.ToLower(s)...)
			break
		}
		f.buf = append(f.buf, lower(s[i]))
	}
	return f.buf
}

// unescape takes back one time of escaping: of texts in JSON, in HTML and in percent-encoding.
// What is no escape stays as it is.
func unescape(s string) string {
	s = unescapeText(s)
	if strings.IndexByte(s, '&') >= 0 {
		s = strings.ReplaceAll(html.UnescapeString(s), "\u2010", "-") // &hyphen; and &dash;
	}
	return unescapePercent(s)
}

// unescapePercent decodes what is percent-encoded.
func unescapePercent(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i:]
		if len(s) >= 3 && isHex(s[1]) && isHex(s[2]) {
			c, _ := code(s, "%", 2)
			b.WriteByte(byte(c))
			s = s[3:]
			continue
		}
		b.WriteByte('%')
		s = s[1:]
	}
}

// unescapeText decodes escapes with a backslash: those of JSON, \x with two digits, \U with
// eight, \u{ } with any number, a line break, and any other character that is no letter or digit.
func unescapeText(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i == len(s)-1 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i:]
		switch c := s[1]; {
		case c == 'u' || c == 'U' || c == 'x':
			s = unescapeCode(&b, s)
			continue
		case c == 'n' || c == 'r':
			b.WriteByte('\n')
		case c == 'b' || c == 'f' || c == 't':
			b.WriteByte(' ')
		case c == '\n' || c == '\r':
		case c > ' ' && c < utf8.RuneSelf && !isAlphanumeric(c):
			b.WriteByte(c)
		default:
			b.WriteString(s[:2])
		}
		s = s[2:]
	}
}

// unescapeCode decodes the \u, \U or \x at the beginning of s, and returns what follows.
func unescapeCode(b *strings.Builder, s string) string {
	if s[1] == 'x' {
		if c, ok := code(s, `\x`, 2); ok {
			b.WriteByte(byte(c))
			return s[4:]
		}
	} else if c, ok := code(s, `\U`, 8); ok {
		b.WriteRune(c)
		return s[10:]
	} else if end := strings.IndexByte(s[:min(len(s), maxBraces)], '}'); end > 3 && s[2] == '{' {
		if c, ok := code(s, `\u{`, end-3); ok {
			b.WriteRune(c)
			return s[end+1:]
		}
	} else if c, ok := code(s, `\u`, 4); ok {
		s = s[6:]
		if low, ok := code(s, `\u`, 4); ok && utf16.IsSurrogate(c) {
			if both := utf16.DecodeRune(c, low); both != utf8.RuneError {
				b.WriteRune(both)
				return s[6:]
			}
		}
		b.WriteRune(c)
		return s
	}
	b.WriteString(s[:2])
	return s[2:]
}

// maxBraces is the length of the longest \u{ }, in bytes.
const maxBraces = 16

// code reads what a text begins with: the prefix and a number of hexadecimal digits.
func code(s, prefix string, digits int) (rune, bool) {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok || len(rest) < digits {
		return 0, false
	}
	n, err := strconv.ParseUint(rest[:digits], 16, 31)
	return rune(n), err == nil
}

// appendHex appends the letters and digits of a text, without any 0x before digits.
func appendHex(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '0' && i+2 < len(s) && s[i+1]|0x20 == 'x' && isHex(s[i+2]):
			i++
		case isAlphanumeric(c):
			b = append(b, lower(c))
		}
	}
	return b
}

// appendBase64 appends the characters of a text that are of the alphabets of base64.
func appendBase64(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; isAlphanumeric(c) || c == '+' || c == '/' || c == '-' || c == '_' {
			b = append(b, lower(c))
		}
	}
	return b
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= lower(c) && lower(c) <= 'f'
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= lower(c) && lower(c) <= 'z'
}
