package decisions

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/tools"
)

// maxFolders is how many folders the shell of a batch may be in; with more it may be in
// any.
const maxFolders = 8

// earlierCalls tracks how the calls of a request affect later ones. All are decided before
// any of them runs, so each is decided for the state that it will find: with the
// links that earlier calls make, in the folder that they change to. Denied calls do
// not run and have no effect.
type earlierCalls struct {
	before  effects.Disturbance
	opaque  bool // one of them may change what it does not name
	changed bool // the shell changed in ways that cannot be followed
	folders []string
	// activated are the folders of programs that its shell may look into first.
	activated []string
}

// prepare adds to a call what the earlier ones may change.
func (b *earlierCalls) prepare(c *effects.Call, profiles *tools.Profiles) {
	c.Before = b.before
	if !b.changed && len(b.folders) == 0 && len(b.activated) == 0 || !profiles.LiveShell(c.Harness()) && !c.Declared.RunsShell() {
		return
	}
	for _, bin := range b.activated {
		if !slices.Contains(c.Activated, bin) {
			c.Activated = append(slices.Clip(c.Activated), bin)
		}
	}
	c.LiveShell = c.LiveShell || b.changed
	for _, f := range b.folders {
		if !slices.Contains(c.Folders, f) {
			c.Folders = append(slices.Clip(c.Folders), f)
		}
	}
}

// add records what a decided call may change for the calls after it.
func (b *earlierCalls) add(d *Decision, after effects.Disturbance) {
	if d.Verdict == Deny {
		return
	}
	b.before = after
	b.opaque = b.opaque || d.Opaque
	for i := range d.Effects {
		b.changed = b.changed || d.Effects[i].Kind == effects.KindState
	}
	for _, bin := range d.Left().Activated {
		if len(b.activated) >= maxFolders {
			bin = ""
		}
		if !slices.Contains(b.activated, bin) {
			b.activated = append(b.activated, bin)
		}
	}
	for _, f := range d.Left().Folders {
		switch {
		case slices.Contains(b.folders, f):
		case f == "" || len(b.folders) >= maxFolders:
			b.changed = true
		default:
			b.folders = append(b.folders, f)
		}
	}
}
