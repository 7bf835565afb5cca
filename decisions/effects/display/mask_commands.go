package display

import (
	"slices"
	"strings"
	"sync"
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
	c := newCommands()
	defer c.release()
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
	// levels has for each depth the words of a command and of the one before it.
	levels [maxNested + 1][2]commandWords
}

// commandWords are the words of a command in a text.
type commandWords struct {
	words []textWord
	texts []string // of words
	at    []int    // of all words, where they have no memory of their own
}

// allCommands has commands without any text, so that their memory is used again: nearly
// every effect of a call is shown, and has nothing to be masked.
var allCommands = sync.Pool{New: func() any { return new(commands) }}

func newCommands() *commands { return allCommands.Get().(*commands) }

// release gives the memory back. No secret stays in it.
func (c *commands) release() {
	const most = 64 // words, and as many bytes of each
	for i := range c.levels {
		for j := range c.levels[i] {
			w := &c.levels[i][j]
			if cap(w.words) > most || cap(w.texts) > most || cap(w.at) > most*most {
				*w = commandWords{}
				continue
			}
			clear(w.words[:cap(w.words)])
			clear(w.texts[:cap(w.texts)])
		}
	}
	c.found, c.piped, c.asked = nil, nil, false
	allCommands.Put(c)
}

// find adds the secrets of the text at an offset of the whole.
func (c *commands) find(s string, offset, depth int) {
	here, before := &c.levels[depth][0], &c.levels[depth][1] // the command, and the last one, or the one that prints what filters pass on
	before.words, before.texts = before.words[:0], before.texts[:0]
	pipe, less := false, 0
	for i := 0; i < len(s); {
		next := here.cut(s[i:])
		words, texts := here.words, here.texts
		for j := range words {
			for k := range words[j].at {
				words[j].at[k] += i
			}
		}
		switch {
		case len(words) == 0:
		case less == 3 && readsSecret(before.texts):
			c.add(s, &words[0], 0, offset)
		case pipe && readsSecret(texts), i > 0 && s[i-1] == '>' && secretFile(texts[0]):
			c.printed(s, before, offset)
		case i > 1 && s[i-2:i] == "<(" && readsSecret(before.texts):
			c.printed(s, here, offset)
		case less == 3 && relaysInput(before.texts):
			c.sent(s, here, 0, offset)
		case pipe && relaysInput(texts), i > 0 && s[i-1] == '>' && relaysInput(texts):
			c.sent(s, before, printedWords(before.texts), offset)
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
		if less++; s[i-1] != '<' {
			less = 0
		}
		if len(words) > 0 && (!pipe || !filters.Has(programName(texts[0]))) {
			here, before = before, here
		}
		pipe = s[i-1] == '|' && (i == len(s) || s[i] != '|')
	}
}

// printed adds the words that a command prints, if it is echo or the like.
func (c *commands) printed(s string, by *commandWords, offset int) {
	first := printedWords(by.texts)
	for j := first; first > 0 && j < len(by.words); j++ {
		c.add(s, &by.words[j], 0, offset)
		if c.piped != nil {
			*c.piped = append(*c.piped, by.texts[j])
		}
	}
}

// sent adds the secrets of a protocol in words that are sent to a server, from the first one on.
func (c *commands) sent(s string, by *commandWords, first, offset int) {
	logins(by.texts[min(first, len(by.texts)):], func(j, from, end int) {
		w := &by.words[first+j]
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

// cut reads the words up to the end of a command, and returns where the next one begins.
func (by *commandWords) cut(s string) (next int) {
	by.words, by.texts = by.words[:0], by.texts[:0]
	var w textWord
	at := by.at[:0] // of all words
	first := 0      // of the current word
	end := func() {
		if w.at = at[first:len(at):len(at)]; len(w.at) > 0 {
			w.text = textAt(s, w.at)
			by.words, by.texts = append(by.words, w), append(by.texts, w.text)
		}
		w, first = textWord{}, len(at)
	}
	put := func(i int) { at = append(at, i) }
	defer func() { by.at = at }()
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == ' ' || c == '\t':
			end()
		case strings.IndexByte(";|&\n()`<>", c) >= 0:
			end()
			return i + 1
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
		if len(by.words) >= maxSecretWords {
			break
		}
	}
	end()
	return len(s)
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
