package settings

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/permd/permd/internal/lexpath"
)

// The person's own settings of git, and those of the system, are written by people who
// are trusted. But what they name may be a file of the project: a relative path
// (core.fsmonitor = ./x), or a program that runs what is there (textconv = sh). So each
// setting has to be one that the run does not read, or to name nothing in the project.

// ownGitConfig is the format of these files.
const ownGitConfig = "own_gitconfig"

// Own reports whether the format is one of the person's own files.
func (s *Format) Own() bool { return s.own }

// OwnRun is what is known of a run that reads the person's own settings.
type OwnRun struct {
	Sub     string // git's sub-command, "" for a program that runs git for its own ends
	Diffs   bool   // it may show changes, by the programs of settings
	Network bool   // it connects
	Folder  string // resolved
	// Helper reports whether a program, by its name, runs nothing that lies in the project
	// by itself: it is no interpreter, no wrapper, and no file of the project chooses it.
	Helper func(name string) bool
}

// Kinds of runs that read a setting, besides the names of sub-commands.
const (
	whenDiffs   = "diffs"
	whenNetwork = "network"
)

// ownCheck is the state of a check of the person's own files.
type ownCheck struct {
	run      *OwnRun
	root     string // the working tree, "" for none
	rooted   bool   // whether root is known
	files    int
	converts string // a setting by which a diff is made of what a filter gives out
	smudges  bool   // whether there is such a filter
	foreign  bool   // the file itself lies in the project
}

// reads reports whether a run of that kind is checked.
func (o *ownCheck) reads(when string) bool {
	switch when {
	case whenDiffs:
		return o.run.Diffs
	case whenNetwork:
		return o.run.Network
	}
	return o.run.Sub == when
}

// Bounds of the files that are included by others. git follows them to a depth of 10.
const (
	maxIncludes     = 32
	maxIncludeDepth = 10
)

// OwnSettings returns the first setting in a file of the person's, or of the system, by
// which a run may do what the project says: SECTION.KEY, or "its content" if the file is
// not understood. It is "" if there is none, or no such file.
func (a *Surroundings) OwnSettings(s *Format, run *OwnRun, file string) string {
	o := &ownCheck{run: run}
	if run.Folder == "" {
		return notUnderstood
	}
	if setting := a.ownFile(s, o, file, 0); setting != "" {
		return setting
	}
	if o.smudges {
		return o.converts
	}
	return ""
}

// NoFile reports whether there is no such file.
func (a *Surroundings) NoFile(file string) bool {
	_, err := a.FS.Lstat(file)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// readTexts are texts that were read before: a person's own files are the same for each run.
// What is read of a text depends on nothing else.
type readTexts struct {
	mu    sync.Mutex
	texts map[string][]entry // nobody changes an entry
}

// maxTexts bounds the texts, each of maxObeyed bytes at most.
const maxTexts = 16

var ownTexts readTexts

func (r *readTexts) read(s *Format, data []byte) ([]entry, error) {
	r.mu.Lock()
	list, ok := r.texts[string(data)]
	r.mu.Unlock()
	if ok {
		return list, nil
	}
	text := string(data)
	list, err := s.read(text)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.texts) >= maxTexts || r.texts == nil {
		r.texts = map[string][]entry{}
	}
	r.texts[text] = list
	return list, nil
}

// notUnderstood is what OwnSettings returns for a file that is not understood.
const notUnderstood = "its content"

func (a *Surroundings) ownFile(s *Format, o *ownCheck, file string, depth int) string {
	if o.files++; o.files > maxIncludes || depth > maxIncludeDepth || a.Files.Changed(file) {
		return notUnderstood
	}
	data, err := a.FS.ReadFile(file, maxObeyed)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return ""
	case err != nil:
		return notUnderstood
	}
	list, err := ownTexts.read(s, data)
	if err != nil {
		return notUnderstood
	}
	c := &settingsCheck{Surroundings: a, file: file, own: o}
	foreign := o.foreign
	o.foreign = c.liesInProject(file)
	for i := range list {
		e := &list[i]
		if e.path[0] == "include" || e.path[0] == "includeif" {
			included, ok := c.included(e)
			if !ok {
				return e.name()
			}
			if setting := a.ownFile(s, o, included, depth+1); setting != "" {
				return setting
			}
			continue
		}
		if !s.allows(c, e) {
			return e.name()
		}
	}
	o.foreign = foreign
	return ""
}

// name is a setting without the name in the middle, which may be anything.
func (e *entry) name() string { return e.path[0] + "." + e.path[len(e.path)-1] }

// included returns the file that a setting includes. Whether the condition of an
// includeIf holds is not looked at.
func (c *settingsCheck) included(e *entry) (string, bool) {
	if e.path[len(e.path)-1] != "path" {
		return "", true // git reads nothing else there, and the path "" is no file
	}
	if c.own.foreign || strings.Contains(e.value, "..") || strings.HasPrefix(e.value, "%(") {
		return "", false
	}
	file, ok := c.fromHome(e.value)
	if !ok {
		return "", false
	}
	if !path.IsAbs(file) {
		file = path.Join(path.Dir(c.file), file)
	}
	return file, true
}

