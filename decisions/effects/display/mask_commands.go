package display

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Text that holds commands, such as the title of a call, is read roughly as a shell would,
// so that the words around a secret tell it there, too. What is read wrongly is masked too
// much or too little, and never decided on.

// maxNested is how deep quoted words are read as text of their own: the text of bash -c,
// and of ssh in it.
const maxNested = 3

// span is a part of a text.
type span struct{ from, end int }

// textWord is a word of a command in a text.
type textWord struct {
	text string
	// at is where each byte of text is in the whole.
	at []int
	// quoted are its parts in quotes that have blanks, which may be commands themselves.
	quoted []span
}

// commandSecrets returns the secrets in a text that the words of its commands tell, in
// order.
func commandSecrets(s string) []span {
	if !strings.Contains(s, " ") {
		return nil
	}
	var c commands
	c.find(s, 0, 0)
	found := c.found
	if len(found) == 0 {
		return nil
	}
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	merged := found[:1]
	for _, next := range found[1:] {
		last := &merged[len(merged)-1]
		if next.from >= last.end {
			merged = append(merged, next)
			continue
		}
		last.end = max(last.end, next.end)
	}
	return merged
}

// commands finds secrets in text that holds commands.
type commands struct {
	found []span
	piped *[]string // if not nil, the words printed for a command that reads a secret
	asked bool      // a command of expect waits for what asks for a secret
}

// find adds the secrets of the text at an offset of the whole.
func (c *commands) find(s string, offset, depth int) {
	var before []textWord // the last command, or the one that prints what filters pass on
	pipe, here := false, 0
	for i := 0; i < len(s); {
		words, next := cutCommand(s[i:])
		for j := range words {
			for k := range words[j].at {
				words[j].at[k] += i
			}
		}
		texts := textsOf(words)
		switch {
		case len(words) == 0:
		case here == 3 && readsSecret(textsOf(before)):
			c.add(s, &words[0], 0, offset)
		case pipe && readsSecret(texts), i > 0 && s[i-1] == '>' && secretFile(texts[0]):
			c.printed(s, before, offset)
		case i > 1 && s[i-2:i] == "<(" && readsSecret(textsOf(before)):
			c.printed(s, words, offset)
		case here == 3 && relaysInput(textsOf(before)):
			c.sent(s, words, 0, offset)
		case pipe && relaysInput(texts), i > 0 && s[i-1] == '>' && relaysInput(texts):
			c.sent(s, before, printedWords(textsOf(before)), offset)
		}
		if j := sentSecret(texts, c.asked); j > 0 {
			c.add(s, &words[j], 0, offset)
		}
		c.asked = c.asked || asksForSecret(texts)
		secretParts(texts, func(j, keep int) {
			if w := &words[j]; j > 0 && keep < len(w.text) && w.text != Masked {
				c.add(s, w, keep, offset)
			}
		})
		if depth < maxNested {
			for j := range words {
				for _, q := range words[j].quoted {
					c.find(s[i+q.from:i+q.end], offset+i+q.from, depth+1)
				}
			}
		}
		i += next
		if here++; s[i-1] != '<' {
			here = 0
		}
		if len(words) > 0 && (!pipe || !filters[programName(texts[0])]) {
			before = words
		}
		pipe = s[i-1] == '|' && (i == len(s) || s[i] != '|')
	}
}

// printed adds the words that a command prints, if it is echo or the like.
func (c *commands) printed(s string, words []textWord, offset int) {
	first := printedWords(textsOf(words))
	for j := first; first > 0 && j < len(words); j++ {
		c.add(s, &words[j], 0, offset)
		if c.piped != nil {
			*c.piped = append(*c.piped, words[j].text)
		}
	}
}

// sent adds the secrets of a protocol in words that are sent to a server, from the first one on.
func (c *commands) sent(s string, words []textWord, first, offset int) {
	texts := textsOf(words)
	logins(texts[min(first, len(texts)):], func(j, from, end int) {
		w := &words[first+j]
		c.addPart(s, w, from, end, offset)
		if c.piped != nil && end-from >= shortestConcealed {
			*c.piped = append(*c.piped, w.text[from:end])
		}
	})
}

// add adds the secret in a word from its byte keep on.
func (c *commands) add(s string, w *textWord, keep, offset int) {
	c.addPart(s, w, keep, len(w.at), offset)
}

func (c *commands) addPart(s string, w *textWord, first, stop, offset int) {
	from, end := w.at[first], w.at[stop-1]+1
	for from < end-1 && (s[from] == '"' || s[from] == '\'') {
		from++ // quotes in quotes
	}
	if n := plainValue(s[from:end]); n > 0 {
		c.found = append(c.found, span{offset + from, offset + from + n})
	}
}

func textsOf(words []textWord) []string {
	texts := make([]string, len(words))
	for i := range words {
		texts[i] = words[i].text
	}
	return texts
}

// cutCommand reads the words up to the end of a command, and returns where the next one
// begins.
func cutCommand(s string) (words []textWord, next int) {
	var w textWord
	at := make([]int, 0, min(len(s), 128)) // of all words, so that most need no memory of their own
	first := 0                             // of the current word
	end := func() {
		if w.at = at[first:len(at):len(at)]; len(w.at) > 0 {
			w.text = textAt(s, w.at)
			if words == nil {
				words = make([]textWord, 0, 8)
			}
			words = append(words, w)
		}
		w, first = textWord{}, len(at)
	}
	put := func(i int) { at = append(at, i) }
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == ' ' || c == '\t':
			end()
		case strings.IndexByte(";|&\n()`<>", c) >= 0:
			end()
			return words, i + 1
		case c == '\'' || c == '"':
			n := closing(s[i+1:], c)
			if n < 0 {
				continue // an apostrophe
			}
			if strings.IndexByte(s[i+1:i+1+n], ' ') >= 0 {
				w.quoted = append(w.quoted, span{i + 1, i + 1 + n})
			}
			for j := i + 1; j < i+1+n; j++ {
				if c == '"' && s[j] == '\\' && j+1 < i+1+n && strings.IndexByte("\"\\$`", s[j+1]) >= 0 {
					j++
				}
				put(j)
			}
			i += n + 1
		case c == '\\' && i+1 < len(s) && s[i+1] < utf8.RuneSelf:
			i++
			put(i)
		default:
			put(i)
		}
		if len(words) >= maxSecretWords {
			break
		}
	}
	end()
	return words, len(s)
}

// textAt returns the bytes of a text at these indexes, which ascend.
func textAt(s string, at []int) string {
	if begin, last := at[0], at[len(at)-1]; last-begin+1 == len(at) {
		return s[begin : last+1]
	}
	b := make([]byte, len(at))
	for i, n := range at {
		b[i] = s[n]
	}
	return string(b)
}

// plainValue returns the length of the beginning of a value in which no shell, whatever
// quotes are really open there, sees anything but words.
func plainValue(s string) int {
	if !strings.ContainsAny(s, ";|&$`()<>\"'{}\\\t\r\n") {
		return len(s)
	}
	return plainLen(s, false)
}

// closing returns the index of the quote that ends a quoted text; -1 if there is none.
func closing(s string, quote byte) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == quote:
			return i
		case s[i] == '\\' && quote == '"':
			i++
		}
	}
	return -1
}
