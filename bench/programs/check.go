package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// checker compares the runs of one program with what permd says about them.
type checker struct {
	trial     *trial
	name      string
	noticed   []string       // hostile files that make permd not allow the program
	excuses   []exception    // of this program
	explained []string       // the reasons of those that were needed
	found     map[string]int // how many forms had each finding
	first     map[string]string
	alone     int // how many forms were tried with some of the hostile files
}

// unnoticed gives the project all hostile files with which permd still allows the
// command line, and returns its effects then. It returns nil if permd allows it
// with none of them.
func (c *checker) unnoticed(ctx context.Context, words []string) ([]effects.Effect, error) {
	t := c.trial
	for range 2 {
		files := slices.DeleteFunc(slices.Clone(hostiles), func(h hostile) bool { return slices.Contains(c.noticed, h.name) })
		if err := t.bad.set(files); err != nil {
			return nil, err
		}
		verdict, list, err := t.judge.decide(ctx, t.bad, words)
		if err != nil || verdict == decisions.Allow {
			return list, err
		}
		if err := c.notice(ctx, words, files); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// notice finds the hostile files that make permd not allow the command line.
func (c *checker) notice(ctx context.Context, words []string, files []hostile) error {
	for _, h := range files {
		if err := c.trial.bad.set([]hostile{h}); err != nil {
			return err
		}
		verdict, _, err := c.trial.judge.decide(ctx, c.trial.bad, words)
		if err != nil {
			return err
		}
		if verdict != decisions.Allow {
			c.noticed = append(c.noticed, h.name)
		}
	}
	return nil
}

// Bounds of the runs with some of the hostile files.
const (
	maxApart = 3  // forms of a program
	together = 15 // files
)

// apart tries a command line that fails with all hostile files again with a few at
// a time, so that a file that breaks it does not hide what another one does.
func (c *checker) apart(ctx context.Context, words []string) error {
	if c.alone++; c.alone > maxApart {
		return nil
	}
	files := slices.DeleteFunc(slices.Clone(hostiles), func(h hostile) bool { return slices.Contains(c.noticed, h.name) })
	return c.some(ctx, words, files, together)
}

func (c *checker) some(ctx context.Context, words []string, files []hostile, size int) error {
	t := c.trial
	for part := range slices.Chunk(files, size) {
		if err := t.bad.set(part); err != nil {
			return err
		}
		verdict, list, err := t.judge.decide(ctx, t.bad, words)
		if err != nil {
			return err
		}
		if verdict != decisions.Allow {
			continue
		}
		good, err := t.try(ctx, c, t.bad, words, list)
		if err == nil && !good && len(part) > 1 {
			err = c.some(ctx, words, part, 1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// changing matches parts of names that differ from run to run.
var changing = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9_.Z-]+|/[0-9a-f]{2}/[0-9a-f]{38,}|\b[0-9a-f]{12,}\b|\d{4,}`)

// ownEntry matches the files of /proc that a process may write about itself: names
// of threads, and what a crash keeps.
var ownEntry = regexp.MustCompile(`^/proc/(self|\d+)/(task/\d+/comm|coredump_filter)$`)

// check notes what a run did that is no effect of the decision. It reports whether
// the run changed the place.
func (c *checker) check(w *place, words []string, r *run, list []effects.Effect) (changed bool) {
	seen := map[string]bool{}
	add := func(what, detail string) {
		detail = strings.NewReplacer(w.project+"/", "", w.home+"/", "~/", w.root, "ROOT").Replace(detail)
		if c.excused(what, detail, words) {
			return
		}
		text := what + " " + changing.ReplaceAllString(detail, "…")
		if !seen[text] {
			seen[text] = true
			c.note(what, changing.ReplaceAllString(detail, "…"), words)
		}
	}
	for i, e := range r.execs {
		switch {
		case strings.HasPrefix(e.file, w.root), !path.IsAbs(e.file):
			add("RUNS", e.file)
		case i > 0 && !e.first && filepath.Base(e.file) != c.name && !runs(e.file, list):
			add("runs", e.file)
		}
	}
	for _, write := range r.writes {
		_, file, _ := strings.Cut(write, " ")
		if file == "/dev/null" || strings.HasPrefix(file, "/dev/tty") || strings.HasPrefix(file, "pipe:") || ownEntry.MatchString(file) {
			continue
		}
		changed = true
		if !path.IsAbs(file) {
			file = path.Join(w.project, file)
		}
		if !writes(file, list) {
			add("writes", file)
		}
	}
	connects := slices.ContainsFunc(list, func(e effects.Effect) bool { return e.Kind == effects.KindConnect })
	for _, at := range r.sends {
		if !connects {
			add("connects", at)
		}
	}
	for _, o := range r.other {
		add("calls", o)
	}
	if bytes.Contains(r.output, []byte(secret)) && !readsSecret(list) {
		add("PRINTS", "a secret")
	}
	for _, file := range r.reads {
		if lexpath.Below(w.home, file) && !covered(file, list) {
			add("reads", file)
		}
	}
	return changed
}

// note counts a difference that a command line has.
func (c *checker) note(what, detail string, words []string) {
	text := what + " " + detail
	if c.found[text] == 0 {
		c.first[text] = quoted(words)
	}
	c.found[text]++
}

// findings returns the differences, each with the first form that had it and how
// many more did.
func (c *checker) findings() []string {
	var all []string
	for _, text := range slices.Sorted(maps.Keys(c.found)) {
		form := c.first[text]
		if n := c.found[text] - 1; n > 0 {
			form += fmt.Sprintf(" (and %d more)", n)
		}
		all = append(all, text+": "+form)
	}
	return all
}

// covered reports whether one of the effects reads a file.
func covered(file string, list []effects.Effect) bool {
	return slices.ContainsFunc(list, func(e effects.Effect) bool {
		return e.Kind == effects.KindRead && e.File != nil && (e.File.Path == file || e.File.Recursive && lexpath.In(e.File.Path, file))
	})
}

func writes(file string, list []effects.Effect) bool {
	return slices.ContainsFunc(list, func(e effects.Effect) bool {
		return e.Kind == effects.KindWrite && e.File != nil && (e.File.Path == file || e.File.Recursive && lexpath.In(e.File.Path, file))
	})
}

// runs reports whether one of the effects, of a wrapper such as time, runs a program.
func runs(file string, list []effects.Effect) bool {
	return slices.ContainsFunc(list, func(e effects.Effect) bool {
		return e.Kind == effects.KindRun && e.Run != nil && e.Run.Program == filepath.Base(file)
	})
}

func readsSecret(list []effects.Effect) bool {
	return slices.ContainsFunc(list, func(e effects.Effect) bool {
		return e.Kind == effects.KindRead && e.File != nil && (e.Tags.Has(effects.Secret) || e.File.Recursive)
	})
}

// forgive collects the exceptions for the program.
func (c *checker) forgive() {
	c.first = map[string]string{}
	for _, e := range exceptions {
		if slices.ContainsFunc(strings.Fields(e.programs), func(p string) bool {
			program, _, _ := strings.Cut(p, "/")
			return program == c.name
		}) {
			c.excuses = append(c.excuses, e)
		}
	}
}

// of reports whether an exception is about a run of a program.
func (e *exception) of(name string, words []string) bool {
	list := strings.Fields(e.programs)
	return slices.Contains(list, name) || len(words) > 1 && slices.Contains(list, name+"/"+words[1])
}

// excused reports whether an exception covers what a run did.
func (c *checker) excused(what, detail string, words []string) bool {
	for _, e := range c.excuses {
		if e.what != what || !e.of(c.name, words) {
			continue
		}
		for _, p := range strings.Fields(e.which) {
			if matches(p, detail) {
				if !slices.Contains(c.explained, e.why) {
					c.explained = append(c.explained, e.why)
				}
				return true
			}
		}
	}
	return false
}

// matches reports whether a path matches a pattern. A final ** is anything, and **/
// at the beginning is any folder.
func matches(pattern, name string) bool {
	if head, ok := strings.CutSuffix(pattern, "**"); ok {
		return strings.HasPrefix(name, head)
	}
	if rest, ok := strings.CutPrefix(pattern, "**/"); ok {
		if ok, _ := path.Match(rest, path.Base(name)); ok {
			return true
		}
	}
	ok, _ := path.Match(pattern, name)
	return ok
}
