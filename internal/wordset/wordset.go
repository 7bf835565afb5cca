// Package wordset makes sets of words.
package wordset

import "strings"

// Of returns the set of the words.
func Of(words ...string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}

// Fields returns the set of the words in a text, which white space separates.
func Fields(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}
