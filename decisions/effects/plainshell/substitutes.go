package plainshell

import "strings"

// Substitutes reports whether a shell substitutes something in the text between double
// quotes. A $ at the end of a pattern is literal.
func Substitutes(text string) bool {
	if strings.Contains(text, "`") {
		return true
	}
	for _, after := range strings.Split(text, "$")[1:] {
		if after != "" && !strings.ContainsRune(" |)/.,:", rune(after[0])) {
			return true
		}
	}
	return false
}
