// Package runs turns the words of one command into effects: by what the program
// table says about them, with the paths, addresses and settings that they name. Where
// words are shell text themselves, it has its [TextReader] read them.
package runs

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/programs"
)

// Builder collects the effects of one call. Packages tools, shell and this one
// share it: tools reads the tool's input, shell takes command text apart, and the
// words of each run are read here.
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
	// Nothing is set when shell text was understood and does nothing that an
	// effect could be about: comments, true, a cd inside the project.
	Nothing bool
	// Scratch is room for a command's words, empty while one is read.
	Scratch []effects.Word
	// Statements counts the commands that were followed, braces the words that
	// braces became, written the effects that change files.
	Statements, Braces, written int
	// Parsed counts the bytes of shell text that were parsed.
	Parsed int
	// inOverlay is set while a run's words are parsed a second time.
	inOverlay bool
	// Remote is set while the words of a command are followed that runs on another
	// machine or in a container.
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
	// Unread holds what is over a bound; rest is set while that is read.
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
