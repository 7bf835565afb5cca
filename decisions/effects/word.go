package effects

import "strings"

// Word is one word of a command after expansion.
type Word struct {
	// Text is the word's value without quotes; DynamicWord if it is not known before the
	// command runs.
	Text string
	// Shown is the word as it was typed, for dynamic ones.
	Shown string
	// Prefix is the literal text that a dynamic word begins with.
	Prefix string
	// Split is set when a dynamic word may become several words or none.
	Split bool
	// Glob is set if Text is a pattern that the shell replaces by names in the folder
	// Dir; that is "" if not known.
	Glob bool
	Dir  string
	// One is set for a pattern that has already become one of those names, or itself if
	// there are none: the quoted variable of a loop.
	One bool
	// Pipe is set if a dynamic word is the path of a pipe that a command of the text
	// writes into: <(…).
	Pipe bool
	// Tree is set if the word stands for every path below Text (find's {}).
	Tree bool
	// Several is set if the word expands to several of those paths at once, each a word of
	// its own (find's {} before +).
	Several bool
	// Linked is set if there are links among those paths.
	Linked bool
	// Ending is the end of the names of those links, in lower case; "" if that is not
	// known.
	Ending string
	// Plain is set if none of those paths has the name of a secret.
	Plain bool
	// Guess is the probable text of a dynamic word: the output of a known command, or a
	// file with that output.
	Guess string
}

func (w *Word) Dynamic() bool { return w.Text == DynamicWord }

// Expandable reports whether the word may become another one or several.
func (w *Word) Expandable() bool { return w.Dynamic() || w.Glob || w.Tree }

// Argument returns the word as it is in Run.Args.
func (w *Word) Argument() string {
	if w.Tree {
		return w.Shown
	}
	return w.Text
}

// LiteralWord returns a word whose value is known.
func LiteralWord(text string) Word { return Word{Text: text} }

// ChangesWhenReread reports whether the word, once it is joined into a shell's text, may
// be parsed as something else.
func ChangesWhenReread(w Word) bool {
	return w.Expandable() || w.Glob || w.Text == "" || strings.Trim(w.Text, plainLetters) != ""
}

// plainLetters have no special meaning to any shell, anywhere in a word.
const plainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:@%+-"

// TooManyWithin is why commands that contain each other are not followed further.
const TooManyWithin = "too many programs within each other"
