package policy

import (
	"bytes"
	"path"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/list"
	"github.com/permd/permd/policy/source"
)

// onlyStricter compares the files of a layer. mixed has the new content of those lists that only
// became stricter, and the former one of all others; all is set if that is the new files, and
// some if it is not the former ones.
func onlyStricter(before, now []source.File) (mixed []source.File, all, some bool) {
	all = true
	find := func(files []source.File, name string) source.File {
		if i := slices.IndexFunc(files, func(f source.File) bool { return f.Name == name }); i >= 0 {
			return files[i]
		}
		return source.File{}
	}
	for i := range now {
		f := &now[i]
		was := find(before, f.Name)
		switch {
		case was.Name != "" && bytes.Equal(was.Data, f.Data):
			mixed = append(mixed, *f)
		case f.IsList() && stricterList(was, *f):
			mixed, some = append(mixed, *f), true
		default:
			if all = false; was.Name != "" {
				mixed = append(mixed, was)
			}
		}
	}
	for i := range before {
		was := &before[i]
		switch {
		case find(now, was.Name).Name != "":
		case was.IsList() && stricterList(*was, source.File{}):
			some = true
		default:
			mixed, all = append(mixed, *was), false
		}
	}
	return mixed, all, some
}

// line is an entry of a list, without what is said about it.
type line struct {
	set     decisions.Set
	kind    string
	text    string
	project string
	alone   bool
}

// stricterList reports whether a list denies and asks for all that it did, and allows no more. A
// file that is not there has no entries.
func stricterList(was, now source.File) bool {
	before, ok := linesOf(was)
	after, okNow := linesOf(now)
	if !ok || !okNow {
		return false
	}
	for l := range before {
		if l.set != decisions.SetAllow && !after[l] {
			return false
		}
	}
	for l := range after {
		if l.set == decisions.SetAllow && !before[l] {
			return false
		}
	}
	return true
}

func linesOf(f source.File) (lines map[line]bool, ok bool) {
	if f.Name == "" || f.IsEmpty() {
		return nil, true
	}
	entries, err := list.Parse(path.Base(f.Name), f.Data)
	if err != nil {
		return nil, false
	}
	lines = make(map[line]bool, len(entries))
	for i := range entries {
		e := &entries[i]
		lines[line{e.Set, string(e.Kind), e.Pattern.String(), e.Project, e.Alone}] = true
	}
	return lines, true
}

// stricter returns the settings in use with what only becomes stricter of others, or changes no
// decision; and which of the rest changes what no replay of decisions shows, "" if none does.
func stricter(inForce, read Switches) (use Switches, unseen string) {
	use = inForce
	use.Shadow, use.Notify = read.Shadow, read.Notify
	use.OnlyOrg = inForce.OnlyOrg || read.OnlyOrg
	use.DenyOnFailure = inForce.DenyOnFailure || read.DenyOnFailure
	use.RefuseDeclared = inForce.RefuseDeclared || read.RefuseDeclared
	for _, one := range []struct {
		use  *bool
		read bool
		key  string
	}{
		{&use.AskGates, read.AskGates, "ask_gates"}, {&use.NoPause, read.NoPause, "no_pause"},
		{&use.NoLock, read.NoLock, "no_lock"}, {&use.NoArguments, read.NoArguments, "no_arguments"},
	} {
		if one.read {
			*one.use = true
		} else if *one.use {
			unseen = one.key
		}
	}
	var milder string
	if use.Restrictions, milder = inForce.Restrictions.Stricter(&read.Restrictions); milder != "" {
		unseen = milder
	}
	if key := use.tightenTrust(&read); key != "" {
		unseen = key
	}
	if read.Reload != inForce.Reload {
		unseen = "reload"
	}
	return use, unseen
}
