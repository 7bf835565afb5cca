// Package paths resolves the paths and addresses of a call: it follows links, knows
// the session's folders, the project and its working trees, and returns tags for what
// lies there. It reads the file system through [effects.FS] only, and runs nothing.
package paths

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/lexpath"
)

// Resolver resolves the paths and addresses of one call. It caches what it reads from
// the file system, so it belongs to one call and one goroutine.
//
// It cannot detect bind mounts, all other names of a file with several hard links (see
// addOtherTags for those it finds), and changes between the decision and the moment
// when the tool opens the path. A rule about paths protects against links, but not
// against a program that already runs as the person.
type Resolver struct {
	c      *effects.Call
	fs     effects.FS
	Own    *Own
	Others bool

	stats     statCache
	Bases     []base
	next      int      // the entry of bases to replace next
	Disturbed []string // paths that an earlier part of the call may have changed
	Made      []string // folders that an earlier part of the call creates
	Unknown   bool     // an earlier part of the call changes paths that are not known

	listings          []listing       // folders whose names were read
	choices           []choice        // the results of Choosing, by folder
	Matched           int             // number of names compared with patterns
	searchable        map[string]bool // folders, by whether the caller may search them
	UncertainSearches []string        // folders that are searched and may hold a secret
	ignores           map[string]IgnoreFile
	commonIgnoreFiles map[string][]string // ignore files that apply to a whole repository

	// MayReach are the hosts that addresses which are not understood may mean, for denies.
	MayReach     []effects.Effect
	TooManyHosts bool // some of these were left out

	session  *sessionPaths // made when first needed
	folds    [4]foldedPath // the last ones
	nextFold int           // the index of the next one

	// What nearly every call needs.
	sessionMemory sessionPaths
	basesMemory   [2]base

	guardedFiles map[Identity]effects.Tags // guarded files with several names, made when first needed
}

// foldedPath is a path and what lexpath.Fold makes of it.
type foldedPath struct{ path, folded string }

// fold is lexpath.Fold. Most paths are folded several times.
func (r *Resolver) fold(p string) string {
	for i := range r.folds {
		if r.folds[i].path == p {
			return r.folds[i].folded
		}
	}
	f := lexpath.Fold(p)
	r.folds[r.nextFold] = foldedPath{p, f}
	r.nextFold = (r.nextFold + 1) % len(r.folds)
	return f
}

// Environment is what paths are resolved with, the same for all calls.
type Environment struct {
	FS  effects.FS // nil: every path is unknown
	Own *Own       // permd's own files, nil for none
	// Others is as in [World].
	Others bool
}

func NewResolver(env Environment, c *effects.Call) *Resolver {
	r := new(Resolver)
	r.Init(env, c)
	return r
}

// Init makes the zero resolver one as NewResolver returns it.
func (r *Resolver) Init(env Environment, c *effects.Call) {
	r.c, r.fs, r.Own, r.Others, r.Disturbed, r.Unknown = c, env.FS, env.Own, env.Others, slices.Clip(c.Before.Paths), c.Before.Unknown
	if r.fs == nil {
		r.fs = noFS{}
	}
	if r.Own == nil {
		r.Own = &Own{}
	}
}

// noFS is used by a World without a file system: every path is unknown.
type noFS struct{}

var errNoFS = errors.New("no file system")

func (noFS) Lstat(string) (fs.FileMode, error)        { return 0, errNoFS }
func (noFS) Readlink(string) (string, error)          { return "", errNoFS }
func (noFS) ReadFile(string, int64) ([]byte, error)   { return nil, errNoFS }
func (noFS) Names(string, int) ([]fs.DirEntry, error) { return nil, errNoFS }
func (noFS) Owner(string) (uint32, error)             { return 0, errNoFS }

// File returns the read, write or delete effect of a path as a file tool gets it,
// relative to cwd ("" if not known): it expands a leading ~, $HOME, $PWD, $TMPDIR or
// XDG variable, and file URLs. The effect is Unknown if the path cannot be resolved,
// or if a tool that cleans the path before it opens it would reach another file than
// the kernel (link/../x).
//
// Deleting a path deletes a link itself, not its target, as unlink does.
func (r *Resolver) File(kind effects.Kind, given, cwd, from string) effects.Effect {
	p, why := r.parseWritten(given, cwd)
	return r.Effect(kind, Request{AsWritten: given, Path: p, Cwd: cwd, Follow: kind != effects.KindDelete, Both: true}, why, from)
}

