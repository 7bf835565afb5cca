package settings

import (
	"sync"

	"github.com/permd/permd/internal/wordset"
)

// Bounds of the texts that are kept.
const (
	maxPlainTexts     = 64
	maxPlainTextBytes = 4 << 10 // of one
)

// keptTexts are texts of settings that were read before: what a project's files say is the same
// for each run. Of each it has the entries that are harmless or not depending on something
// else than the text. It is safe for concurrent use.
type keptTexts struct {
	mu    sync.Mutex
	texts map[keptText][]entry // nobody changes an entry
}

type keptText struct {
	format *Format
	text   string
}

var plainTexts keptTexts

// of returns what was kept of a text.
func (k *keptTexts) of(s *Format, data []byte) (list []entry, ok bool) {
	if len(data) > maxPlainTextBytes {
		return nil, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	list, ok = k.texts[keptText{s, string(data)}]
	return list, ok
}

// keep keeps the entries of a text, and returns those that depend on something else.
func (k *keptTexts) keep(s *Format, text string, all []entry) (list []entry) {
	for i := range all {
		if !s.alwaysAllows(&all[i]) {
			list = append(list, all[i])
		}
	}
	if len(text) > maxPlainTextBytes {
		return list
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.texts) >= maxPlainTexts || k.texts == nil {
		k.texts = map[keptText][]entry{}
	}
	k.texts[keptText{s, text}] = list
	return list
}

// ofFiles are the kinds of values that depend on more than the value.
var ofFiles = wordset.Of("toolchain", "hooks", "env_file", "submodule")

// alwaysAllows reports whether allows is true for an entry whatever the file and the run: each
// line of the list that counts has no condition.
func (s *Format) alwaysAllows(e *entry) bool {
	most, some := s.mostLiteral(e), false
	for i := range s.harmless {
		h := &s.harmless[i]
		if !matchSetting(h.path, e.path) || literal(h.path) < most {
			continue
		}
		switch {
		case h.when != "", s.own, ofFiles.Has(h.kind):
			return false
		case h.exact && h.value != e.value:
			return false
		case !h.exact && h.kind != "" && !valueKinds[h.kind](nil, e.value):
			return false
		}
		some = true
	}
	return some
}
