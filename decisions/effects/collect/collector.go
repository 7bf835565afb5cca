// Package collect holds the effects of one call while its words are read, and knows
// what the effects so far may change for those that follow: files that are written,
// links that are made, folders that are rearranged. What the words mean is decided by
// its callers.
package collect

import (
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/programs"
)

// Collector collects the effects of one call.
type Collector struct {
	FS    effects.FS
	Table *programs.Table
	Call  *effects.Call
	Paths *paths.Resolver

	Effects []effects.Effect
	// Rearranged holds the folders in which an earlier run of the call may have
	// put links anywhere (git checkout): paths below them are not known.
	Rearranged []string
	// Files are names of Paths.Disturbed that were given to files, and not to links or folders.
	Files []string
	// Asides become Result.Hints, and Opened a part of Result.Rest: see asides.go.
	Asides, Opened []effects.Effect
	TooManyAsides  bool // some of these were left out
	// Depth is the nesting of shell text in shell text.
	innerWords int // see MayGoWithin
	Depth      int
	// Remote is set while the words are those of a command that runs on another
	// machine or in a container.
	Remote bool
	// Objects is at least the number of objects that git adds in one folder by what the call
	// has let it change so far.
	Objects int
	// written counts the effects that change files.
	written int
}

// New returns the collector of a call whose paths res resolves with env.
func New(env paths.Environment, table *programs.Table, c *effects.Call, res *paths.Resolver) Collector {
	return Collector{FS: env.FS, Table: table, Call: c, Paths: res, Rearranged: slices.Clip(c.Before.Trees)}
}

// Add appends an effect and returns its index.
func (c *Collector) Add(e effects.Effect) int {
	if e.Kind == effects.KindWrite || e.Kind == effects.KindDelete {
		c.written++
	}
	e.Shell = c.Depth > 0
	if c.Effects == nil {
		c.Effects = make([]effects.Effect, 0, 8)
	}
	c.Effects = append(c.Effects, e)
	return len(c.Effects) - 1
}

// Unknown appends an Unknown effect.
func (c *Collector) Unknown(from, why string) {
	c.Add(effects.Effect{Kind: effects.KindUnknown, From: from, Why: why, Text: why})
}

// maxInnerWords bounds the words of the commands of a call that are inside others, each counted
// at each level.
const maxInnerWords = 16 << 10

// MayGoWithin reports whether a command of so many words inside another one is followed, and
// counts them. If it is not, the call must ask.
func (c *Collector) MayGoWithin(words int) bool {
	c.innerWords += words
	if c.innerWords > maxInnerWords {
		c.TooManyAsides = true
		return false
	}
	return true
}

// UnknownArg adds an Unknown effect that a word of a run causes.
func (c *Collector) UnknownArg(index, arg int, from, why string) {
	c.Add(effects.Effect{Kind: effects.KindUnknown, From: from, Why: why, Text: why, Via: &effects.Via{Effect: index, Arg: arg}})
}

// TooLarge appends the Unknown effect of a call that does, or may do, more than permd
// looks at.
func (c *Collector) TooLarge(from, why string) {
	c.Add(effects.Effect{Kind: effects.KindUnknown, From: from, Why: why, Text: why, Cause: effects.CauseTooLarge})
}

// NotPlain appends the Unknown effect of text that shells do not all read alike, once
// for each reason.
func (c *Collector) NotPlain(from string, r *plainshell.Refusal) {
	why := r.Error()
	for i := range c.Effects {
		if e := &c.Effects[i]; e.Cause == effects.CauseNotPlain && e.From == from && e.Why == why {
			return
		}
	}
	c.Add(effects.Effect{Kind: effects.KindUnknown, From: from, Why: why, Text: why, Cause: effects.CauseNotPlain, Construct: r.Construct})
}

// DropDuplicates drops each effect from index again on that has a match among those
// from index first on.
func (c *Collector) DropDuplicates(first, again int) {
	old := c.Effects[first+1 : again]
	used := make([]bool, len(old))
	moved := map[int]int{} // new indices of the effects of the second reading
	kept := again
	for i := again; i < len(c.Effects); i++ {
		e := c.Effects[i]
		if e.Via != nil {
			if to, ok := moved[e.Via.Effect]; ok {
				e.Via = &effects.Via{Effect: to, Arg: e.Via.Arg}
			}
		}
		same := -1
		for j := range old {
			if !used[j] && old[j].Kind == e.Kind && old[j].Text == e.Text && reflect.DeepEqual(old[j], e) {
				same = j
				break
			}
		}
		if same >= 0 {
			used[same] = true
			moved[i] = first + 1 + same
			continue
		}
		c.Effects[kept] = e
		moved[i] = kept
		kept++
	}
	c.Effects = c.Effects[:kept]
}

// ProgramName returns the name under which the table has a program, "" for a path
// outside of the system's folders.
func (c *Collector) ProgramName(given string) string {
	if !strings.Contains(given, "/") {
		return given
	}
	if strings.Contains(given, "..") || given[0] != '/' {
		return ""
	}
	clean := path.Clean(given)
	if c.Table.SystemFolder(path.Dir(clean)) {
		return path.Base(clean)
	}
	return ""
}

// NetworkProgram reports whether a program's output comes from the network.
func (c *Collector) NetworkProgram(name string) bool {
	if p := c.Table.Program(name); p != nil && p.Network {
		return true
	}
	if p := c.Table.OverlayProgram(name); p != nil && p.Network {
		return true
	}
	return c.Table.Shell.Network[name]
}
