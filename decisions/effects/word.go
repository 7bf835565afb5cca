package effects

// Word is one word of a command after expansion.
type Word struct {
	// Text is the word's value, quoting removed; DynamicWord when it is not
	// known before the command runs.
	Text string
	// Shown is the word as it was typed, for dynamic ones.
	Shown string
	// Prefix is the literal text that a dynamic word begins with.
	Prefix string
	// Split is set when a dynamic word may become several words or none.
	Split bool
	// Glob is set when text is a pattern that the shell replaces by names, of the
	// folder dir; that is "" when it is not known.
	Glob bool
	Dir  string
	// Tree is set when the word stands for every path below text (find's {}).
	Tree bool
	// Linked is set when links are among those paths.
	Linked bool
	// Plain is set when those paths have names that hold no secret.
	Plain bool
	// Guess is the text that a dynamic word most likely has: of a command whose
	// output is known, or a file with that output.
	Guess string
}

func (w *Word) Dynamic() bool { return w.Text == DynamicWord }

// Expandable reports whether the word may become one of many, or several.
func (w *Word) Expandable() bool { return w.Dynamic() || w.Glob || w.Tree }

// Argument is the word as it stands in Run.Args.
func (w *Word) Argument() string {
	if w.Tree {
		return w.Shown
	}
	return w.Text
}

// LiteralWord is a word whose value is known.
func LiteralWord(text string) Word { return Word{Text: text} }
