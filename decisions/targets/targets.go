// Package targets finds the text of the project's files that a run executes: the script of a
// package.json, a makefile's target, a module of Python. A remembered answer is bound to it.
//
// It is known only where every file that the program reads for it is known: a text that is
// plain, in a form that is written down here for each program, and that names no others; next
// to it, none that the program would read as well. Of all else an answer holds once.
package targets

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lazy"
)

// runner is a program that runs commands defined in a file of the project.
type runner struct {
	// files are the names of those files, in the order in which the program looks for
	// them.
	files []string
	// inParents is set if they are searched in parent folders too.
	inParents bool
	// redirectingOptions make the program use other files or shells. (A folder that an
	// option names is already the run's Cwd.)
	redirectingOptions []string
	// bind returns what the run executes, from the file that was found; nil if that is not
	// known, and then the reading says why.
	bind func(rd *reading, file string) *effects.Script
	// module is the module of Python that is run, "" for none; then there are no files.
	module string
}

var (
	packageJSON = runner{
		files: []string{"package.json"}, inParents: true,
		redirectingOptions: []string{"--workspace", "--workspaces", "--include-workspace-root", "--recursive", "--filter", "--filter-prod", "--workspace-root", "--script-shell"},
		bind:               bindScripts,
	}
	makefiles = runner{
		files:              []string{"GNUmakefile", "makefile", "Makefile"},
		redirectingOptions: []string{"--file", "--eval", "--include-dir", "--environment-overrides"},
		bind:               bindMake,
	}
	runners = map[string]runner{
		"npm": packageJSON, "pnpm": packageJSON, "yarn": packageJSON, "bun": packageJSON,
		"make": makefiles, "gmake": makefiles,
		"just": {
			files: []string{"justfile", "Justfile", ".justfile"}, inParents: true,
			redirectingOptions: []string{"--justfile", "--working-directory", "--command", "--shell", "--set", "--dotenv-path"},
			bind:               bindJust,
		},
		"rake": {
			files:              []string{"rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb"},
			redirectingOptions: []string{"--rakefile", "--require", "--rakelibdir", "--libdir"},
			bind:               bindRake,
		},
		"task": {
			files: []string{
				"Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml",
				"Taskfile.dist.yml", "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml",
			},
			redirectingOptions: []string{"--taskfile", "-t", "--dir", "-d", "--global", "-g"},
			bind:               bindTask,
		},
		"composer": {files: []string{"composer.json"}, bind: bindComposer},
	}
	// composeFile says what docker compose builds and starts.
	composeFile = runner{
		files:              []string{"compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"},
		redirectingOptions: []string{"--file", "--env-file", "--project-directory", "--context"},
		bind:               bindCompose,
	}
	// miseFile says which tasks mise runs.
	miseFile     = runner{files: []string{"mise.toml", ".mise.toml"}, inParents: true, bind: bindMise}
	pythonModule = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$`)
	// composeCommands are those that run nothing but what the file says.
	composeCommands = []string{"up", "down", "start", "stop", "restart", "build", "pull", "create", "rm", "kill", "pause", "unpause"}
)

// runnerOf returns what a run executes of the project's files, nil if the program itself
// does not say.
func runnerOf(r *effects.Run) *runner {
	if known, ok := runners[r.Program]; ok {
		if nodeManagers.Has(r.Program) && installsLocal(r) {
			return &localCode
		}
		run := known // a copy on the heap only where it is returned
		return &run
	}
	switch {
	case r.Program == "git" && !r.Readonly:
		return &gitRepository
	case len(r.Args) < 2:
	case takesRequirements(r):
		return &requirements
	case installsLocal(r):
		return &localCode
	case (r.Program == "docker" || r.Program == "podman") && r.Args[0] == "compose" && slices.Contains(composeCommands, r.Args[1]),
		r.Program == "docker-compose" && slices.Contains(composeCommands, r.Args[0]):
		return &composeFile
	case r.Program == "mise" && (r.Args[0] == "run" || r.Args[0] == "r") && !strings.HasPrefix(r.Args[1], "-"):
		return &miseFile
	case unversioned(r.Program) == "python" && r.Args[0] == "-m" && pythonModule().MatchString(r.Args[1]):
		return &runner{module: r.Args[1]}
	}
	return nil
}

// BoundToFiles reports whether an answer about a run applies only to the present text of
// the files that say what it executes.
func BoundToFiles(r *effects.Run) bool { return runnerOf(r) != nil }

// Runs reports whether a program runs commands defined in a file of the project,
// so that an answer about it applies only to their present text.
func Runs(program string) bool {
	_, ok := runners[program]
	return ok
}

// notKnown is why an answer is not bound, where there is no better reason.
const notKnown = "what it runs could not be told from the project's files"

// Of returns the text that a run executes of the project's files, as the file with the hash of
// the text; nil if it executes none. Memory binds the person's answer to it, because a
// later edit of the file would otherwise run without a question. A read-only run executes no
// text, so it is not bound. Where the text is not known, Unbound says why.
//
// The text is not known either if a file that it is read from, or that would be read in
// its place, may be written by the call or one before it. A package manager also obeys settings
// of the person that the run is for.
func Of(fsys effects.FS, r *effects.Run, after *effects.Disturbance, person *effects.User) *effects.Script {
	if r == nil || fsys == nil {
		return nil
	}
	run := runnerOf(r)
	switch {
	case r.Readonly && run != nil:
		return sum("", nil)
	case r.Readonly:
		return nil
	}
	rd := &reading{fsys: fsys, after: after, run: r, person: person}
	rd.fail(cmp.Or(Refused(r), r.Unbound))
	if run == nil {
		if rd.why == "" && settingsWritten(r, after) {
			rd.fail("the call may write its settings")
		}
		if rd.why == "" {
			return nil
		}
		return &effects.Script{Unbound: rd.why}
	}
	var s *effects.Script
	if rd.why == "" {
		s = rd.bind(run)
	}
	if s == nil || rd.why != "" {
		return &effects.Script{Unbound: cmp.Or(rd.why, notKnown)}
	}
	return s
}

// Files returns the files that say what a run of such a program executes, as far as
// they are known, and those that would be taken in their place.
func Files(fsys effects.FS, r *effects.Run, person *effects.User) []string {
	run := runnerOf(r)
	if run == nil || r.Readonly || !path.IsAbs(r.Cwd) {
		return nil
	}
	rd := &reading{fsys: fsys, after: &effects.Disturbance{}, run: r, person: person, all: true}
	rd.bind(run)
	return rd.files
}

// bind returns what a run executes, nil if that is not known.
func (rd *reading) bind(run *runner) *effects.Script {
	r := rd.run
	switch {
	case !path.IsAbs(r.Cwd):
		rd.fail("the folder that it runs in is not known")
		return nil
	case settingsWritten(r, rd.after):
		rd.fail("the call may write its settings")
	case slices.Contains(r.Args, effects.DynamicWord):
		rd.fail("one of its words is not known")
	case run.module != "":
		return bindModule(rd, run.module)
	case !r.Known && slices.ContainsFunc(r.Args, func(a string) bool { return strings.HasPrefix(a, "-") || strings.Contains(a, "=") }):
		rd.fail("the meaning of its options is not known")
	case slices.Contains(r.Flags, "--filter"):
		if name, own, ok := filteredRun(r); ok {
			return rd.bindFiltered(name, own)
		}
		rd.fail("its options name other files or folders")
	case slices.ContainsFunc(r.Flags, func(f string) bool { return slices.Contains(run.redirectingOptions, f) }),
		strings.HasPrefix(r.Subcommand, "workspace"):
		rd.fail("its options name other files or folders")
	}
	if len(run.files) == 0 {
		return run.bind(rd, "")
	}
	file, found := rd.find(run)
	if !found {
		return nil
	}
	return run.bind(rd, file)
}

// find returns the file that the program takes its targets from.
func (rd *reading) find(run *runner) (file string, found bool) {
	for dir := rd.cwd(); ; dir = path.Dir(dir) {
		for _, name := range run.files {
			if file := path.Join(dir, name); rd.exists(file) {
				return file, true
			} else if _, err := rd.fsys.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
				return "", false // there may be one
			}
		}
		// A project's files are not searched beyond its repository.
		if _, err := rd.fsys.Lstat(path.Join(dir, ".git")); !errors.Is(err, fs.ErrNotExist) || dir == "/" || !run.inParents {
			rd.fail(notKnown)
			return "", false
		}
	}
}

// appendFile appends a further file to what is hashed. Names and lengths keep two sets of
// files with the same bytes apart.
func appendFile(all []byte, name string, text []byte, there bool) []byte {
	state := "none"
	if there {
		state = strconv.Itoa(len(text))
	}
	if strings.Contains(name, "\x00") { // in JSON
		name = strconv.Quote(name)
	}
	return slices.Concat(all, []byte("\x00"+name+"\x00"+state+"\x00"), text)
}

func sum(file string, text []byte) *effects.Script {
	s := sha256.Sum256(text)
	return &effects.Script{Path: file, SHA256: hex.EncodeToString(s[:])}
}

// maxIncluded is the maximum number of files that the text of targets includes.
const maxIncluded = 32
