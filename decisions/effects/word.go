package effects

// word is one word of a command after expansion.
type word struct {
	// text is the word's value, quoting removed; DynamicWord when it is not
	// known before the command runs.
	text string
	// shown is the word as it was typed, for dynamic ones.
	shown string
	// prefix is the literal text that a dynamic word begins with.
	prefix string
	// split is set when a dynamic word may become several words or none.
	split bool
	// glob is set when text is a pattern that the shell replaces by names, of the
	// folder dir; that is "" when it is not known.
	glob bool
	dir  string
	// tree is set when the word stands for every path below text (find's {}).
	tree bool
	// linked is set when links are among those paths.
	linked bool
	// plain is set when those paths have names that hold no secret.
	plain bool
	// guess is the text that a dynamic word most likely has: of a command whose
	// output is known, or a file with that output.
	guess string
}

func (w *word) dynamic() bool { return w.text == DynamicWord }

// open reports whether the word may become one of many, or several.
func (w *word) open() bool { return w.dynamic() || w.glob || w.tree }

// argument is the word as it stands in Run.Args.
func (w *word) argument() string {
	if w.tree {
		return w.shown
	}
	return w.text
}

// literalWord is a word whose value is known.
func literalWord(text string) word { return word{text: text} }
