package effects

import (
	"slices"

	"github.com/permd/permd/decisions/effects/plainshell"
)

// builder collects the effects of one call. The parts of the package share it:
// tools.go reads the tool's input and calls the rest, shell*.go takes command
// text apart, programs*.go applies the program table, path*.go and host.go
// resolve what a word names.
type builder struct {
	fs    FS
	table *Table
	own   *Own
	c     *Call
	res   *resolver
	texts textReader
	// keepsFolder is set when a folder in which the call leaves its shell is
	// accounted for without asking: see Profiles.followsFolder.
	keepsFolder bool

	effects []Effect
	defects []Defect
	// nothing is set when shell text was understood and does nothing that an
	// effect could be about: comments, true, a cd inside the project.
	nothing bool
	// scratch is room for a command's words, empty while one is read.
	scratch []word
	// statements counts the commands that were followed, braces the words that
	// braces became, written the effects that change files.
	statements, braces, written int
	// parsed counts the bytes of shell text that were taken apart.
	parsed int
	// twice is set while a run's words are taken apart a second time.
	twice bool
	// away is set while the words of a command are followed that runs on another
	// machine or in a container.
	away bool
	// shells are those that may read the shell text that is taken apart.
	shells plainshell.Shells
	// input is what the commands of shell text that stands in a word read.
	input input
	// depth is how many times shell text was found inside shell text.
	depth int
	// left holds the folders in which the call may leave a shell, see
	// Result.Folders.
	left []string
	// activated holds the folders of programs of the environments that the call
	// activates, see Result.Activated.
	activated []string
	// helped is set when the call asks for a program of an environment that
	// others may run.
	helped bool
	// rearranged holds the folders in which an earlier run of the call may have
	// put links anywhere (git checkout): paths below them are not known.
	rearranged []string
	// waiting holds what is over a bound; rest is set while that is read.
	waiting []waiting
	rest    *restCount
}

// textReader reads the shell text that stands in the words of a run.
type textReader interface {
	// Text appends the effects of shell text run in cwd ("" when not known), and
	// in the other folders that a shell which stays alive may be in.
	Text(b *builder, text, cwd, from string)
	// TextIn appends the effects of shell text run in cwd and nowhere else.
	TextIn(b *builder, text, cwd, from string)
}

// newBuilder is the builder of a call whose paths res looks up with env.
func newBuilder(env environment, table *Table, c *Call, res *resolver, texts textReader) *builder {
	return &builder{texts: texts, fs: env.fs, table: table, own: res.own, c: c, res: res, rearranged: slices.Clip(c.Before.trees)}
}

// add appends an effect and returns its index.
func (b *builder) add(e Effect) int {
	if e.Kind == KindWrite || e.Kind == KindDelete {
		b.written++
	}
	e.Shell = b.depth > 0
	if b.effects == nil {
		b.effects = make([]Effect, 0, 8)
	}
	b.effects = append(b.effects, e)
	return len(b.effects) - 1
}

// unknown appends an Unknown effect.
func (b *builder) unknown(from, why string) int {
	return b.add(Effect{Kind: KindUnknown, From: from, Why: why, Text: why})
}

// notPlain appends the Unknown effect of text that not every shell reads alike,
// once for each reason.
func (b *builder) notPlain(from string, r *plainshell.Refusal) {
	why := r.Error()
	for i := range b.effects {
		if e := &b.effects[i]; e.Cause == CauseNotPlain && e.From == from && e.Why == why {
			return
		}
	}
	b.add(Effect{Kind: KindUnknown, From: from, Why: why, Text: why, Cause: CauseNotPlain, Construct: r.Construct})
}

// reading calls do while shell text is for other shells.
func (b *builder) reading(shells plainshell.Shells, do func()) {
	defer func(before plainshell.Shells) { b.shells = before }(b.shells)
	b.shells = shells
	do()
}

// leave notes a folder in which the call may leave its shell, "" for one that
// is not known.
func (b *builder) leave(folder string) {
	if folder != b.c.Cwd && !slices.Contains(b.left, folder) {
		b.left = append(b.left, folder)
	}
}
