package targets

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// maxTargets bounds each file that targets are read from, and all that an answer is bound to,
// in bytes.
const maxTargets = 1 << 20

// maxNames is the maximum number of names in a folder that is listed.
const maxNames = 4096

// reading looks at the files that say what a run executes. Each that is looked at is noted,
// also one that does not exist: it would be read if it did. What the call, or one before it,
// may write is not known.
type reading struct {
	fsys  effects.FS
	after *effects.Disturbance
	run   *effects.Run
	// person is whose settings the program obeys besides.
	person *effects.User
	files  []string // absolute, as they were looked at
	why    string   // the first reason why what is executed is not known
	// all is set if the files are looked for, known or not.
	all bool
}

// goesOn reports whether there is a use in reading on.
func (rd *reading) goesOn() bool { return rd.why == "" || rd.all }

// cwd is the folder that the program runs in.
func (rd *reading) cwd() string { return path.Clean(rd.run.Cwd) }

// fail says why what the run executes is not known, after "not remembered: ".
func (rd *reading) fail(why string) { rd.why = cmp.Or(rd.why, why) }

// failed is fail about a file.
func (rd *reading) failed(file, why string) { rd.fail(path.Base(file) + " " + why) }

// note notes a file.
func (rd *reading) note(file string) {
	if !slices.Contains(rd.files, file) {
		rd.files = append(rd.files, file)
	}
	if MayChange(rd.fsys, rd.after, file) {
		rd.failed(file, "may be written by the call itself")
	}
}

// exists reports whether there is something at a path; what is uncertain fails.
func (rd *reading) exists(file string) bool {
	rd.note(file)
	_, err := rd.fsys.Lstat(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		rd.failed(file, "cannot be looked at")
	}
	return err == nil
}

// read returns the text of a file, and whether there is one.
func (rd *reading) read(file string) (text []byte, there bool) {
	rd.note(file)
	text, err := rd.fsys.ReadFile(file, maxTargets)
	switch {
	case err == nil:
		return text, true
	case !errors.Is(err, fs.ErrNotExist):
		rd.failed(file, "cannot be read, or is too large")
	}
	return nil, false
}

// names returns the names in a folder, sorted, with those that the call may add; a folder
// that does not exist has none.
func (rd *reading) names(dir string) (names []string) {
	folders, ok := namesOf(rd.fsys, dir)
	if !ok {
		rd.failed(dir, "cannot be looked at")
		return nil
	}
	list, err := rd.fsys.Names(folders[len(folders)-1], maxNames)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		rd.failed(dir, "cannot be listed, or has too many files")
		return nil
	}
	for _, n := range list {
		names = append(names, n.Name())
	}
	if !rd.after.None() {
		if slices.ContainsFunc(folders, func(f string) bool { return rd.after.MayWrite(path.Join(f, "\x00")) }) {
			rd.failed(dir, "may be changed by the call itself")
		}
		for _, changed := range slices.Concat(rd.after.Written, rd.after.Paths) {
			for _, f := range folders {
				if below, ok := lexpath.RelBelow(lexpath.Fold(f), lexpath.Fold(strings.TrimSuffix(changed, "/"))); ok {
					name, _, _ := strings.Cut(below, "/")
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// clipped is text from a file, short.
func clipped(text string) string {
	if len(text) > 40 {
		text = strings.ToValidUTF8(text[:40], "") + "…"
	}
	return text
}
