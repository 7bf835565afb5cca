package jsonedit

import (
	"bytes"
	"errors"

	"github.com/permd/permd/internal/strictjson"
)

// scanResult is what scan found out.
type scanResult struct {
	comments bool
	closing  []byte // what hujson needs at the end: it takes no line comment that the text ends in
	end      int    // how far it came
}

// scan looks at a text before hujson does, which recurses with each bracket
// and would end the process by a stack overflow. It takes strings and comments
// as hujson does, up to where hujson finds an error, so the depth that it counts is
// never less than hujson's.
//
// Readers differ in whether a carriage return alone ends a line comment, and so
// in what is commented out: that is an error.
func scan(data []byte) (s scanResult, err error) {
	depth, empty := 0, true
	for i := 0; i < len(data); i++ {
		s.end = i
		switch c := data[i]; {
		case c == '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case bytes.HasPrefix(data[i:], []byte("//")):
			s.comments = true
			text, _, ended := bytes.Cut(data[i:], []byte("\n"))
			if !ended {
				s.closing = []byte("\n")
			}
			if at := bytes.IndexByte(bytes.TrimSuffix(text, []byte("\r")), '\r'); at >= 0 {
				s.end = i + at
				return s, errors.New("a carriage return in a line comment")
			}
			i += len(text)
			continue
		case bytes.HasPrefix(data[i:], []byte("/*")):
			s.comments = true
			n := bytes.Index(data[i+2:], []byte("*/"))
			if n < 0 {
				return s, errors.New("a comment is not closed")
			}
			i += n + 3
			continue
		case c == '{' || c == '[':
			if depth++; depth > strictjson.MaxDepth {
				return s, strictjson.ErrDepth
			}
		case c == '}' || c == ']':
			depth--
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		}
		empty = false
	}
	if s.end = len(data); empty {
		return s, ErrEmpty
	}
	return s, nil
}
