package effects

// restCount counts what is read of the rest of a call.
type restCount struct {
	bytes int // of texts
	words int // of commands that wait
}

// waiting is a text or a command that is to be read as a part of the rest.
type waiting struct {
	text  string
	words []word // in place of a text
	at    setting
}

// Bounds of the rest of a call.
const (
	maxRest         = 12 << 10  // effects that differ
	maxRestText     = 256 << 10 // bytes of all texts, and of one that is parsed
	maxRestQueue    = 64        // texts and commands that wait
	maxRestWrappers = 16        // at the end of a command, that are looked behind
	maxRestWords    = 32 << 10  // of commands that are wrapped in others too deeply
)

// overText notes a text that is over a bound.
func (b *builder) overText(text, cwd, from string) {
	b.over(waiting{text: text, at: setting{cwd: cwd, from: from}})
}

// overWords notes a command that has too many words.
func (b *builder) overWords(words []word, at setting) {
	at.via, at.wrapped = nil, 0
	b.over(waiting{words: words, at: at})
}

// overWrapped notes a command that is wrapped in others too deeply. What it runs
// stands behind the last of the wrappers, so that is read first.
func (b *builder) overWrapped(words []word, at setting) {
	for i, n := len(words)-1, 0; b.rest == nil && i > 0 && n < maxRestWrappers; i-- {
		if words[i].dynamic() || words[i].glob {
			continue
		}
		if p := b.table.program(b.programName(words[i].text)); p != nil && p.wrapper != nil {
			b.overWords(words[i:], at)
			n++
		}
	}
	b.overWords(words, at)
}

func (b *builder) over(w waiting) {
	switch {
	case b.rest != nil && w.words != nil:
		if b.rest.words += len(w.words); b.rest.words <= maxRestWords {
			b.waiting = append(b.waiting, w)
		}
	case len(b.waiting) >= maxRestQueue:
	case b.rest == nil: // it is not known yet what is left
		b.waiting = append(b.waiting, w)
	case w.words == nil && b.rest.bytes+len(w.text) <= 2*maxRestText:
		b.rest.bytes += len(w.text)
		b.waiting = append(b.waiting, w)
	}
}
