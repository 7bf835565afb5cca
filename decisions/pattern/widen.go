package pattern

import (
	"net/netip"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/permd/permd/decisions/effects"
)

// Wider is a line that is about more than one effect, as a suggestion of what
// an answer about that effect could mean.
type Wider struct {
	// Level orders the lines for one effect from the narrowest, from 1.
	Level   int
	Pattern *Pattern
}

// minFolderDepth is how many components a folder outside of any project has at
// least, before a subtree of it is suggested: /home/ana is nobody's detail.
const minFolderDepth = 3

// maxPrefix is the most words after the program in a suggested prefix.
const maxPrefix = 15

// Widen returns lines that match the effect and more of its like, each of them
// wider than the one before. There are none for an effect with guarded tags,
// nor for what a line would only seem to say: shell text in a word, a program
// given as a path, input that is text or comes from the network.
func Widen(e *effects.Effect, all []effects.Effect, ctx Context) []Wider {
	if e.Guarded() != 0 {
		return nil
	}
	var found []Wider
	add := func(level int, p *Pattern) {
		// What a person is shown must be what is meant: the line is read back.
		again, err := Parse(p.Kind, p.String())
		if err == nil && again.Match(e, all, ctx) && !slices.ContainsFunc(found, func(w Wider) bool {
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

// prefixOf is the shortest prefix of a run that covers only harmless options
// and operands in addition to those that are spelled out and the options that are
// named; nil if there is none.
func prefixOf(e *effects.Effect) *Run {
	r := e.Run
	switch {
	case strings.Contains(r.Program, "/"), r.Script != nil, e.Tags.Has(effects.Outside),
		r.Stdin == effects.StdinText, r.Stdin == effects.StdinNetwork && !r.Readonly:
		return nil
	}
	n, named := nameable(r, max(r.OptionsFrom, subcommandEnd(r)))
	if n > len(r.Args) || n+len(named) > maxPrefix || !r.Known && n == 0 {
		return nil // the first word of a program nobody knows may be anything
	}
	p := &Run{Program: r.Program, Rest: true, Named: named}
	for _, word := range r.Args[:n] {
		p.Words = append(p.Words, Glob{word})
	}
	return p
}

// nameable are the words that are not harmless, from index n on, as a line can
// name them; n grows over those that it cannot.
func nameable(r *effects.Run, n int) (int, []string) {
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

// subcommandEnd is the index after the last word of the sub-command; more than
// there are words when it is not in them.
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

// subtrees are the folder that a path is in and, in a project, the project.
// Outside of it, what is read is suggested by a folder that will be met again.
func subtrees(e *effects.Effect, ctx Context) []*Path {
	if e.Tags.Has(effects.System) || e.Tags.Has(effects.Vital) || e.Tags.Has(effects.Device) {
		return nil
	}
	file := e.File.Path
	folder := path.Dir(file)
	if e.File.Recursive && e.Kind != effects.KindDelete {
		folder = file
	}
	if root := ctx.Project; root != "" && (folder == root || below(folder, root)) {
		rel := strings.Trim(strings.TrimPrefix(folder, root), "/")
		var list []*Path
		if rel != "" {
			list = append(list, subtree(Project, rel))
		}
		if e.Kind != effects.KindDelete {
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
	return []*Path{subtree(Root, rel)}
}

// aboveGeneratedName is the folder above the first one whose name a program made up, such
// as run-2026-06-23T08-07-13Z: that name will not come again, so what is said of
// it would never be of use.
func aboveGeneratedName(rel string) string {
	parts := strings.Split(rel, "/")
	for i := minFolderDepth; i < len(parts); i++ {
		if isGeneratedName(parts[i]) {
			return strings.Join(parts[:i], "/")
		}
	}
	return rel
}

// minDigits is how many digits make a name a time stamp or a random one;
// versions have fewer.
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

func subtree(base Base, rel string) *Path {
	p := &Path{Base: base}
	for part := range strings.SplitSeq(rel, "/") {
		if part != "" {
			p.Parts = append(p.Parts, Glob{part})
		}
	}
	p.Parts = append(p.Parts, nil)
	return p
}

// suffixOf is the domain that an organisation registered, below which the
// host lies, with the port of the effect.
func suffixOf(e *effects.Effect) *Host {
	c := e.Connect
	if _, err := netip.ParseAddr(c.Host); err == nil || c.Port == 0 || e.Tags.Has(effects.Loopback) || e.Tags.Has(effects.Private) {
		return nil
	}
	name, err := publicsuffix.EffectiveTLDPlusOne(c.Host)
	if err != nil || name == c.Host {
		return nil
	}
	// A suffix that is not in the list may be anybody's; only one that is
	// managed, or has a dot, says who owns what is below it.
	if suffix, known := publicsuffix.PublicSuffix(c.Host); !known && !strings.Contains(suffix, ".") {
		return nil
	}
	return &Host{Name: name, Below: true, Port: c.Port}
}
