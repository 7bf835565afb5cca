package pattern

import (
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/publicsuffix"
)

// Wider is a line that covers more than one effect, suggested as a meaning of
// an answer about that effect.
type Wider struct {
	// Level orders the lines for one effect from the narrowest, from 1.
	Level   int
	Pattern *Pattern
}

// minFolderDepth is the minimum number of components of a folder outside any
// project for its subtree to be suggested: /home/ana is too wide.
const minFolderDepth = 3

// maxPrefix bounds the words after the program in a suggested prefix.
const maxPrefix = 15

// Widen returns lines that match the effect and similar ones, each wider than
// the one before. There are none for an effect with guarded tags, nor for
// effects that a line would only seem to describe: shell text in a word, a
// program given as a path, input that is text or comes from the network.
func Widen(e *effects.Effect, all []effects.Effect, ctx Context) []Wider {
	if e.Guarded() != 0 {
		return nil
	}
	var found []Wider
	add := func(level int, p *Pattern) {
		// What a person is shown must be what is meant: the line is parsed
		// again.
		again, err := Parse(p.Kind, p.String())
		if err == nil && again.worst() <= dangerOf(e) && again.Match(e, all, ctx) && !slices.ContainsFunc(found, func(w Wider) bool {
			return w.Pattern.String() == again.String()
		}) {
			found = append(found, Wider{level, again})
		}
	}
	switch e.Detail() {
	case effects.DetailRun:
		if r := prefixOf(e); r != nil {
			add(1, &Pattern{Kind: e.Kind, Run: r})
		}
	case effects.DetailFile:
		for i, p := range subtrees(e, ctx) {
			add(i+1, &Pattern{Kind: e.Kind, Path: p})
		}
	case effects.DetailConnect:
		if h := suffixOf(e); h != nil {
			add(2, &Pattern{Kind: e.Kind, Host: h})
		}
	case effects.DetailUse, effects.NoDetail:
	}
	return found
}

// prefixOf returns the shortest prefix of a run that covers only harmless
// options and operands in addition to those that are spelled out and the
// options that are named; nil if there is none.
func prefixOf(e *effects.Effect) *Run {
	r := e.Run
	switch {
	case strings.Contains(r.Program, "/"), r.Script != nil, e.Tags.Has(effects.Outside),
		r.Stdin == effects.StdinText, r.Stdin == effects.StdinNetwork && !r.Readonly:
		return nil
	}
	n, named := nameableWords(r, max(r.OptionsFrom, subcommandEnd(r), r.LimitedTo))
	if n > len(r.Args) || n+len(named) > maxPrefix || !r.Known && n == 0 {
		return nil // the first word of an unknown program may be anything
	}
	p := &Run{Program: r.Program, Rest: true, Named: named}
	for _, word := range r.Args[:n] {
		p.Words = append(p.Words, Glob{word})
	}
	// One that repeats the whole call, with a path at its end, and then takes anything is no
	// meaning of an answer. With a program that is not known a file may be its script (tsx
	// gen.ts *).
	if n == len(r.Args) && n > subcommandEnd(r) && !IsOption(r.Args[n-1]) && strings.ContainsAny(r.Args[n-1], "./") &&
		(r.Known || len(path.Ext(r.Args[n-1])) < 2) {
		return nil
	}
	return p
}

// nameableWords returns the words that are not harmless, from index n on, in the
// form in which a line can name them; n skips those that it cannot.
func nameableWords(r *effects.Run, n int) (int, []string) {
	var named []string
	before := -1
	for _, i := range r.Harmful {
		if i < n || i >= len(r.Args) {
			continue
		}
		word := r.Args[i]
		value := len(named) > 0 && IsOption(named[len(named)-1]) && i == before+1
		if word == "--" || !IsOption(word) && !value {
			n, named = i+1, nil
			continue
		}
		named, before = append(named, word), i
	}
	return n, named
}

