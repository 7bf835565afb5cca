package pattern

import (
	"regexp"
	"slices"
	"strings"
)

// Glob is text in which * matches any characters: the literal pieces between
// the stars. One piece means no star.
type Glob []string

// Literal returns the text of a glob without a star.
func (g Glob) Literal() (string, bool) {
	if len(g) == 1 {
		return g[0], true
	}
	return "", false
}

// Prefix returns the literal text before the first star.
func (g Glob) Prefix() string { return g[0] }

// Equal reports whether two globs are the same.
func (g Glob) Equal(h Glob) bool { return slices.Equal(g, h) }

// Match reports whether the glob matches the whole of s.
func (g Glob) Match(s string) bool {
	if len(g) == 1 {
		return s == g[0]
	}
	s, ok := strings.CutPrefix(s, g[0])
	if !ok {
		return false
	}
	last := len(g) - 1
	for _, piece := range g[1:last] {
		// The leftmost position leaves the most text for the pieces after it.
		_, after, found := strings.Cut(s, piece)
		if !found {
			return false
		}
		s = after
	}
	return strings.HasSuffix(s, g[last])
}

// MatchWithin is Match with stars that do not match a slash.
func (g Glob) MatchWithin(s string) bool {
	parts := g.split()
	for i, part := range parts {
		component, rest, more := strings.Cut(s, "/")
		if !part.Match(component) || more == (i == len(parts)-1) {
			return false
		}
		s = rest
	}
	return true
}

// split returns the glob's components between slashes.
func (g Glob) split() []Glob {
	parts := []Glob{{}}
	for _, piece := range g {
		for j, text := range strings.Split(piece, "/") {
			if j > 0 {
				parts = append(parts, Glob{})
			}
			// The first part of a piece continues the component that the piece
			// before it ended in, after a star.
			last := len(parts) - 1
			parts[last] = append(parts[last], text)
		}
	}
	return parts
}

// Regexp returns a regular expression (RE2, unanchored) for the same texts.
// star is the expression for a star, such as "[^/]*".
func (g Glob) Regexp(star string) string {
	quoted := make([]string, len(g))
	for i, piece := range g {
		quoted[i] = regexp.QuoteMeta(piece)
	}
	return strings.Join(quoted, star)
}
