package collect

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
)

// Operand returns the effect of a path that is passed to the kernel unchanged.
func (c *Collector) Operand(kind effects.Kind, word, cwd, from string) effects.Effect {
	return c.CheckLinks(c.Paths.Operand(kind, word, cwd, from))
}

// Entry is Operand for a name that is not followed if it is a link.
func (c *Collector) Entry(kind effects.Kind, word, cwd, from string) effects.Effect {
	return c.CheckLinks(c.Paths.Entry(kind, word, cwd, from))
}

// CheckLinks makes an effect Unknown if an earlier run of the call may have put links
// into its path.
func (c *Collector) CheckLinks(e effects.Effect) effects.Effect {
	if e.File == nil {
		return e
	}
	if c.Rearranges(e.File.Path) {
		why := "an earlier part of the call may change what the path leads to"
		return effects.Effect{Kind: effects.KindUnknown, From: e.From, Why: why, Text: display.Display(string(e.Kind) + " " + e.File.AsWritten + ": " + why)}
	}
	return e
}

// Rearranges reports whether an earlier run of the call may have put links into a path.
func (c *Collector) Rearranges(file string) bool {
	return slices.ContainsFunc(c.Rearranged, func(dir string) bool { return dir == "" || lexpath.Below(dir, file) })
}

// Folder is [paths.Resolver.Folder]. A folder other than the call's, which the shell is in already,
// is not known if an earlier run of the call may have put a link in its place.
func (c *Collector) Folder(cwd string) (effects.Tags, string) {
	tags, folder := c.Paths.Folder(cwd)
	if cwd != c.Call.Cwd && folder != "" && (c.Rearranges(folder) || c.Rearranges(cwd)) {
		return effects.TagsOf(effects.Outside), ""
	}
	return tags, folder
}

// Exists implements [settings.Files].
func (c *Collector) Exists(file string) bool {
	_, err := c.Paths.Lstat(file)
	return err == nil
}

// MayNotAppend reports whether a file is none that can be appended to, as far as its mode and that
// of its folder tell.
func (c *Collector) MayNotAppend(file string) bool {
	if c.FS == nil || c.Writes(file) {
		return true
	}
	if mode, err := c.FS.Lstat(file); err == nil {
		return !mode.IsRegular() || mode.Perm()&0o200 == 0
	}
	folder, err := c.FS.Lstat(path.Dir(file))
	return err != nil || !folder.IsDir() || folder.Perm()&0o300 != 0o300
}

// Target implements [settings.Files].
func (c *Collector) Target(file string) (at string, secret bool) {
	e := c.Operand(effects.KindRead, file, "", "")
	if e.File == nil {
		return "", false
	}
	return e.File.Path, e.Tags.Has(effects.Secret) || e.Tags.Has(effects.Permd)
}

// Resolved implements [settings.Files]. It is the path of Target, of which the rest of the
// effect would take most of the time.
func (c *Collector) Resolved(file string) string {
	at := c.Paths.Resolved(file, "")
	if at == "" || c.Rearranges(at) {
		return ""
	}
	return at
}

// ReadsThroughLinks returns the reads of the targets of links in folders that something
// walks, and whether they are all, or enough to ask. They are not if an earlier part of the
// call may have put links there.
func (c *Collector) ReadsThroughLinks(folders []paths.Followed, from string) (more []effects.Effect, complete bool) {
	if slices.ContainsFunc(folders, func(f paths.Followed) bool { return c.MayLink(f.Path, func(string) bool { return true }) }) {
		return nil, false
	}
	return c.Paths.ReadsThroughLinks(folders, func(link string) effects.Effect { return c.Operand(effects.KindRead, link, "/", from) })
}

// Links returns the links in a folder and below, and whether they are all of those that count.
// They are not if an earlier part of the call may have put such links there.
func (c *Collector) Links(dir string, counts func(link string) bool) (links []string, complete bool) {
	if c.MayLink(dir, counts) {
		return nil, false
	}
	return c.Paths.Links(dir, new(paths.LinkWalk))
}

// MayLink reports whether an earlier part of the call, or an earlier call, may have put a link that
// counts into a folder or below. A folder that is moved brings links with it, and one that is
// linked leads to others; so what is not certainly a file counts by any name.
func (c *Collector) MayLink(dir string, counts func(link string) bool) bool {
	return c.Paths.Unknown || slices.ContainsFunc(c.Rearranged, func(d string) bool { return d == "" || lexpath.In(d, dir) || lexpath.In(dir, d) }) ||
		slices.ContainsFunc(c.Paths.Disturbed, func(p string) bool { return lexpath.In(dir, p) && (counts(p) || !slices.Contains(c.Files, p)) })
}

