// Package wordset creates sets of words.
package wordset

import "strings"

// Of returns the set of words.
func Of(words ...string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}

// Fields returns the set of the words in a text, separated by white space.
func Fields(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}
