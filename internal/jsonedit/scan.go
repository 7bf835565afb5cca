package jsonedit

import (
	"bytes"
	"errors"

	"github.com/permd/permd/internal/strictjson"
)

// scanResult is the result of scan.
type scanResult struct {
	comments bool
	closing  []byte // text to append for hujson, which rejects a line comment at the end
	end      int    // the offset at which the scan stopped
}

// scan checks a text before it is passed to hujson, which recurses for each bracket:
// deep nesting would end the process with a stack overflow. It recognises strings and
// comments as hujson does, up to the first error that hujson reports, so the depth that
// it counts is at least hujson's.
//
// Programs disagree whether a carriage return alone ends a line comment, and so on what
// is commented out. That is an error.
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
