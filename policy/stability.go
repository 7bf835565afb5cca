package policy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/policy/weight"
)

// This file keeps permd from using half of a change.
//
// Changing several files is not atomic, and neither is changing one: most
// programs truncate a file before they write it, some remove it first. A reader
// in between sees rules that nobody wrote, and a missing deny among them is an
// allow. So files are used only when
//
//   - none of them was changed in the last 100 ms, and
//   - reading all of them again gives the same bytes, files and times.
//
// Until then they are read repeatedly, and the former rules stay in use. A
// longer pause between two writes is not recognised. The worst case of that is
// a slow program, as in "generate > a.rego", which leaves an empty file, or none, for
// as long as it runs: see recentlyEmptied.
const (
	// quietPeriod is how long files must have been unchanged. File times lag
	// the clock by up to 10 ms.
	quietPeriod = 100 * time.Millisecond
	// loadTimeout is how long one reload waits for that, for all layers together.
	loadTimeout = 2 * time.Second
	// emptyGrace is how long a file must have been empty or gone before its rules
	// are dropped, and reloadEmptyGrace the same when a person requests a reload.
	emptyGrace       = 10 * time.Second
	reloadEmptyGrace = time.Second
)

// delays are how long a store waits. Tests of what comes after a wait shorten it.
type delays struct{ poll, folders, quiet, load, empty, reloadEmpty time.Duration }

var defaultDelays = delays{pollInterval, lookPatience, quietPeriod, loadTimeout, emptyGrace, reloadEmptyGrace}

// folderContents is the contents of the folders of a layer at one time.
type folderContents struct {
	files    []source.File
	dirs     []string  // all folders that were read, to watch
	problems diag.List // why the files cannot be used, nil if they can
	digest   string    // digest of the files
	stamp    string    // changes with any change of the files
	newest   time.Time
}

// readOnce reads the folders of a layer.
func (s *Store) readOnce(n *layerState) *folderContents {
	out := &folderContents{}
	rules := s.rulesOf(n)
	var stamps []string
	for _, dir := range n.dirs {
		t, err := s.readFolder(n, dir, rules)
		out.dirs = append(out.dirs, t.Dirs...)
		out.files = append(out.files, t.Files...)
		stamps = append(append(stamps, dir), t.Stamps...)
		if t.Newest.After(out.newest) {
			out.newest = t.Newest
		}
		if err == nil {
			err = weight.CheckText(n.layer, out.files)
		}
		if err != nil {
			out.problems.AddErr(err)
			stamps = append(stamps, err.Error())
			break
		}
	}
	out.files = append(out.files, n.delivered...)
	out.digest = n.digestOf(out.files, nil)
	out.stamp = source.Digest(append(stamps, out.digest), nil)
	return out
}