// Operand is File for a word that the shell has already expanded and that a program
// passes to the kernel unchanged: ~ and $ are plain characters in it.
func (r *Resolver) Operand(kind effects.Kind, word, cwd, from string) effects.Effect {
	return r.Effect(kind, Request{AsWritten: word, Path: word, Cwd: cwd, Follow: kind != effects.KindDelete}, BadPath(word), from)
}

// Entry is Operand for programs that act on a directory entry and not on the target
// of a link: ln, mv, rm, rename.
func (r *Resolver) Entry(kind effects.Kind, word, cwd, from string) effects.Effect {
	return r.Effect(kind, Request{AsWritten: word, Path: word, Cwd: cwd}, BadPath(word), from)
}

// Disturb records that an earlier part of the call links, moves or extracts something
// at the word: from now on every path through it is unknown.
func (r *Resolver) Disturb(word, cwd string) {
	if BadPath(word) != "" || len(r.Disturbed) > effects.MaxDisturbed {
		r.Unknown = true
		return
	}
	// The name itself, and the target if it is a link.
	entry, _, why := r.resolve(Request{Path: word, Cwd: cwd})
	if why == "" {
		var target place
		target, _, why = r.resolve(Request{Path: word, Cwd: cwd, Follow: true})
		r.Disturbed = append(r.Disturbed, entry.Path, target.Path)
	}
	r.Unknown = r.Unknown || why != ""
	r.Bases = r.Bases[:0]
}

// Mkdir records that an earlier part of the call creates a folder at the word, so that
// a ".." after it is unambiguous.
func (r *Resolver) Mkdir(word, cwd string) {
	if BadPath(word) != "" || len(r.Made) > effects.MaxDisturbed {
		return
	}
	at, _, why := r.resolve(Request{Path: word, Cwd: cwd, Follow: true})
	if why != "" || !at.Missing {
		return
	}
	for p := at.Path; p != "/"; p = path.Dir(p) {
		if _, err := r.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		r.Made = append(r.Made, p)
	}
	r.Bases = r.Bases[:0]
}

// Request is a path to resolve.
type Request struct {
	AsWritten string // as in the call
	Path      string // AsWritten, expanded
	Cwd       string // "" if not known
	Follow    bool   // follow a link in the last component
	Both      bool   // the tool may clean the path before it opens it
}

// resolve resolves the working folder.
func (b *base) resolve(r *Resolver) {
	if !path.IsAbs(b.cwd) {
		b.why = "the working folder is not known"
	} else if b.why = BadPath(b.cwd); b.why == "" {
		b.at, b.why = r.Walk(RootPlace, b.cwd, true)
		if b.why == "" && !b.at.Missing && !b.at.mode.IsDir() {
			b.why = "the working folder is not a folder"
		}
	}
}

// Resolved returns the path that the effect of Operand has for reading a word, without
// the rest of that effect; "" for an Unknown one.
func (r *Resolver) Resolved(word, cwd string) string {
	if BadPath(word) != "" {
		return ""
	}
	at, _, why := r.resolve(Request{Path: word, Cwd: cwd, Follow: true})
	if why != "" {
		return ""
	}
	return at.Path
}

// resolve returns the target of a path, and the path as it would be without links.
func (r *Resolver) resolve(q Request) (at place, lexical, why string) {
	if r.Unknown {
		return at, "", "an earlier part of the call may change what the path leads to"
	}
	if path.IsAbs(q.Path) {
		lexical = path.Clean(q.Path)
		at, why = r.Walk(RootPlace, q.Path, q.Follow)
	} else {
		if at, why = r.base(q.Cwd); why != "" {
			return at, "", why
		}
		lexical = path.Join(q.Cwd, q.Path)
		if len(lexical) > MaxPath {
			return at, "", "path is too long"
		}
		if len(at.aliases) > 0 {
			aliases := make([]string, len(at.aliases))
			for i, a := range at.aliases {
				aliases[i] = path.Join(a, q.Path)
			}
			at.aliases = aliases
		}
		at, why = r.Walk(at, q.Path, q.Follow)
	}
	if why == "" && q.Both && at.links > 0 && strings.Contains(q.Path, "..") {
		cleaned, w := r.Walk(RootPlace, lexical, q.Follow)
		if w != "" || cleaned.Path != at.Path {
			why = "path goes up behind a link, which programs read in two ways"
		}
	}
	return at, lexical, why
}