// subcommandEnd returns the index after the last word of the sub-command; more
// than there are words if it is not in them.
func subcommandEnd(r *effects.Run) int {
	end := 0
	for word := range strings.FieldsSeq(r.Subcommand) {
		i := slices.Index(r.Args[end:], word)
		if i < 0 {
			return len(r.Args) + 1
		}
		end += i + 1
	}
	return end
}

// subtrees returns the folder that a path is in and, in a project, the project.
// Outside a project, a read is suggested with a folder that is likely to recur.
//
// None reaches something more dangerous than the effect (see danger). What is
// deleted is suggested with the other files of its folder alone, and what a command writes
// not with the whole project.
func subtrees(e *effects.Effect, ctx Context) []*Path {
	if e.Tags.Has(effects.System) || e.Tags.Has(effects.Vital) || e.Tags.Has(effects.Device) {
		return nil
	}
	file := e.File.Path
	folder := path.Dir(file)
	// What is rewritten with all below it is mostly a folder; a name like x.go is a file's.
	if e.File.Recursive && (e.Kind != effects.KindWrite || strings.LastIndexByte(path.Base(file), '.') < 1) {
		folder = file
	}
	within := subtree
	if e.Kind == effects.KindDelete {
		within = filesOf
	}
	if root := ctx.Project; root != "" && (folder == root || below(folder, root)) {
		rel := strings.Trim(strings.TrimPrefix(folder, root), "/")
		var list []*Path
		if rel != "" {
			list = append(list, within(Project, rel))
		}
		if e.Kind == effects.KindRead || e.Kind == effects.KindWrite && !e.Shell {
			list = append(list, subtree(Project, ""))
		}
		return list
	}
	rel := strings.Trim(folder, "/")
	if strings.Count(rel, "/")+1 < minFolderDepth {
		return nil
	}
	if e.Kind == effects.KindRead {
		rel = aboveGeneratedName(rel)
	}
	return []*Path{within(Root, rel)}
}

// aboveGeneratedName returns the folder above the first one whose name was
// generated by a program, such as run-2026-06-23T08-07-13Z: that name will not
// recur, so remembering it would be useless.
func aboveGeneratedName(rel string) string {
	parts := strings.Split(rel, "/")
	for i := minFolderDepth; i < len(parts); i++ {
		if isGeneratedName(parts[i]) {
			return strings.Join(parts[:i], "/")
		}
	}
	return rel
}

// minDigits is the number of digits that make a name a time stamp or a random
// one; versions have fewer.
const minDigits = 6

func isGeneratedName(name string) bool {
	digits := 0
	for i := range len(name) {
		if '0' <= name[i] && name[i] <= '9' {
			digits++
		}
	}
	return digits >= minDigits
}

// subtree returns the line for all below a folder.
func subtree(base Base, rel string) *Path { return inFolder(base, rel, nil) }

// filesOf returns the line for the files in a folder itself.
func filesOf(base Base, rel string) *Path { return inFolder(base, rel, Glob{"", ""}) }

func inFolder(base Base, rel string, last Glob) *Path {
	p := &Path{Base: base}
	for part := range strings.SplitSeq(rel, "/") {
		if part != "" {
			p.Parts = append(p.Parts, Glob{part})
		}
	}
	p.Parts = append(p.Parts, last)
	return p
}

// suffixOf returns the domain that an organisation registered, below which the
// host is, with the port of the effect.
func suffixOf(e *effects.Effect) *Host {
	c := e.Connect
	if _, err := netip.ParseAddr(c.Host); err == nil || c.Port == 0 || e.Tags.Has(effects.Loopback) || e.Tags.Has(effects.Private) {
		return nil
	}
	name, ok := publicsuffix.Registered(c.Host)
	if !ok || name == c.Host {
		return nil
	}
	// A suffix that is not in the list may belong to anybody; only one that is
	// managed, or has a dot, identifies the owner of the names below it.
	if suffix, known := publicsuffix.Of(c.Host); !known && !strings.Contains(suffix, ".") {
		return nil
	}
	return &Host{Name: name, Below: true, Port: c.Port}
}
