package policy

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/source"
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
// a slow program, as in "generate > a.rego", which leaves an empty file for as
// long as it runs: see recentlyEmptied.
const (
	// quietPeriod is how long files must have been unchanged. File times lag
	// the clock by up to 10 ms.
	quietPeriod = 100 * time.Millisecond
	// loadTimeout is how long one reload waits for that, for all layers together.
	loadTimeout = 2 * time.Second
	// emptyGrace is how long a file must have been empty before its rules are
	// dropped, and reloadEmptyGrace the same when a person requests a reload.
	emptyGrace       = 10 * time.Second
	reloadEmptyGrace = time.Second
)

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
		if err != nil {
			out.problems.AddErr(err)
			stamps = append(stamps, err.Error())
			break
		}
	}
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
	c, err := mounts.Tree(s.opts.Files, dir, loadTimeout, n.layer == decisions.Project, func(dir string) (contents, error) {
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
func (s *Store) read(ctx context.Context, n *layerState, emptySince time.Time, how loadOptions) (*folderContents, bool) {
	for r := s.readOnce(n); ; r = s.readOnce(n) {
		if r.unchanged(n) {
			return r, true
		}
		// Not the store's clock: it is compared with file times.
		now := time.Now()
		rest := quietPeriod - now.Sub(r.newest)
		if how.immediate {
			if names, until := n.recentlyEmptied(r, emptySince, now, reloadEmptyGrace); names != nil {
				rest = until.Sub(now)
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

// recentlyEmptied returns the files whose rules are in use and that became
// blank, or disappeared together with all others, less than doubt ago, and when
// that time ends: somebody may be about to write them. A file with comments is
// not blank here.
//
// A kernel truncates a file before it sets its time, so an empty file may still have
// the time of its former content: then emptySince counts, when it was first read so.
func (n *layerState) recentlyEmptied(r *folderContents, emptySince, now time.Time, doubt time.Duration) (names []string, until time.Time) {
	left := map[string]source.File{}
	for _, f := range r.files {
		left[f.Name] = f
	}
	for _, former := range n.nonEmpty {
		name := former.name
		f, ok := left[name]
		switch {
		case ok && len(strings.TrimSpace(string(f.Data))) > 0:
			continue
		case !ok && len(left) > 0:
			continue // removed; the others are present
		case !ok:
			f.ModTime = r.newest // of the folder
		case f.ModTime.Equal(former.modTime):
			f.ModTime = emptySince
		}
		if age := now.Sub(f.ModTime); age < -quietPeriod || age >= doubt {
			continue
		}
		names = append(names, name)
		if end := f.ModTime.Add(doubt); end.After(until) {
			until = end
		}
	}
	return names, until
}

// fileTime is a file of rules with the time of its content.
type fileTime struct {
	name    string
	modTime time.Time
}

// nonEmptyFiles returns the files that are not empty.
func nonEmptyFiles(files []source.File) []fileTime {
	var out []fileTime
	for _, f := range files {
		if !f.IsTest() && len(strings.TrimSpace(string(f.Data))) > 0 {
			out = append(out, fileTime{f.Name, f.ModTime})
		}
	}
	return out
}

// quarantine keeps the rules in use while it is not known whether their removal
// is intended: their denies and asks still apply, and their allows do not
// count, so that in either case nothing is allowed by mistake.
func (n *layerState) quarantine(names []string, until time.Time, now time.Time) *layerState {
	var ps diag.List
	ps.FileErrorf(names[0], "after 10 seconds it is taken as it is, by permd reload after one",
		"has nothing in it any more, as if it was being written; its denies and asks stay")
	n.quarantined, n.recheckAt, n.lastDigest = names, until, ""
	return n.degrade(ps, now)
}

// inQuarantine reports whether a rule's allows do not count, because its file is quarantined.
func inQuarantine(held []string, r *decisions.RuleRef) bool {
	return slices.ContainsFunc(held, func(name string) bool { return strings.HasPrefix(r.At, name+":") })
}

// markUnstable keeps the rules in use while their files are changing.
func (n *layerState) markUnstable(now time.Time) *layerState {
	var ps diag.List
	ps.FileErrorf(n.dirs[0], "permd looks again by itself", "its files keep changing; what they held %v without a change will be used", quietPeriod)
	n.recheckAt, n.lastDigest = time.Now(), ""
	return n.degrade(ps, now)
}

// isBlank reports whether a file holds nothing but comments, so that it has no
// rules. OPA's parser would require a package.
func isBlank(data []byte) bool {
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// digestOf is the digest of a layer's files.
func (n *layerState) digestOf(files []source.File, disable []string) string {
	return source.Digest(slices.Concat([]string{string(n.layer), n.org.programsDigest()}, disable), files)
}