// Effect returns the effect of a path, or an Unknown one with the reason why.
func (r *Resolver) Effect(kind effects.Kind, q Request, why, from string) effects.Effect {
	if why == "" {
		if kind == effects.KindWrite {
			if p := path.Clean(q.Path); p == "/dev/stdout" || p == "/dev/stderr" {
				// Their targets are effects of the redirections that opened them.
				return r.plain(kind, q.AsWritten, p, from)
			}
		}
		at, lexical, w := r.resolve(q)
		if w == "" {
			return r.known(kind, q, at, lexical, from)
		}
		why = w
	}
	return effects.Effect{
		Kind: effects.KindUnknown, From: from, Why: why,
		Text: display.Display(string(kind) + " " + q.AsWritten + ": " + why),
	}
}

// ByName returns the effect of a cleaned absolute path in which no links are followed, whatever
// lies there.
func (r *Resolver) ByName(kind effects.Kind, given, p, from string) effects.Effect {
	return r.known(kind, Request{AsWritten: given, Path: p}, place{Path: p, Missing: true}, p, from)
}

// plain returns the effect of a path that needs no tags.
func (r *Resolver) plain(kind effects.Kind, given, p, from string) effects.Effect {
	return effects.Effect{
		Kind: kind, From: from, Text: string(kind) + " " + p,
		File: &effects.File{Path: p, AsWritten: given},
	}
}

func (r *Resolver) known(kind effects.Kind, q Request, at place, lexical, from string) effects.Effect {
	if harmlessDevice(kind, at.Path) {
		return r.plain(kind, q.AsWritten, at.Path, from)
	}
	tags, otherName := r.addOtherTags(kind, at, r.Where(at.Path)|r.guards(at, lexical))
	if kind == effects.KindWrite && strings.Contains(at.Path, "/-") && r.makesOption(at.Path) {
		tags = tags.With(effects.Startup)
	}
	if kind != effects.KindRead && slices.Contains(r.Own.programs, r.fold(at.Path)) {
		tags = tags.With(effects.Permd)
	}
	if at.mode&fs.ModeDevice != 0 {
		tags = tags.With(effects.Device)
	}
	if at.mode&fs.ModeSymlink != 0 {
		// The effect is on the entry, but the tool's author may have meant the
		// target.
		if to, _, why := r.resolve(Request{Path: at.Path, Follow: true}); why == "" {
			tags |= r.guards(to, to.Path)
		}
	}
	text := string(kind) + " " + r.Name(at.Path)
	if kind == effects.KindWrite && at.mode&effects.ModeLinked != 0 {
		text += " (a file with further names)"
	}
	if at.links > 0 && at.Path != lexical {
		text += " (given as " + q.AsWritten + ")"
	}
	f := &effects.File{Path: at.Path, AsWritten: q.AsWritten, OtherName: otherName, OtherPaths: at.otherPaths(lexical)}
	if tags.Has(effects.Worktree) {
		f.Tree = r.treeOf(at.Path)
	}
	return effects.Effect{Kind: kind, From: from, Tags: tags, Text: display.Display(text), File: f}
}

// otherPaths returns the paths by which links led to the place, each once.
func (at *place) otherPaths(lexical string) (list []string) {
	if at.links == 0 {
		return nil
	}
	for _, p := range append([]string{lexical}, at.aliases...) {
		if p != at.Path && p != "" && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// guards returns the guarded tags of a path by all its names.
func (r *Resolver) guards(at place, lexical string) effects.Tags {
	t := r.Guard(at.Path)
	if lexical != at.Path {
		t |= r.Guard(lexical)
	}
	for _, a := range at.aliases {
		t |= r.Guard(a)
	}
	return t
}

// Name returns a path for people to read: relative to the project's root or the home
// if it is below one.
func (r *Resolver) Name(p string) string {
	g := r.Session()
	if g.project != "" && lexpath.In(g.project, p) {
		return "./" + strings.TrimPrefix(p[len(g.project):], "/")
	}
	for _, h := range g.Homes {
		if p == h {
			return "~"
		}
		if lexpath.In(h, p) {
			return "~" + p[len(h):]
		}
	}
	return p
}

// harmlessDevice reports whether reading or writing p affects only the process itself.
// The effects of such paths have no tags at all: they are neither in the project nor
// outside of it.
func harmlessDevice(kind effects.Kind, p string) bool {
	switch p {
	case "/dev/null", "/dev/zero", "/dev/full":
		return kind != effects.KindDelete
	case "/dev/random", "/dev/urandom":
		return kind == effects.KindRead
	}
	return false
}
