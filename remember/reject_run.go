package remember

import (
	"cmp"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// runKey files lines about runs: by all words, and by the words of any run that
// a line touches although they are not the same, one of which suffices.
type runKey struct {
	words string
	any   []string
}

// runKeys returns the keys of a line, one for each of its spellings.
func runKeys(r *pattern.Run, uid uint32) []runKey {
	key := func(class byte, rest ...string) string {
		b := append(keyHead(nil, class, uid, effects.KindRun), baseName(r.Program)...)
		for _, w := range rest {
			b = append(append(b, 0), w...)
		}
		return string(b)
	}
	if !r.Literal() || len(r.Named) > 0 {
		return []runKey{{words: key(byName)}}
	}
	var keys []runKey
	for _, line := range append([]*pattern.Run{r}, r.Same...) {
		words := make([]string, len(line.Words))
		for i, w := range line.Words {
			words[i], _ = w.Literal()
		}
		keys = append(keys, runKey{key(byWords, words...), meaningKeys(line.Meaning, key)})
	}
	return keys
}

// meaningKeys returns keys each of which every run that the line touches by
// meaning yields, the most selective first.
func meaningKeys(s *pattern.Meaning, key func(class byte, rest ...string) string) []string {
	if s == nil {
		return nil
	}
	type word struct {
		class byte
		text  string
	}
	var words []word
	for _, g := range s.Operands {
		if text, literal := g.Literal(); literal && text != "" {
			words = append(words, word{byWord, text})
		}
	}
	for _, text := range s.Values {
		if text != "" {
			words = append(words, word{byValue, text})
		}
	}
	if s.Option != "" {
		words = append(words, word{byWord, s.Option})
	}
	slices.SortStableFunc(words, func(a, b word) int { return cmp.Compare(len(b.text), len(a.text)) })
	var keys []string
	for _, w := range words {
		keys = append(keys, key(w.class, w.text))
	}
	if len(keys) > 0 {
		return keys
	}
	if len(s.Flags) == 0 {
		return []string{key(byFlags, s.Subcommand, "")}
	}
	for _, flag := range s.Flags {
		keys = append(keys, key(byFlags, s.Subcommand, flag))
	}
	return keys
}

// keysFor returns the keys that a part is filed under: of the possible ones
// those with the fewest lines.
func (x *rejectIndex) keysFor(p *rejectPart) []string {
	if p.line == nil || p.line.Run == nil {
		return p.keysOf()
	}
	var keys []string
	for _, k := range runKeys(p.line.Run, p.entry.choice.UID) {
		keys = append(keys, k.words)
		if len(k.any) > 0 {
			keys = append(keys, slices.MinFunc(k.any, func(a, b string) int {
				return cmp.Compare(len(x.at([]byte(a))), len(x.at([]byte(b))))
			}))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// searchRun looks for lines that a run touches.
func (x *rejectIndex) searchRun(s *search, buf []byte, r *effects.Run) {
	if x.counts[byWords]+x.counts[byName]+x.counts[byWord]+x.counts[byValue]+x.counts[byFlags] == 0 {
		return
	}
	names := [2]string{baseName(r.Program), baseName(r.Executable)}
	for i, name := range names {
		if name == "" || i == 1 && name == names[0] {
			continue
		}
		key := func(class byte) []byte { return append(keyHead(buf, class, s.q.UID, effects.KindRun), name...) }
		if x.counts[byName] > 0 {
			x.checkTouching(s, key(byName))
		}
		k := key(byWords)
		for _, arg := range r.Args {
			k = append(append(k, 0), arg...)
		}
		x.checkTouching(s, k)
		if x.counts[byFlags] > 0 {
			x.searchFlags(s, key(byFlags), r)
		}
		if x.counts[byWord] > 0 {
			k := append(key(byWord), 0)
			for _, arg := range r.Args {
				x.checkTouching(s, append(k, arg...))
				if option, _, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
					x.checkTouching(s, append(k, option...))
				}
			}
		}
		if x.counts[byValue] > 0 {
			x.searchValues(s, append(key(byValue), 0), r)
		}
	}
}

// searchFlags looks for lines with only a sub-command and options: the run's
// sub-command, or one above it, with one of its options.
func (x *rejectIndex) searchFlags(s *search, key []byte, r *effects.Run) {
	key = append(key, 0)
	for end := 0; end <= len(r.Subcommand); end++ {
		if end > 0 && end < len(r.Subcommand) && r.Subcommand[end] != ' ' {
			continue
		}
		k := append(append(key, r.Subcommand[:end]...), 0)
		x.checkTouching(s, k)
		for _, flag := range r.Flags {
			x.checkTouching(s, append(k, flag...))
		}
	}
}

// searchValues looks for lines with a value that is a word of the run, or the
// end of one that begins with a dash.
func (x *rejectIndex) searchValues(s *search, key []byte, r *effects.Run) {
	for _, arg := range r.Args {
		x.checkTouching(s, append(key, arg...))
		if !strings.HasPrefix(arg, "-") {
			continue
		}
		for length := range x.lengths {
			if length < len(arg) {
				x.checkTouching(s, append(key, arg[len(arg)-length:]...))
			}
		}
	}
}

func baseName(program string) string { return program[strings.LastIndexByte(program, '/')+1:] }