// readFolder reads one folder of a layer, and does not wait for a file system that does
// not answer.
func (s *Store) readFolder(n *layerState, dir string, rules source.Access) (*source.Tree, error) {
	if s.opts.Files == nil {
		return s.opts.readDir(dir, rules)
	}
	type contents struct {
		tree *source.Tree
		err  error
	}
	c, err := mounts.Tree(s.opts.Files, dir, s.delays.load, n.layer == decisions.Project, func(dir string) (contents, error) {
		t, err := s.opts.readDir(dir, rules)
		return contents{t, err}, nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &source.Tree{}, nil
	case err != nil:
		return &source.Tree{}, diag.Problem{File: dir, Text: "opening the folder: " + diag.WithoutPath(err)}.AsError()
	}
	return c.tree, c.err
}

// read reads the folders of a layer once they are stable, or returns false if
// they keep changing. Contents that were examined before need no wait: they
// change nothing.
func (s *Store) read(ctx context.Context, n *layerState, how loadOptions) (*folderContents, bool) {
	begun := time.Now()
	for r := s.readOnce(n); ; r = s.readOnce(n) {
		if r.unchanged(n) {
			return r, true
		}
		// Not the store's clock: it is compared with file times.
		now := time.Now()
		rest := s.delays.quiet - now.Sub(r.newest)
		if how.immediate {
			if d := n.recentlyEmptied(r, begun, now, s.delays.reloadEmpty); d != nil {
				rest = d.end.Sub(now)
			}
		}
		if rest <= 0 {
			if again := s.readOnce(n); again.stamp == r.stamp {
				return r, true
			}
			rest = 0
		}
		if now.After(how.deadline) || !wait(ctx, rest+time.Millisecond) {
			return r, false
		}
	}
}

// unchanged reports whether these files were examined before.
func (r *folderContents) unchanged(n *layerState) bool {
	return !r.problems.Failed() && n.lastDigest == r.digest
}

// wait waits and reports whether it was not cut short.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// doubted are files whose rules are in use and that have lost their content: somebody
// may be about to write them.
type doubted struct {
	names []string
	end   time.Time // when the last of them is believed
	gone  bool      // the first of them was removed
	// since is when each was first read so; those that are believed by now are
	// there as well.
	since map[string]time.Time
	// files are those that were read, with the former content of the others.
	files []source.File
}

// recentlyEmptied returns the files whose rules are in use and that became blank, or
// disappeared, less than doubt ago; nil if there are none. A file with comments is
// not blank here, and one that has only been renamed has not disappeared. begun is
// when the files were first read to learn about this change.
//
// A kernel truncates a file before it sets its time, so an empty file may still have
// the time of its former content; and the time of a folder may be any. Then it counts
// when the file was first read so.
func (n *layerState) recentlyEmptied(r *folderContents, begun, now time.Time, doubt time.Duration) *doubted {
	left, contents := map[string]source.File{}, map[[sha256.Size]byte]bool{}
	for _, f := range r.files {
		left[f.Name] = f
		contents[sha256.Sum256(f.Data)] = true
	}
	d := &doubted{since: map[string]time.Time{}}
	for i := range n.nonEmpty {
		former := &n.nonEmpty[i]
		f, ok := left[former.Name]
		since, noticed := n.doubted[former.Name]
		if !noticed {
			since = begun
		}
		at := since
		switch {
		case ok && !f.IsEmpty():
			continue
		case !ok && contents[sha256.Sum256(former.Data)]:
			continue // renamed
		case ok && !f.ModTime.Equal(former.ModTime):
			at = f.ModTime
		}
		d.since[former.Name] = since
		if age := now.Sub(at); age < -quietPeriod || age >= doubt {
			continue
		}
		if last := at.Add(doubt); last.After(d.end) {
			d.end = last
		}
		if d.names == nil {
			d.gone = !ok
		}
		d.names = append(d.names, former.Name)
		left[former.Name] = *former
	}
	if d.names == nil {
		return nil
	}
	// In the order in which folders are read.
	d.files = slices.SortedFunc(maps.Values(left), func(a, b source.File) int {
		return cmp.Or(cmp.Compare(slices.Index(n.dirs, a.Dir), slices.Index(n.dirs, b.Dir)), cmp.Compare(a.Rel, b.Rel))
	})
	return d
}

// quarantine uses the other files, as they are now, and keeps the former rules of
// the doubted ones while it is not known whether their removal is intended: their
// denies and asks still apply, and their allows do not count, so that in either case
// nothing is allowed by mistake. Where that does not compile, the rules in use stay.
func (s *Store) quarantine(ctx context.Context, next *layerState, d *doubted, now time.Time) *layerState {
	built := *next
	built.lastDigest = ""
	if b := s.build(ctx, &built, d.files, nil); b.state != StateDegraded {
		*next = *b
		next.nonEmpty = source.NonEmpty(d.files)
	}
	what := "was emptied"
	if d.gone {
		what = "was removed"
	}
	var ps diag.List
	ps.FileErrorf(d.names[0], "if that is intended, permd reload confirms it now; if not, restore the file",
		"%s; its denies and asks are kept until %s, its allows are not", what, d.end.Local().Format(time.TimeOnly))
	next.quarantined, next.doubted, next.recheckAt, next.lastDigest = d.names, d.since, d.end, ""
	return next.degrade(ps, now)
}

// markUnstable keeps the rules in use while their files are changing.
func (n *layerState) markUnstable(now time.Time) *layerState {
	var ps diag.List
	ps.FileErrorf(n.dirs[0], "permd looks again by itself", "its files keep changing; what they held %v without a change will be used", quietPeriod)
	n.recheckAt, n.lastDigest = time.Now(), ""
	return n.degrade(ps, now)
}

// digestOf is the digest of a layer's files. Where its folders lie does not count, so that a copy
// of them has the same one.
func (n *layerState) digestOf(files []source.File, disable []string) string {
	named := slices.Clone(files)
	for i := range named {
		named[i].Name = strconv.Itoa(slices.Index(n.dirs, named[i].Dir)) + "/" + named[i].Rel
	}
	return source.Digest(slices.Concat([]string{string(n.layer), n.org.describedDigest()}, disable, n.trustKey(files)), named)
}
