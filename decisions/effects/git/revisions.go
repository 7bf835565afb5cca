package git

import "strings"

// names splits a word A..B of objects with their paths into both.
func names(word string) []string {
	if a, b, ok := strings.Cut(word, ".."); ok {
		return []string{word, a, strings.TrimPrefix(b, ".")}
	}
	return []string{word}
}

// revision returns the name that a revision begins with, without what may stay an object that
// is no commit, and whether it is certainly a commit, whatever the name is, or one of the
// index (gitrevisions(7)).
func revision(word string) (base string, certain bool) {
	word = strings.TrimPrefix(word, "^")
	depth := 0
	for i := range len(word) {
		switch word[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ':':
			if depth == 0 {
				if i == 0 {
					return "", true // the index, or a search for a message
				}
				word = word[:i]
			}
		}
		if i >= len(word) {
			break
		}
	}
	for {
		at := strings.LastIndexAny(word, "~^@")
		if at < 0 {
			return word, false
		}
		switch rest := word[at:]; {
		case word == "@":
			return "HEAD", true
		case rest[0] == '~':
			return word[:at], true
		case strings.HasPrefix(rest, "@{"):
			if at == 0 {
				return "", true // the branch, or one that it was
			}
			word = word[:at] // an entry of a reflog, which a tag may have
		case rest[0] == '@':
			return word, at > 0 && word[at-1] == '^' // REV^@
		case rest == "^{}", rest == "^{object}", rest == "^{tree}", rest == "^{tag}":
			word = word[:at]
		case rest == "^{blob}":
			return word, false
		default:
			return word[:at], true // ^, ^2, ^{commit}, ^{/text}, ^!, ^-
		}
	}
}

// hashIn returns the hash that a name is, or ends with as git describe has it, "" if it is none.
func hashIn(name string) string {
	if at := strings.LastIndex(name, "-g"); at >= 0 && isHash(name[at+2:]) {
		name = name[at+2:]
	}
	if !isHash(name) {
		return ""
	}
	return strings.ToLower(name)
}

// isHash reports whether git may take a word for a hash or the beginning of one.
func isHash(s string) bool {
	return len(s) >= 4 && len(s) <= 64 && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// describedIn returns the hash at the end of a name as git describe makes it, "" if there is none.
// Git goes by that hash and passes over all that comes before it, such as HEAD: or ~1
// (get_describe_name in its object-name.c).
func describedIn(word string) string {
	for strings.HasSuffix(word, "}") {
		at := strings.LastIndex(word, "^{")
		if at < 0 {
			return ""
		}
		word = word[:at]
	}
	at := strings.LastIndex(word, "-g")
	if at < 1 || !isHash(word[at+2:]) {
		return ""
	}
	return strings.ToLower(word[at+2:])
}