// AskForUncertainSearches asks if a call connects to the network and searches a folder
// that may hold a secret. Without a connection such a search does not ask: nearly all
// are harmless, and the result stays with the agent.
func (c *Collector) AskForUncertainSearches() {
	if len(c.Paths.UncertainSearches) == 0 || !slices.ContainsFunc(c.Effects, func(e effects.Effect) bool {
		return e.Kind == effects.KindConnect && !e.Tags.Has(effects.Loopback)
	}) {
		return
	}
	for i := range c.Effects {
		if e := &c.Effects[i]; e.Kind == effects.KindRead && e.File != nil && e.File.Recursive && slices.Contains(c.Paths.UncertainSearches, e.File.Path) && !e.Tags.Has(effects.Secret) {
			c.Unknown(e.From, "a search that may pass over a secret, in a call that reaches the network")
			return
		}
	}
}

// maxScript is the maximum size of a script that is hashed, in bytes.
const maxScript = 1 << 20

// Script returns a script's path with the hash of its text, unless that may change
// before it runs. A script that the call itself writes is treated as inline code.
func (c *Collector) Script(file, from string) *effects.Script {
	s := &effects.Script{Path: file}
	if c.Writes(file) {
		why := "a script that an earlier part of the call writes"
		if c.fetches(file) {
			why = "a script that an earlier part of the call fetches"
		}
		c.Unknown(from, why)
		return s
	}
	if c.Stale(file) {
		return s
	}
	if data, err := c.FS.ReadFile(file, maxScript); err == nil {
		sum := sha256.Sum256(data)
		s.SHA256 = hex.EncodeToString(sum[:])
	}
	return s
}

// Glob processes the names that a pattern matches in the folder of e, which is the read
// of that folder. It adds the tags of these names, and returns further reads: of links
// that lead out of the folder or to something guarded and, with tree, of the folders
// among the names; or why the expansion is not known. With list, only links to folders
// are followed, and no file is read.
func (c *Collector) Glob(e *effects.Effect, pattern string, list, tree bool, from string) (more []effects.Effect, why string) {
	dir, r := e.File.Path, c.Paths
	names, why := r.Match(dir)
	if why == "" && len(pattern) > paths.MaxPattern {
		why = "a pattern with more names than permd looks at"
	}
	changed := func(d string) bool { return path.Dir(d) == dir && paths.GlobMatch(pattern, path.Base(d)) }
	if why == "" && (slices.ContainsFunc(r.Disturbed, changed) ||
		slices.ContainsFunc(c.Rearranged, func(d string) bool { return d == "" || lexpath.In(d, dir) })) {
		why = "an earlier part of the call changes what the pattern stands for"
	}
	if why != "" {
		return nil, why
	}
	if paths.GlobMatch(pattern, "..") {
		// To dash, busybox and bash before 5.2; .* is also the folder above.
		to := c.Operand(effects.KindRead, path.Dir(dir), "", from)
		if to.File != nil {
			to.File.Recursive = tree
		}
		more = append(more, to)
	}
	for _, n := range names {
		if !paths.GlobMatch(pattern, n.Name()) {
			continue
		}
		p := paths.Joined(dir, n.Name())
		link := n.Type()&fs.ModeSymlink != 0
		if !link && !list {
			e.Tags |= r.Guard(p)
		}
		if !link && (list || !tree || !n.IsDir()) {
			continue
		}
		to := c.Operand(effects.KindRead, p, "", from)
		if list && to.File != nil {
			if mode, err := r.Lstat(to.File.Path); err == nil && !mode.IsDir() {
				continue
			}
		}
		if to.File != nil {
			to.File.Recursive = tree && (link || n.IsDir())
		}
		if to.File == nil || to.File.Recursive || !lexpath.In(dir, to.File.Path) || to.Guarded() != 0 {
			more = append(more, to)
		}
		if len(more) > maxGlobbed {
			return nil, "a pattern with more links and folders than permd looks at"
		}
	}
	return more, ""
}

const maxGlobbed = 64 // links and folders that one pattern may match

// FileURL returns the path of a file URL. Of a relative one, which is none, programs take
// the rest (aws).
func FileURL(text string) (p, why string) {
	if !strings.HasPrefix(text, "file:") {
		return "", "no file URL"
	}
	if p, why = paths.CurlFileURL(text); why == "" {
		return p, ""
	}
	return strings.TrimPrefix(text[len("file:"):], "//"), ""
}
