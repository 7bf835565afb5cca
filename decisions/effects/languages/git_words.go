package languages

import "strings"

// This file reads the words by which git names files of its own data.

// GitObject returns the path of REV:PATH; without REV, or with a stage number, it is a
// path in the index. Dates and expressions in braces may contain colons.
func GitObject(text string) (file string, ok bool) {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ':':
			if depth > 0 {
				continue
			}
			file = text[i+1:]
			if i == 0 && file != "" && strings.IndexByte("/!^(", file[0]) >= 0 {
				return "", false // pathspec magic, or a search for a message
			}
			if i == 0 && len(file) > 1 && file[0] >= '0' && file[0] <= '3' && file[1] == ':' {
				file = file[2:]
			}
			return file, file != ""
		}
	}
	return "", false
}

// Pathspec is a parsed pathspec: magic such as :(top,glob) or :/, and a path.
type Pathspec struct {
	Path                                string
	Signs, Top, Literal, Icase, Exclude bool
}

// ParsePathspec parses a word; ok is false for an exclusion, and for magic that is not known, with
// which the word may select anything.
func ParsePathspec(spec string) (s Pathspec, ok bool) {
	rest, signs := strings.CutPrefix(spec, ":")
	s.Signs = signs
	long, isLong := strings.CutPrefix(rest, "(")
	switch {
	case !signs:
		s.Path = spec
	case isLong:
		var words string
		if words, s.Path, ok = strings.Cut(long, ")"); !ok || strings.Contains(words, `\`) {
			return s, false // an escaped character ends no word
		}
		known := true
		for word := range strings.SplitSeq(words, ",") {
			switch strings.TrimSpace(word) {
			case "", "glob":
			case "top":
				s.Top = true
			case "literal":
				s.Literal = true
			case "icase":
				s.Icase = true
			case "exclude":
				s.Exclude = true
			default:
				known = false
			}
		}
		if !known || s.Exclude {
			return s, false
		}
	default:
		for rest != "" && strings.IndexByte("/!^", rest[0]) >= 0 {
			if rest[0] != '/' {
				s.Exclude = true
				return s, false
			}
			s.Top, rest = true, rest[1:]
		}
		if rest != "" && strings.IndexByte("\"#%&',-;<=>@_`~", rest[0]) >= 0 {
			return s, false // reserved for magic
		}
		s.Path = strings.TrimPrefix(rest, ":")
	}
	return s, true
}
