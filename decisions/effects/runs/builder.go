// Package runs turns the words of one command into effects, by the program table and by
// the paths, addresses and settings that the words name. Words that are shell text
// themselves are read by its [TextReader].
package runs

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/programs"
)

// Builder collects the effects of one call. It is shared by three packages: tools reads
// the tool's input, shell parses command text, and this package reads the words of each
// run.
type Builder struct {
	FS    effects.FS
	Table *programs.Table
	Own   *paths.Own
	Call  *effects.Call
	Paths *paths.Resolver
	texts TextReader
	// KeepsFolder is set when a folder in which the call leaves its shell is
	// accounted for without asking: see Profiles.followsFolder.
	KeepsFolder bool

	Effects []effects.Effect
	Defects []effects.Defect
	// Nothing is set if shell text was understood and has no effect: comments, true, a
	// cd inside the project.
	Nothing bool
	// Scratch is a reusable buffer for a command's words.
	Scratch []effects.Word
	// Statements counts the commands that were followed, braces the words that
	// braces became, written the effects that change files.
	Statements, Braces, written int
	// Parsed counts the bytes of shell text that were parsed.
	Parsed int
	// inOverlay is set while a run's words are parsed a second time.
	inOverlay bool
	// Remote is set while reading the words of a command that runs on another machine
	// or in a container.
	Remote bool
	// Shells are those that may read the shell text that is parsed.
	Shells plainshell.Shells
	// Input is what the commands of shell text that is in a word read.
	Input Input
	// Depth is how many times shell text was found inside shell text.
	Depth int
	// FinalFolders holds the folders in which the call may leave a shell, see
	// Result.Folders.
	FinalFolders []string
	// Activated holds the folders of programs of the environments that the call
	// activates, see Result.Activated.
	Activated []string
	// usesEnvironment is set when the call asks for a program of an environment that
	// others may run.
	usesEnvironment bool
	// Rearranged holds the folders in which an earlier run of the call may have
	// put links anywhere (git checkout): paths below them are not known.
	Rearranged []string
	// Unread holds what exceeded a bound. Rest is set while that is read.
	Unread []unread
	Rest   *RestCount
}

// TextReader reads the shell text that is in the words of a run.
type TextReader interface {
	// Text appends the effects of shell text run in cwd ("" when not known), and
	// in the other folders that a shell which stays alive may be in.
	Text(b *Builder, text, cwd, from string)
	// TextIn appends the effects of shell text run in cwd and nowhere else.
	TextIn(b *Builder, text, cwd, from string)
}

// NewBuilder is the builder of a call whose paths res looks up with env.
func NewBuilder(env paths.Environment, table *programs.Table, c *effects.Call, res *paths.Resolver, texts TextReader) *Builder {
	return &Builder{texts: texts, FS: env.FS, Table: table, Own: res.Own, Call: c, Paths: res, Rearranged: slices.Clip(c.Before.Trees)}
}

// Add appends an effect and returns its index.
func (b *Builder) Add(e effects.Effect) int {
	if e.Kind == effects.KindWrite || e.Kind == effects.KindDelete {
		b.written++
	}
	e.Shell = b.Depth > 0
	if b.Effects == nil {
		b.Effects = make([]effects.Effect, 0, 8)
	}
	b.Effects = append(b.Effects, e)
	return len(b.Effects) - 1
}

// Unknown appends an Unknown effect.
func (b *Builder) Unknown(from, why string) int {
	return b.Add(effects.Effect{Kind: effects.KindUnknown, From: from, Why: why, Text: why})
}

// NotPlain appends the Unknown effect of text that not every shell reads alike,
// once for each reason.
func (b *Builder) NotPlain(from string, r *plainshell.Refusal) {
	why := r.Error()
	for i := range b.Effects {
		if e := &b.Effects[i]; e.Cause == effects.CauseNotPlain && e.From == from && e.Why == why {
			return
		}
	}
	b.Add(effects.Effect{Kind: effects.KindUnknown, From: from, Why: why, Text: why, Cause: effects.CauseNotPlain, Construct: r.Construct})
}

// Reading calls do while shell text is for other shells.
func (b *Builder) Reading(shells plainshell.Shells, do func()) {
	defer func(before plainshell.Shells) { b.Shells = before }(b.Shells)
	b.Shells = shells
	do()
}

// AddFinalFolder notes a folder in which the call may leave its shell, "" for one that
// is not known.
func (b *Builder) AddFinalFolder(folder string) {
	if folder != b.Call.Cwd && !slices.Contains(b.FinalFolders, folder) {
		b.FinalFolders = append(b.FinalFolders, folder)
	}
}
