package cli

import (
	"strings"
	"unicode"
	"unicode/utf8"

	eastasian "golang.org/x/text/width"
)

// Cells returns how many columns of a terminal text takes: letters of East Asian scripts
// and most pictures take two, marks that are put on the letter before them none, and
// neither do sequences that set colours. It is an estimate: terminals differ.
func Cells(s string) int {
	n := 0
	for len(s) > 0 {
		if rest, ok := afterColour(s); ok {
			s = rest
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		n += cellsOf(r)
		s = s[size:]
	}
	return n
}

// afterColour returns what follows a sequence that sets a colour, as Paint writes it.
func afterColour(s string) (rest string, ok bool) {
	if !strings.HasPrefix(s, "\x1b[") {
		return s, false
	}
	end := strings.IndexFunc(s[2:], func(r rune) bool { return (r < '0' || r > '9') && r != ';' })
	if end < 0 || s[2+end] != 'm' {
		return s, false
	}
	return s[2+end+1:], true
}

func cellsOf(r rune) int {
	switch {
	case r < 0x300: // most of what is printed
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch eastasian.LookupRune(r).Kind() {
	case eastasian.EastAsianWide, eastasian.EastAsianFullwidth:
		return 2
	case eastasian.Neutral, eastasian.EastAsianAmbiguous, eastasian.EastAsianNarrow, eastasian.EastAsianHalfwidth:
	}
	return 1
}

// ClipEnd shortens text to at most so many columns.
func ClipEnd(s string, most int) string {
	if Cells(s) <= most {
		return s
	}
	n := 0
	for i, r := range s {
		if n += cellsOf(r); n >= most {
			return s[:i] + "…"
		}
	}
	return s
}

// clipFront shortens text to at most so many columns and keeps its end.
func clipFront(s string, most int) string {
	if Cells(s) <= most {
		return s
	}
	n, runes := 0, []rune(s)
	for i := len(runes) - 1; i >= 0; i-- {
		if n += cellsOf(runes[i]); n >= most {
			return "…" + string(runes[i+1:])
		}
	}
	return s
}
