// Package plainshell recognises plain shell text: text that bash, dash, zsh and the parser that
// permd uses all read alike. docs/shell.md defines it for people; this package implements
// that definition, and text that it rejects is never allowed without a person.
//
// It reads tokens, words and the grammar in one pass, builds no tree and evaluates nothing: it
// records where the words, quotes, expansions and operators of the text begin and end, so
// that they can be compared with the parser's. It imports only the standard library.
package plainshell

import (
	"fmt"
	"path"
)

// Shells is a set of shells that may read a text, and their modes.
type Shells uint8

// The shells, and their modes.
const (
	Sh   Shells = 1 << iota // dash, busybox ash, and any sh in its POSIX mode
	Bash                    // bash 4.4 or newer
	Zsh                     // zsh in its own mode

	// Interactive is set if the text is typed into a terminal.
	Interactive
	// Old is set if bash, and sh, may be bash 3.2, as on macOS.
	Old
)

// All are the shells that an unknown shell may be.
const All = Bash | Sh | Zsh

// NotRead is the value for shells whose syntax is not supported: fish, PowerShell, csh.
const NotRead = Interactive

// Named returns the shell of that name or path.
func Named(name string) Shells {
	switch path.Base(name) {
	case "bash":
		return Bash
	case "zsh":
		return Zsh
	case "sh", "dash", "ash":
		return Sh
	}
	return NotRead
}

// within reports whether only some of the given shells may read the text.
func (s Shells) within(some Shells) bool { return s&All&^some == 0 }

// Bounds of plain text.
const (
	maxText          = 32 << 10 // bytes
	maxNesting       = 16       // nested groups, loops and conditions
	maxSubstitutions = 4        // nested command substitutions
)

// Construct names the part of a text that is not plain. The values are stable: they are counted
// and shown.
type Construct string

// The constructs.
const (
	ShellUnknown  Construct = "shell"            // a shell that is not one of those
	TooLong       Construct = "length"           // more than 32 KiB
	Character     Construct = "character"        // a character that is not allowed there
	History       Construct = "history"          // text that an interactive shell would replace
	Continuation  Construct = "continuation"     // a backslash at the end of a line
	Comment       Construct = "comment"          // a comment where not every shell has one
	Operator      Construct = "operator"         // an operator that not every shell has
	Redirection   Construct = "redirection"      // a redirection of another form
	Redirected    Construct = "redirected_twice" // one descriptor redirected twice
	HereDocument  Construct = "here_document"    // a here-document that may end elsewhere
	Brace         Construct = "brace"            // a brace that is not quoted
	Bracket       Construct = "bracket"          // a bracket that is not quoted
	Tilde         Construct = "tilde"            // ~, = or ^ where a shell may expand it
	Pattern       Construct = "pattern"          // a pattern that shells read differently
	Quote         Construct = "quote"            // $'…', $"…" or an open quote
	Backquote     Construct = "backquote"        // `…`
	Escape        Construct = "escape"           // a backslash in double quotes
	Dollar        Construct = "dollar"           // a $ that begins no expansion
	Parameter     Construct = "parameter"        // an expansion of another form
	Arithmetic    Construct = "arithmetic"       // $((…)) of another form
	Substitution  Construct = "substitution"     // $(…) where it is not allowed
	Parenthesis   Construct = "parenthesis"      // a function, an array, a glob qualifier
	Assignment    Construct = "assignment"       // an assignment that not every shell makes
	SpecialName   Construct = "variable"         // a variable with a special meaning to a shell
	FirstWord     Construct = "first_word"       // a command whose name is not literal
	ReservedWord  Construct = "reserved_word"    // a reserved word of another construct
	Builtin       Construct = "builtin"          // a builtin, or a form of it, that differs
	EmptyCommand  Construct = "empty"            // no command where one is required
	TooDeep       Construct = "nesting"          // nested too deeply
	ParserDiffers Construct = "parser"           // the parser reads it differently
)

// Constructs lists all constructs.
var Constructs = []Construct{
	ShellUnknown, TooLong, Character, History, Continuation, Comment, Operator, Redirection, Redirected, HereDocument, Brace,
	Bracket, Tilde, Pattern, Quote, Backquote, Escape, Dollar, Parameter, Arithmetic, Substitution, Parenthesis, Assignment,
	SpecialName, FirstWord, ReservedWord, Builtin, EmptyCommand, TooDeep, ParserDiffers,
}

