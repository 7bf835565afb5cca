package strictjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Most of a long message is the text of files, in a few strings. Searching for
// characters that a string must not contain is several times as fast as
// parsing, so in data above long bytes these strings are searched first, and
// only the rest is parsed.
const (
	longData = 4 << 10
	longText = 64
)

// shorten returns data with every string emptied that has more than least bytes
// and nothing in it that could make data invalid; false when that saves too
// little. Names stay, for two that differ must. What is returned is JSON exactly
// if data is.
func shorten(data []byte, least int) ([]byte, bool) {
	var short []byte
	rest, at := 0, 0 // what is not in short yet, what was not looked at yet
	for {
		open := bytes.IndexByte(data[at:], '"')
		if open < 0 {
			break
		}
		open += at
		end, plain := stringEnd(data, open)
		if end < 0 {
			break
		}
		if plain && end-open > least && !isName(data[end:]) {
			short = append(short, data[rest:open+1]...)
			rest = end - 1
		}
		at = end
		if len(short)+at-rest > len(data)/8 && at > longData {
			return nil, false
		}
	}
	return append(short, data[rest:]...), true
}

// isName reports whether the string before was a name.
func isName(after []byte) bool {
	for _, c := range after {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return c == ':'
	}
	return false
}

// stringEnd returns where the string ends that opens at a quote, after its
// other quote; -1 when it does not. Plain says that it is valid. One that is
// not plain may be valid all the same.
func stringEnd(data []byte, open int) (end int, plain bool) {
	i, high := open+1, uint64(0)
	plain = true
	for i < len(data) {
		if i+8 <= len(data) {
			word := binary.LittleEndian.Uint64(data[i:])
			high |= word
			stop := specialBytes(word)
			if stop == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(stop) / 8
		}
		switch c := data[i]; {
		case c == '"':
			if high&eachHigh != 0 && !utf8.Valid(data[open+1:i]) {
				plain = false
			}
			return i + 1, plain
		case c == '\\' && i+1 < len(data) && simpleEscapes[data[i+1]]:
			// They come in rows: the end of a line, and the next one's indent.
			for i += 2; i+1 < len(data) && data[i] == '\\' && simpleEscapes[data[i+1]]; {
				i += 2
			}
		case c == '\\':
			n, ok := escape(data[i+1:])
			plain = plain && ok
			i += 1 + n
		default:
			plain = plain && c >= ' '
			high |= uint64(c)
			i++
		}
	}
	return -1, false
}

const (
	eachOne  = 0x0101010101010101
	eachHigh = 0x80 * eachOne
)

// specialBytes marks bytes of a word at which a string is no longer plain text: quotes,
// backslashes and control characters. The lowest mark is right; above it, there
// may be others.
func specialBytes(word uint64) uint64 {
	quote, backslash := word^'"'*eachOne, word^'\\'*eachOne
	return ((quote-eachOne)&^quote | (backslash-eachOne)&^backslash | (word-' '*eachOne)&^word) & eachHigh
}

// simpleEscapes are the characters that make an escape with a backslash alone.
var simpleEscapes = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// escape looks at what follows a backslash, if it is no simple escape: its
// length, and whether it is valid by itself.
func escape(after []byte) (int, bool) {
	if len(after) < 5 || after[0] != 'u' {
		return min(len(after), 1), false
	}
	for _, c := range after[1:5] {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return 1, false
		}
	}
	// Half a character says nothing about the other half.
	return 5, after[1]|0x20 != 'd' || after[2] < '8'
}
