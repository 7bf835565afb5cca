// Package paths finds out what the paths and addresses of a call name: it follows
// links, knows the session's folders, the project and its working trees, and says
// by tags what lies there. It looks at the file system through [effects.FS] only,
// and runs nothing.
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

// Resolver finds out what paths and addresses of one call name. It caches what
// it saw of the file system, so it belongs to one call and one goroutine.
//
// What it cannot see: a second name of a file that is a hard link (see
// severalNames for what it knows of them), a bind mount, and whatever changes between the decision and the moment the tool
// opens the path. A rule about paths holds against links, not against a
// program that already runs as the person.
type Resolver struct {
	c      *effects.Call
	fs     effects.FS
	Own    *Own
	Others bool

	stats     statCache
	Bases     []base
	next      int      // of bases, which is replaced last
	Disturbed []string // paths that an earlier part of the call may have changed
	Made      []string // folders that an earlier part of the call creates
	Lost      bool     // an earlier part of the call changes something that cannot be told

	listed            []listing       // folders whose names were asked for
	choices           []choice        // folders, with what in them may choose a shim
	Matched           int             // names that patterns were compared with
	searchable        map[string]bool // folders, by whether the caller may search them
	UncertainSearches []string        // folders that are searched and may hold a secret
	ignores           map[string]ignoreFile
	common            map[string][]string // ignore files that hold in all of a repository

	session *sessionPaths // of the session, made when first needed

	named map[Identity]effects.Tags // guarded files with several names, made when first needed
}

// Environment is what paths are looked up with, the same for all calls.
type Environment struct {
	FS  effects.FS // nil: every path is unknown
	Own *Own       // permd's own files, nil for none
	// Others is as in [World].
	Others bool
}

func NewResolver(env Environment, c *effects.Call) *Resolver {
	r := &Resolver{c: c, fs: env.FS, Own: env.Own, Others: env.Others, Disturbed: slices.Clip(c.Before.Paths), Lost: c.Before.Lost}
	if r.fs == nil {
		r.fs = noFS{}
	}
	if r.Own == nil {
		r.Own = &Own{}
	}
	return r
}

// noFS is used by a World without a file system: every path is unknown.
type noFS struct{}

var errNoFS = errors.New("no file system")

func (noFS) Lstat(string) (fs.FileMode, error)        { return 0, errNoFS }
func (noFS) Readlink(string) (string, error)          { return "", errNoFS }
func (noFS) ReadFile(string, int64) ([]byte, error)   { return nil, errNoFS }
func (noFS) Names(string, int) ([]fs.DirEntry, error) { return nil, errNoFS }
func (noFS) Owner(string) (uint32, error)             { return 0, errNoFS }

// File returns the read, write or delete effect of a path as a file tool gets
// it, relative to cwd ("" when not known): a leading ~, $HOME, $PWD, $TMPDIR or
// XDG variable and file URLs are understood. It is an Unknown effect when it
// cannot be told where the path leads, also when a tool that cleans the path
// before it opens it would reach another one than the kernel (link/../x).
//
// A delete means the link itself, not what it leads to, as unlink does.
func (r *Resolver) File(kind effects.Kind, given, cwd, from string) effects.Effect {
	p, why := r.written(given, cwd)
	return r.Effect(kind, Request{AsWritten: given, Path: p, Cwd: cwd, Follow: kind != effects.KindDelete, Both: true}, why, from)
}

// Operand is file for a word that the shell has already expanded and that a
// program hands to the kernel as it is: ~ and $ are plain characters in it.
func (r *Resolver) Operand(kind effects.Kind, word, cwd, from string) effects.Effect {
	return r.Effect(kind, Request{AsWritten: word, Path: word, Cwd: cwd, Follow: kind != effects.KindDelete}, BadPath(word), from)
}

// Entry is operand for programs that act on the name in its folder and not on
// what a link of that name leads to: ln, mv, rm, rename.
func (r *Resolver) Entry(kind effects.Kind, word, cwd, from string) effects.Effect {
	return r.Effect(kind, Request{AsWritten: word, Path: word, Cwd: cwd}, BadPath(word), from)
}

// Disturb notes that an earlier part of the call links, moves or extracts
// something at the word: from now on every path through it is unknown.
func (r *Resolver) Disturb(word, cwd string) {
	if BadPath(word) != "" || len(r.Disturbed) > effects.MaxDisturbed {
		r.Lost = true
		return
	}
	// The name itself, and where it leads if it is a link.
	entry, _, why := r.resolve(Request{Path: word, Cwd: cwd})
	if why == "" {
		var target place
		target, _, why = r.resolve(Request{Path: word, Cwd: cwd, Follow: true})
		r.Disturbed = append(r.Disturbed, entry.Path, target.Path)
	}
	r.Lost = r.Lost || why != ""
	r.Bases = r.Bases[:0]
}

// Mkdir notes that an earlier part of the call creates a folder at the word, so
// that a ".." after it is unambiguous.
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
	AsWritten string // as the call wrote it
	Path      string // given, expanded
	Cwd       string // "" when not known
	Follow    bool   // follow a link in the last component
	Both      bool   // the reader may clean the path before it opens it
}

// resolve finds out where the working folder is.
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

// resolve returns where a path leads, and the path as it would be if there were
// no links.
func (r *Resolver) resolve(q Request) (at place, lexical, why string) {
	if r.Lost {
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

// Effect makes the effect of a path, or the Unknown one that says why not.
func (r *Resolver) Effect(kind effects.Kind, q Request, why, from string) effects.Effect {
	if why == "" {
		if kind == effects.KindWrite {
			if p := path.Clean(q.Path); p == "/dev/stdout" || p == "/dev/stderr" {
				// Where these lead is an effect of its own, of the redirection
				// that set them up.
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

// plain is the effect of a path that needs no tags.
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
	tags, otherName := r.severalNames(kind, at, r.Where(at.Path)|r.guards(at, lexical))
	if kind == effects.KindWrite && strings.Contains(at.Path, "/-") && r.makesOption(at.Path) {
		tags = tags.With(effects.Startup)
	}
	if kind != effects.KindRead && slices.Contains(r.Own.programs, lexpath.Fold(at.Path)) {
		tags = tags.With(effects.Permd)
	}
	if at.mode&fs.ModeDevice != 0 {
		tags = tags.With(effects.Device)
	}
	if at.mode&fs.ModeSymlink != 0 {
		// The name is what the effect is about, yet what it leads to may be
		// what the tool's author meant.
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
	return effects.Effect{
		Kind: kind, From: from, Tags: tags, Text: display.Display(text),
		File: &effects.File{Path: at.Path, AsWritten: q.AsWritten, OtherName: otherName},
	}
}

// guards returns the guarded tags of a path by all of its names.
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

// Name returns a path as a person reads it: from the project's root or the
// home where it lies below one.
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

// harmlessDevice reports whether reading or writing p touches nothing but the
// process itself. The effects of such paths have no tags at all: they are
// neither in the project nor outside of it.
func harmlessDevice(kind effects.Kind, p string) bool {
	switch p {
	case "/dev/null", "/dev/zero", "/dev/full":
		return kind != effects.KindDelete
	case "/dev/random", "/dev/urandom":
		return kind == effects.KindRead
	}
	return false
}
