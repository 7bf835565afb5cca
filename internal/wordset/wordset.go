// Package wordset has sets of words that are known when a program is compiled.
package wordset

import (
	"iter"
	"slices"
	"strings"
	"sync/atomic"
)

// Set is a set of words. It is made when it is first asked, because a process that
// answers one call asks few of them. It is safe for concurrent use.
type Set struct {
	words []string
	text  string
	set   atomic.Pointer[map[string]bool]
}

// Of returns the set of the words.
func Of(words ...string) *Set { return &Set{words: words} }

// Fields returns the set of the words in a text, separated by white space.
func Fields(text string) *Set { return &Set{text: text} }

// Has reports whether the set has a word.
func (s *Set) Has(word string) bool {
	set := s.set.Load()
	if set == nil {
		set = s.fill()
	}
	return (*set)[word]
}

// All returns the words in the order in which they were given.
func (s *Set) All() iter.Seq[string] {
	if s.text != "" {
		return strings.FieldsSeq(s.text)
	}
	return slices.Values(s.words)
}

// fill makes the set. If several goroutines do so at a time, each makes the same one.
func (s *Set) fill() *map[string]bool {
	set := make(map[string]bool, len(s.words))
	for word := range s.All() {
		set[word] = true
	}
	s.set.Store(&set)
	return &set
}
