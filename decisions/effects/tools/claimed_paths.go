package tools

import (
	"path"

	"github.com/permd/permd/decisions/effects"
)

// claimPaths finds what the paths of the call's claims are on the disk, for rules.
func (t *tool) claimPaths() {
	cl := &t.Call.Claims
	n := len(cl.Diffs) + len(cl.Locations)
	if n == 0 {
		return
	}
	t.claimedPaths = make([]effects.ClaimedPath, 0, min(n, maxHints))
	for _, d := range cl.Diffs {
		t.claimPath(effects.ClaimedPath{AsWritten: d.Path, Source: effects.SourceDiff, Operation: d.Operation}, d.From)
		if d.OldPath != "" {
			t.claimPath(effects.ClaimedPath{AsWritten: d.OldPath, Source: effects.SourceOldPath, Operation: d.Operation}, d.From)
		}
	}
	for _, l := range cl.Locations {
		t.claimPath(effects.ClaimedPath{AsWritten: l.Path, Source: effects.SourceLocation}, l.From)
	}
}

func (t *tool) claimPath(c effects.ClaimedPath, from string) {
	if len(t.claimedPaths) == maxHints {
		if t.missing == "" {
			t.addMissing("the agent names more paths than are looked at")
		}
		return
	}
	if f := t.fileAt(c.AsWritten); f != nil {
		c.Path, c.Tags = f.File.Path, f.Tags
	} else if e := t.Paths.File(effects.KindRead, c.AsWritten, t.Call.Cwd, from); e.File != nil {
		c.Path, c.Tags = e.File.Path, e.Tags
	} else {
		c.Tags = effects.TagsOf(effects.Outside)
	}
	t.claimedPaths = append(t.claimedPaths, c)
}

// fileAt returns an effect on an absolute path that was looked at before, nil if none was.
func (t *tool) fileAt(given string) *effects.Effect {
	if !path.IsAbs(given) {
		return nil // what it is relative to may differ
	}
	for _, list := range [...][]effects.Effect{t.Effects, t.hints} {
		for i := range list {
			if f := list[i].File; f != nil && !f.Recursive && f.AsWritten == given {
				return &list[i]
			}
		}
	}
	return nil
}
