// Package runs turns the words of one command into effects, with the program table
// and the paths, addresses and settings that the words name. Words that are shell code
// themselves are read by its [TextReader].
package runs

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/own"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/programs"
)

// Builder collects the effects of one call. Three packages share it: tools reads the
// tool's input, shell parses command text, and this package interprets the words of
// each run.
type Builder struct {
	FS    effects.FS
	Table *programs.Table
	Own   *paths.Own
	Call  *effects.Call
	Paths *paths.Resolver
	texts TextReader
	// KeepsFolder is set if the call may leave its shell in another folder without a
	// question: see Profiles.followsFolder.
	KeepsFolder bool

	Effects []effects.Effect
	Defects []effects.Defect
	// Nothing is set if shell text was understood and has no effect: comments, true,
	// a cd inside the project.
	Nothing bool
	// Scratch is a reusable buffer for a command's words.
	Scratch []effects.Word
	// Statements counts the commands so far, Braces the words from brace expansion,
	// written the effects that change files.
	Statements, Braces, written int
	// Parsed counts the bytes of shell text that were parsed.
	Parsed int
	// inOverlay is set while a run's words are read with the overlay's entry.
	inOverlay bool
	// Remote is set while the words are those of a command that runs on another
	// machine or in a container.
	Remote bool
	// Shells are the shells that may run the text being parsed.
	Shells plainshell.Shells
	// Input is the standard input of commands in nested shell text.
	Input Input
	// Depth is the nesting of shell text in shell text.
	Depth int
	// FinalFolders holds the folders in which the call may leave a shell, see
	// Result.Folders.
	FinalFolders []string
	// Activated holds the folders of programs of the environments that the call
	// activates, see Result.Activated.
	Activated []string
	// usesEnvironment is set if the call looks up a program in an environment, which
	// other programs may run.
	usesEnvironment bool
	// Rearranged holds the folders in which an earlier run of the call may have
	// put links anywhere (git checkout): paths below them are not known.
	Rearranged []string
	// Asides become Result.Hints, and Opened, with what is possible, a part of
	// Result.Rest: see aside.go. possible counts commands.
	Asides, Opened []effects.Effect
	TooManyAsides  bool // some of these were left out
	possible       int
	// Unread holds what exceeded a bound. Rest is set while Unread is processed.
	Unread []unread
	Rest   *RestCount
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

// TooLarge appends the Unknown effect of a call that does, or may do, more than permd
// looks at.
func (b *Builder) TooLarge(from, why string) {
	b.Add(effects.Effect{Kind: effects.KindUnknown, From: from, Why: why, Text: why, Cause: effects.CauseTooLarge})
}

// NotPlain appends the Unknown effect of text that shells do not all read alike, once
// for each reason.
func (b *Builder) NotPlain(from string, r *plainshell.Refusal) {
	why := r.Error()
	for i := range b.Effects {
		if e := &b.Effects[i]; e.Cause == effects.CauseNotPlain && e.From == from && e.Why == why {
			return
		}
	}
	b.Add(effects.Effect{Kind: effects.KindUnknown, From: from, Why: why, Text: why, Cause: effects.CauseNotPlain, Construct: r.Construct})
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
