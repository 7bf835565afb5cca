// Package runs turns the words of one command into effects, with the program table
// and the paths, addresses and settings that the words name. Words that are shell code
// themselves are read by its [TextReader].
package runs

import (
	"runtime"
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/collect"
	"github.com/permd/permd/decisions/effects/environments"
	"github.com/permd/permd/decisions/effects/own"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/programs"
)

// Builder collects the effects of one call. Three packages share it: tools reads the
// tool's input, shell parses command text, and this package interprets the words of
// each run.
type Builder struct {
	collect.Collector
	Own   *paths.Own
	texts TextReader
	// KeepsFolder is set if the call may leave its shell in another folder without a
	// question: see Profiles.followsFolder.
	KeepsFolder bool

	Defects []effects.Defect
	// Nothing is set if shell text was understood and has no effect: comments, true,
	// a cd inside the project.
	Nothing bool
	// Scratch is a reusable buffer for a command's words.
	Scratch []effects.Word
	// Statements counts the commands so far, Braces the words from brace expansion.
	Statements, Braces int
	// Parsed counts the bytes of shell text that were parsed.
	Parsed int
	// inOverlay is set while a run's words are read with the overlay's entry.
	inOverlay bool
	// Shells are the shells that may run the text being parsed.
	Shells plainshell.Shells
	// Variables are the harmless ones that are set for the command being read.
	Variables []string
	// Input is the standard input of commands in nested shell text.
	Input Input
	// FinalFolders holds the folders in which the call may leave a shell, see
	// Result.Folders.
	FinalFolders []string
	// Found is what the last find printed, a NUL after each; nil if it did anything else.
	Found *effects.Word
	// Environments are those that the call activates, see Result.Activated.
	Environments environments.Environments
	// Unread holds what exceeded a bound, and what is possible: a part of Result.Rest.
	// possible counts commands. Rest is set while Unread is processed.
	Unread   []unread
	possible int
	Rest     *RestCount
}

// TextReader reads shell text in the words of a run.
type TextReader interface {
	// Text appends the effects of shell text run in cwd ("" if not known), and in the
	// other folders that a persistent shell may be in.
	Text(b *Builder, text, cwd, from string)
	// TextIn appends the effects of shell text run in cwd and nowhere else.
	TextIn(b *Builder, text, cwd, from string)
}

// NewBuilder returns the builder of a call whose paths res resolves with env.
func NewBuilder(env paths.Environment, table *programs.Table, c *effects.Call, res *paths.Resolver, texts TextReader) *Builder {
	return &Builder{Collector: collect.New(env, table, c, res), texts: texts, Own: res.Own}
}

// WithShells calls do while shell text is read for other shells.
func (b *Builder) WithShells(shells plainshell.Shells, do func()) {
	defer func(before plainshell.Shells) { b.Shells = before }(b.Shells)
	b.Shells = shells
	do()
}

// AddFinalFolder records a folder in which the call may leave its shell, "" for an
// unknown one.
func (b *Builder) AddFinalFolder(folder string) {
	if folder != b.Call.Cwd && !slices.Contains(b.FinalFolders, folder) {
		b.FinalFolders = append(b.FinalFolders, folder)
	}
}

func (b *Builder) usesOfPermd() *own.Detector {
	return &own.Detector{Own: b.Own, Table: b.Table, Paths: b.Paths}
}

// UseOfPermd returns how text of another language may use permd.
func (b *Builder) UseOfPermd(text string) effects.OwnUse { return b.usesOfPermd().UseInText(text) }

// Readers returns the shells that may run the text being parsed. If nothing is known of
// the shell, these are all that agents use.
func (b *Builder) Readers() plainshell.Shells {
	shells := b.Shells
	if shells == 0 {
		shells = plainshell.All
	}
	if runtime.GOOS == "darwin" {
		shells |= plainshell.Old
	}
	return shells
}