// Refusal is the reason why a text is not plain.
type Refusal struct {
	Construct Construct
	Offset    int    // in bytes
	Detail    string // a description of the construct and the difference
}

// Error returns the reason as a sentence.
func (r *Refusal) Error() string {
	return fmt.Sprintf("not every shell reads this alike: %s (byte %d)", r.Detail, r.Offset)
}

// Kind is the kind of a mark.
type Kind uint8

// The kinds of marks.
const (
	MarkAssignment   Kind = iota // NAME=word of a simple command
	MarkName                     // the first word of a simple command
	MarkWord                     // any other word of it
	MarkTarget                   // the target of a redirection
	MarkDelimiter                // the word after <<
	MarkBody                     // a here-document's lines; never empty
	MarkItem                     // a word of a for loop
	MarkSingle                   // '…'
	MarkDouble                   // "…"
	MarkParameter                // $x, ${x}
	MarkSubstitution             // $(…)
	MarkProcess                  // <(…)
	MarkArithmetic               // $((…))
	MarkSubshell                 // the ( of a subshell
	MarkBlock                    // the { of a group
	MarkIf                       // the first byte of if, elif
	MarkLoop                     // of while, until
	MarkFor                      // of for
	MarkAnd                      // &&
	MarkOr                       // ||
	MarkPipe                     // |
	MarkBackground               // &
	MarkNot                      // !
	MarkTime                     // time
)

// Mark is a part of a text, from start up to end, in bytes.
type Mark struct {
	Start, End int32
	Kind       Kind
	// Command is the simple command that a word or an assignment belongs to, by
	// its number in the order in which the commands begin.
	Command int32
}

// Script is a plain text.
type Script struct {
	// Marks are the parts of the text, sorted by start; of two with the same start the
	// outer one comes first.
	Marks []Mark

	patterns bool // a word contains a pattern
}

// span is a part of a text, from start up to end, in bytes.
type span struct{ start, end int }

// commands returns the words of each simple command, without its assignments, in
// the order in which the commands begin.
func (s *Script) commands() [][]span {
	var commands [][]span
	for _, m := range s.Marks {
		if m.Kind != MarkName && m.Kind != MarkWord {
			continue
		}
		for int(m.Command) >= len(commands) {
			commands = append(commands, nil)
		}
		commands[m.Command] = append(commands[m.Command], span{int(m.Start), int(m.End)})
	}
	return commands
}

// Read reads a text for the given shells. It returns its parts, or why it is not
// plain.
func Read(text string, shells Shells) (*Script, *Refusal) { return new(Reader).Read(text, shells) }

// Reader reads one text after the other with the same memory.
type Reader struct {
	r      reader
	script Script
}

// Read is like the function Read. The script is valid until the next call of a method.
func (by *Reader) Read(text string, shells Shells) (*Script, *Refusal) {
	r := &by.r
	*r = reader{text: text, shells: shells, marks: r.marks[:0], words: r.words[:0]}
	if !r.characters() {
		return nil, r.refusal
	}
	if r.marks == nil {
		r.marks = make([]Mark, 0, 8+len(text)/8)
	}
	if !r.list(untilEnd, false) {
		return nil, r.refusal
	}
	by.script = Script{Marks: r.marks, patterns: r.patterns}
	return &by.script, nil
}

// Forget forgets the text. It keeps its memory, unless that is for more marks and words.
func (by *Reader) Forget(most int) {
	marks, words := by.r.marks[:0], by.r.words[:0]
	if cap(marks)+cap(words) > most {
		marks, words = nil, nil
	}
	*by = Reader{r: reader{marks: marks, words: words}}
}

// Words returns the words of a text that is one simple command without assignments,
// redirections and expansions.
func (s *Script) Words(text string) ([]string, bool) {
	r := reader{text: text}
	var words []string
	for _, m := range s.Marks {
		// All other kinds are no words.
		//exhaustive:ignore
		switch m.Kind {
		case MarkName, MarkWord:
			w := word{start: int(m.Start), end: int(m.End), has: hasQuotes}
			if text[w.start] == '~' {
				return nil, false
			}
			words = append(words, r.value(w))
			if m.Command > 0 {
				return nil, false
			}
		case MarkSingle, MarkDouble:
		default:
			return nil, false
		}
	}
	return words, len(words) > 0 && !s.patterns
}