// fromHome returns a path with the person's home in the place of "~".
func (c *settingsCheck) fromHome(text string) (string, bool) {
	rest, ok := strings.CutPrefix(text, "~")
	switch {
	case !ok:
		return text, true
	case c.Home != "" && strings.HasPrefix(rest, "/"):
		return path.Join(c.Home, rest), true
	}
	return "", false // the home of another user
}

// liesInProject reports whether a file of the person's is one of the project: by a link,
// or because another one includes it. Then the project's people wrote it, or the agent. The
// names that git itself looks for are guarded wherever the project is.
func (c *settingsCheck) liesInProject(file string) bool {
	at := c.Files.Resolved(file)
	if at == "" {
		return true
	}
	return c.inProject(at) && path.Dir(at) != c.Home && (c.Home == "" || !lexpath.In(path.Join(c.Home, ".config/git"), at))
}

// inProject reports whether a resolved path is in the project or in the working tree.
func (c *settingsCheck) inProject(p string) bool {
	in := func(root string) bool { return root != "" && lexpath.In(lexpath.Fold(root), lexpath.Fold(p)) }
	return in(c.Project) || in(c.top())
}

// top returns the folder in which git opens relative paths: the top of the working tree,
// or the folder of the run.
func (c *settingsCheck) top() string {
	if o := c.own; !o.rooted {
		o.root, o.rooted = c.TreeAbove(o.run.Folder), true
	}
	if c.own.root == "" {
		return c.own.run.Folder
	}
	return c.own.root
}

// ownKinds report whether a setting is harmless in the person's own files.
var ownKinds = map[string]func(c *settingsCheck, e *entry) bool{
	// A command of programs that lie outside of the project.
	"command": func(c *settingsCheck, e *entry) bool { return c.outsideCommand(e.value, false) },
	// The same; ssh is run for connections, where the host is an effect of its own.
	"ssh": func(c *settingsCheck, e *entry) bool { return c.outsideCommand(e.value, true) },
	// The same, shown instead of what differs.
	"converter": func(c *settingsCheck, e *entry) bool {
		c.own.converts = e.name()
		return c.outsideCommand(e.value, false)
	},
	// The same, by which files of the working tree are made. Those for large files download
	// what the project names, so nothing that only looks may run one.
	"filter": func(c *settingsCheck, e *entry) bool {
		c.own.smudges = true
		return c.own.run.Sub != "archive" && c.outsideCommand(e.value, false)
	},
	// A file whose lines are no secrets of others: the person's choice, or one of the project.
	"file": func(c *settingsCheck, e *entry) bool { return c.ownFilePath(e.value) },
	// Whatever it may be taken for, it names nothing in the project.
	"outside": func(c *settingsCheck, e *entry) bool { return c.outsideText(e.value) },
	// A folder of hooks.
	"own_hooks": func(c *settingsCheck, e *entry) bool { return c.ownHooks(e.value) },
	// A command of another name than the sub-command's.
	"alias": func(c *settingsCheck, e *entry) bool {
		return !strings.EqualFold(e.path[1], c.own.run.Sub) || c.outsideCommand(e.value, false)
	},
	// The beginning of an address that needs no program of its own.
	"address": func(_ *settingsCheck, e *entry) bool {
		return slices.ContainsFunc([]string{"https://", "http://", "ssh://", "git@", "git://"}, func(p string) bool { return strings.HasPrefix(e.path[1], p) }) &&
			!strings.Contains(e.path[1], "::")
	},
	"none": func(*settingsCheck, *entry) bool { return false },
}

// ownFilePath reports whether a path names a file outside of the project, or one of the
// project that is no secret, which a link may lead to.
func (c *settingsCheck) ownFilePath(value string) bool {
	file, ok := c.fromHome(value)
	if !ok || c.own.foreign || strings.HasPrefix(value, "%(") {
		return false
	}
	if file == "" {
		return true
	}
	if !path.IsAbs(file) {
		file = path.Join(c.top(), file)
	} else if at := c.Files.Resolved(file); at != "" && !c.inProject(file) && !c.inProject(at) {
		return true
	}
	at, secret := c.Files.Target(file)
	return at != "" && !secret && c.inProject(at)
}

// ownHooks reports whether a folder of hooks lies outside of the project, or has none that
// a read-only command runs.
func (c *settingsCheck) ownHooks(value string) bool {
	file, ok := c.fromHome(value)
	if !ok || file == "" || c.own.foreign {
		return false
	}
	if path.IsAbs(file) {
		at := c.Files.Resolved(file)
		return at != "" && !c.inProject(file) && !c.inProject(at) && !c.Files.Rewritten(at)
	}
	inner := *c
	inner.root = c.top()
	return hooksFolder(&inner, value)
}
