package effects

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// resolver finds out what paths and addresses of one call name. It caches what
// it saw of the file system, so it belongs to one call and one goroutine.
//
// What it cannot see: a second name of a file that is a hard link, a bind
// mount, and whatever changes between the decision and the moment the tool
// opens the path. A rule about paths holds against links, not against a
// program that already runs as the person.
type resolver struct {
	w  *World
	c  *Call
	fs FS

	seen      seen
	bases     []base
	next      int      // of bases, which is replaced last
	disturbed []string // paths that an earlier part of the call may have changed
	made      []string // folders that an earlier part of the call creates
	lost      bool     // an earlier part of the call changes something that cannot be told

	listed     []listing       // folders whose names were asked for
	choices    []choice        // folders, with what in them may choose a shim
	matched    int             // names that patterns were compared with
	searchable map[string]bool // folders, by whether the caller may search them
	doubts     []string        // folders that are searched and may hold a secret
	ignores    map[string]ignoreFile
	common     map[string][]string // ignore files that hold in all of a repository

	ground *ground // of the session, made when first needed
}

func newResolver(w *World, c *Call) *resolver {
	r := &resolver{w: w, c: c, fs: w.FS, disturbed: slices.Clip(c.Before.paths), lost: c.Before.lost}
	if r.fs == nil {
		r.fs = noFS{}
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

// file returns the read, write or delete effect of a path as a file tool gets
// it, relative to cwd ("" when not known): a leading ~, $HOME, $PWD, $TMPDIR or
// XDG variable and file URLs are understood. It is an Unknown effect when it
// cannot be told where the path leads, also when a tool that cleans the path
// before it opens it would reach another one than the kernel (link/../x).
//
// A delete means the link itself, not what it leads to, as unlink does.
func (r *resolver) file(kind Kind, given, cwd, from string) Effect {
	p, why := r.written(given, cwd)
	return r.effect(kind, request{given: given, path: p, cwd: cwd, follow: kind != KindDelete, both: true}, why, from)
}

// operand is file for a word that the shell has already expanded and that a
// program hands to the kernel as it is: ~ and $ are plain characters in it.
func (r *resolver) operand(kind Kind, word, cwd, from string) Effect {
	return r.effect(kind, request{given: word, path: word, cwd: cwd, follow: kind != KindDelete}, badPath(word), from)
}

// entry is operand for programs that act on the name in its folder and not on
// what a link of that name leads to: ln, mv, rm, rename.
func (r *resolver) entry(kind Kind, word, cwd, from string) Effect {
	return r.effect(kind, request{given: word, path: word, cwd: cwd}, badPath(word), from)
}

// disturb notes that an earlier part of the call links, moves or extracts
// something at the word: from now on every path through it is unknown.
func (r *resolver) disturb(word, cwd string) {
	if badPath(word) != "" || len(r.disturbed) > maxDisturbed {
		r.lost = true
		return
	}
	// The name itself, and where it leads if it is a link.
	entry, _, why := r.resolve(request{path: word, cwd: cwd})
	if why == "" {
		var target place
		target, _, why = r.resolve(request{path: word, cwd: cwd, follow: true})
		r.disturbed = append(r.disturbed, entry.path, target.path)
	}
	r.lost = r.lost || why != ""
	r.bases = r.bases[:0]
}

// mkdir notes that an earlier part of the call creates a folder at the word, so
// that a ".." behind it is no riddle.
func (r *resolver) mkdir(word, cwd string) {
	if badPath(word) != "" || len(r.made) > maxDisturbed {
		return
	}
	at, _, why := r.resolve(request{path: word, cwd: cwd, follow: true})
	if why != "" || !at.missing {
		return
	}
	for p := at.path; p != "/"; p = path.Dir(p) {
		if _, err := r.lstat(p); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		r.made = append(r.made, p)
	}
	r.bases = r.bases[:0]
}

// request is a path to resolve.
type request struct {
	given  string // as the call wrote it
	path   string // given, expanded
	cwd    string // "" when not known
	follow bool   // follow a link in the last component
	both   bool   // the reader may clean the path before it opens it
}

// resolve finds out where the working folder is.
func (b *base) resolve(r *resolver) {
	if !path.IsAbs(b.cwd) {
		b.why = "the working folder is not known"
	} else if b.why = badPath(b.cwd); b.why == "" {
		b.at, b.why = r.walk(rootPlace, b.cwd, true)
		if b.why == "" && !b.at.missing && !b.at.mode.IsDir() {
			b.why = "the working folder is not a folder"
		}
	}
}

// resolve returns where a path leads, and the path as it would be if there were
// no links.
func (r *resolver) resolve(q request) (at place, lexical, why string) {
	if r.lost {
		return at, "", "an earlier part of the call may change what the path leads to"
	}
	if path.IsAbs(q.path) {
		lexical = path.Clean(q.path)
		at, why = r.walk(rootPlace, q.path, q.follow)
	} else {
		if at, why = r.base(q.cwd); why != "" {
			return at, "", why
		}
		lexical = path.Join(q.cwd, q.path)
		if len(lexical) > maxPath {
			return at, "", "path is too long"
		}
		if len(at.aliases) > 0 {
			aliases := make([]string, len(at.aliases))
			for i, a := range at.aliases {
				aliases[i] = path.Join(a, q.path)
			}
			at.aliases = aliases
		}
		at, why = r.walk(at, q.path, q.follow)
	}
	if why == "" && q.both && at.links > 0 && strings.Contains(q.path, "..") {
		cleaned, w := r.walk(rootPlace, lexical, q.follow)
		if w != "" || cleaned.path != at.path {
			why = "path goes up behind a link, which programs read in two ways"
		}
	}
	return at, lexical, why
}

// effect makes the effect of a path, or the Unknown one that says why not.
func (r *resolver) effect(kind Kind, q request, why, from string) Effect {
	if why == "" {
		if kind == KindWrite {
			if p := path.Clean(q.path); p == "/dev/stdout" || p == "/dev/stderr" {
				// Where these lead is an effect of its own, of the redirection
				// that set them up.
				return r.plain(kind, q.given, p, from)
			}
		}
		at, lexical, w := r.resolve(q)
		if w == "" {
			return r.known(kind, q, at, lexical, from)
		}
		why = w
	}
	return Effect{
		Kind: KindUnknown, From: from, Why: why,
		Text: Display(string(kind) + " " + q.given + ": " + why),
	}
}

// plain is the effect of a path that needs no tags.
func (r *resolver) plain(kind Kind, given, p, from string) Effect {
	return Effect{
		Kind: kind, From: from, Text: string(kind) + " " + p,
		File: &File{Path: p, Given: given},
	}
}

func (r *resolver) known(kind Kind, q request, at place, lexical, from string) Effect {
	if harmlessDevice(kind, at.path) {
		return r.plain(kind, q.given, at.path, from)
	}
	tags := r.where(at.path) | r.guards(at, lexical)
	if kind == KindWrite && strings.Contains(at.path, "/-") && r.makesOption(at.path) {
		tags = tags.With(Startup)
	}
	if kind != KindRead && slices.Contains(r.w.Own.programs, fold(at.path)) {
		tags = tags.With(Permd)
	}
	if at.mode&fs.ModeDevice != 0 {
		tags = tags.With(Device)
	}
	if at.mode&fs.ModeSymlink != 0 {
		// The name is what the effect is about, yet what it leads to may be
		// what the tool's author meant.
		if to, _, why := r.resolve(request{path: at.path, follow: true}); why == "" {
			tags |= r.guards(to, to.path)
		}
	}
	text := string(kind) + " " + r.name(at.path)
	if at.links > 0 && at.path != lexical {
		text += " (given as " + q.given + ")"
	}
	return Effect{
		Kind: kind, From: from, Tags: tags, Text: Display(text),
		File: &File{Path: at.path, Given: q.given},
	}
}

// guards returns the guarded tags of a path by all of its names.
func (r *resolver) guards(at place, lexical string) Tags {
	t := r.guard(at.path)
	if lexical != at.path {
		t |= r.guard(lexical)
	}
	for _, a := range at.aliases {
		t |= r.guard(a)
	}
	return t
}

// name returns a path as a person reads it: from the project's root or the
// home where it lies below one.
func (r *resolver) name(p string) string {
	g := r.session()
	if g.project != "" && inside(g.project, p) {
		return "./" + strings.TrimPrefix(p[len(g.project):], "/")
	}
	for _, h := range g.homes {
		if p == h {
			return "~"
		}
		if inside(h, p) {
			return "~" + p[len(h):]
		}
	}
	return p
}

// inside reports whether p is dir or below it; both are absolute and cleaned.
func inside(dir, p string) bool {
	return strings.HasPrefix(p, dir) && (len(p) == len(dir) || dir == "/" || p[len(dir)] == '/')
}

// harmlessDevice reports whether reading or writing p touches nothing but the
// process itself. The effects of such paths have no tags at all: they are
// neither in the project nor outside of it.
func harmlessDevice(kind Kind, p string) bool {
	switch p {
	case "/dev/null", "/dev/zero", "/dev/full":
		return kind != KindDelete
	case "/dev/random", "/dev/urandom":
		return kind == KindRead
	}
	return false
}
