// Package targets finds the text of the project's files that a run executes: the script of a
// package.json, a makefile's target, a module of Python. A remembered answer is bound to it.
package targets

import (
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
	"github.com/permd/permd/internal/strictjson"
)

// maxTargets bounds the files that targets are read from, in bytes.
const maxTargets = 1 << 20

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
	// included returns the names of the further files that a text takes commands from,
	// relative to the folder that the program runs in; false if they are not certain. It
	// is nil if there are none.
	included func(text string) ([]string, bool)
	// also is a folder next to the file that the program takes more commands from, "" for
	// none.
	also string
	// module is the module of Python that is run, "" for none; then there are no files.
	module string
}

var (
	packageJSON = runner{
		files: []string{"package.json"}, inParents: true,
		redirectingOptions: []string{"--workspace", "--workspaces", "--include-workspace-root", "--recursive", "--filter", "--filter-prod", "--workspace-root", "--script-shell"},
	}
	makefiles = runner{
		files:              []string{"GNUmakefile", "makefile", "Makefile"},
		redirectingOptions: []string{"--file", "--eval", "--include-dir", "--environment-overrides"},
		included:           includedByMake,
	}
	runners = map[string]runner{
		"npm": packageJSON, "pnpm": packageJSON, "yarn": packageJSON, "bun": packageJSON,
		"make": makefiles, "gmake": makefiles,
		"just": {
			files: []string{"justfile", "Justfile", ".justfile"}, inParents: true,
			redirectingOptions: []string{"--justfile", "--working-directory", "--command", "--shell", "--set", "--dotenv-path"},
			included:           noneMatching(`(?m)^(?:import|mod|set\s+dotenv|!include)\b`),
		},
		"rake": {
			files: []string{"rakefile", "Rakefile"}, also: "rakelib",
			redirectingOptions: []string{"--rakefile", "--require", "--rakelibdir", "--libdir"},
			included:           noneMatching(`\b(?:load|import|require_relative|autoload|eval|read)\b`),
		},
		"task": {
			files:              []string{"Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml"},
			redirectingOptions: []string{"--taskfile", "-t", "--dir", "-d", "--global", "-g"},
			included:           noneMatching(`\b(?:includes|dotenv)\b["']?\s*:`),
		},
		"composer": {files: []string{"composer.json"}},
	}
	// composeFile says what docker compose builds and starts, with the files next to it
	// that it takes without being told.
	composeFile = runner{
		files:              []string{"compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"},
		redirectingOptions: []string{"--file", "--env-file", "--project-directory", "--context"},
		included: func(text string) ([]string, bool) {
			return []string{
				"compose.override.yaml", "compose.override.yml", "docker-compose.override.yml", "docker-compose.override.yaml", "Dockerfile", ".env",
			}, !composeIncludes().MatchString(text)
		},
	}
	// composeIncludes matches whatever may name another file than those above, in any form
	// that YAML has for it.
	composeIncludes = lazy.Regexp(`[{}\\&*!]|(?i)include|extends|context|dockerfile|env_file|\bfile\b|build["']?[ \t]*:[ \t]*["']?[^\s."']|build["']?[ \t]*:[ \t]*["']?\.[^\s"']`)
	pythonModule    = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$`)
	// composeCommands are those that run nothing but what the file says.
	composeCommands = []string{"up", "down", "start", "stop", "restart", "build", "pull", "create", "rm", "kill", "pause", "unpause"}
)

// runnerOf returns what a run executes of the project's files, nil if the program itself
// does not say.
func runnerOf(r *effects.Run) *runner {
	if known, ok := runners[r.Program]; ok {
		run := known // a copy on the heap only where it is returned
		return &run
	}
	switch {
	case len(r.Args) < 2:
	case (r.Program == "docker" || r.Program == "podman") && r.Args[0] == "compose" && slices.Contains(composeCommands, r.Args[1]),
		r.Program == "docker-compose" && slices.Contains(composeCommands, r.Args[0]):
		return &composeFile
	case strings.Trim(r.Program, ".0123456789") == "python" && r.Args[0] == "-m" && pythonModule().MatchString(r.Args[1]):
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

// Of returns the text that a run of such a program executes, as the file with the
// hash of the text; nil if that is not known. Memory binds the person's answer to it:
// otherwise whoever may edit the file could run anything. A read-only run executes no
// text and is bound to none.
//
// The text is not known either if a file that it is read from, or that would be read in
// its place, may be written by the call or one before it.
func Of(fsys effects.FS, r *effects.Run, after *effects.Disturbance) *effects.Script {
	if r == nil || fsys == nil || !path.IsAbs(r.Cwd) {
		return nil
	}
	run := runnerOf(r)
	if run == nil {
		return nil
	}
	switch {
	case r.Readonly:
		return sum("", nil)
	case run.module != "":
		return moduleOf(fsys, run.module, path.Clean(r.Cwd), after)
	case !r.Known && slices.ContainsFunc(r.Args, func(a string) bool { return strings.HasPrefix(a, "-") || strings.Contains(a, "=") }):
		return nil // the meaning of its options is not known
	case slices.ContainsFunc(r.Flags, func(f string) bool { return slices.Contains(run.redirectingOptions, f) }):
		return nil
	case slices.Contains(r.Args, effects.DynamicWord) || slices.ContainsFunc(r.Args, changesShell):
		return nil
	case strings.HasPrefix(r.Subcommand, "workspace"):
		return nil
	}
	files, found := run.candidates(fsys, r.Cwd)
	if !found || slices.ContainsFunc(files, func(file string) bool { return MayChange(fsys, after, file) }) {
		return nil
	}
	return run.hashOf(fsys, files[len(files)-1], r, after)
}

// candidates returns the files in which the program looks for its targets, up to the one
// that it takes; found is false if that is not certain.
func (run *runner) candidates(fsys effects.FS, cwd string) (files []string, found bool) {
	for dir := path.Clean(cwd); ; dir = path.Dir(dir) {
		for _, name := range run.files {
			file := path.Join(dir, name)
			files = append(files, file)
			switch _, err := fsys.Lstat(file); {
			case err == nil:
				return files, true
			case !errors.Is(err, fs.ErrNotExist):
				return files, false // there may be one
			}
		}
		// A project's files are not searched beyond its repository.
		if _, err := fsys.Lstat(path.Join(dir, ".git")); !errors.Is(err, fs.ErrNotExist) || dir == "/" || !run.inParents {
			return files, false
		}
	}
}

// Files returns the files that say what a run of such a program executes, as far as
// they are known, and those that would be taken in their place.
func Files(fsys effects.FS, r *effects.Run) []string {
	run := runnerOf(r)
	if run == nil || r.Readonly || !path.IsAbs(r.Cwd) {
		return nil
	}
	if run.module != "" {
		return moduleFiles(run.module, path.Clean(r.Cwd))
	}
	files, found := run.candidates(fsys, r.Cwd)
	if !found || run.included == nil {
		return files
	}
	text, err := fsys.ReadFile(files[len(files)-1], maxTargets)
	if err != nil {
		return files
	}
	_, names, _ := run.withIncluded(fsys, text, r.Cwd, &effects.Disturbance{})
	for _, name := range names {
		files = append(files, InFolder(r.Cwd, name))
	}
	return files
}

// changesShell reports whether a word sets one of make's variables that determine what
// runs its recipes.
func changesShell(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	switch strings.TrimRight(name, ":+?!") {
	case "SHELL", ".SHELLFLAGS", "MAKE", "MAKEFLAGS", "MAKEFILES", "GNUMAKEFLAGS":
		return ok
	}
	return false
}

// hashOf returns the hash of the text that contains the targets: of a package.json only
// the script that is run, or all scripts, so that a changed dependency does not change it. Files that the text
// includes belong to it.
func (run *runner) hashOf(fsys effects.FS, file string, r *effects.Run, after *effects.Disturbance) *effects.Script {
	if run.also != "" {
		folder := path.Join(path.Dir(file), run.also)
		if _, err := fsys.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if names, ok := namesOf(fsys, folder); !ok || slices.ContainsFunc(names, after.MayWriteBelow) || MayChange(fsys, after, folder) {
			return nil
		}
	}
	text, err := fsys.ReadFile(file, maxTargets)
	if err != nil {
		return nil
	}
	if path.Ext(file) == ".json" {
		o, ok := jsonObject(text)
		if !ok {
			return nil // the program may read it in another way
		}
		return scriptsSum(file, r, o)
	}
	own := text
	if run.included != nil {
		var ok bool
		if text, _, ok = run.withIncluded(fsys, text, path.Clean(r.Cwd), after); !ok {
			return nil
		}
	}
	s := sum(file, text)
	s.What, s.Text = run.piece(r, string(own))
	return s
}

// scriptsSum is hashOf for a package.json.
func scriptsSum(file string, r *effects.Run, o strictjson.Object) *effects.Script {
	scripts, ok := o.Get("scripts")
	if !ok {
		return sum(file, nil)
	}
	compact := scripts.Clone()
	if compact.Compact() != nil {
		return nil
	}
	s := sum(file, compact)
	all, err := strictjson.ParseObject(scripts)
	if err != nil {
		return s
	}
	names := scriptsOf(r)
	if own, ok := scriptText(names, all); ok {
		earlier := s.SHA256
		s = sum(file, own)
		s.Earlier = earlier
		all = slices.DeleteFunc(all, func(m strictjson.Member) bool { return !slices.Contains(names, m.Name) })
	} else {
		names = nil
	}
	s.What, s.Text = scriptsPiece(names, all)
	return s
}

func jsonObject(text []byte) (strictjson.Object, bool) {
	if strictjson.Check(text) != nil {
		return nil, false
	}
	o, err := strictjson.ParseObject(text)
	return o, err == nil
}

func sum(file string, text []byte) *effects.Script {
	s := sha256.Sum256(text)
	return &effects.Script{Path: file, SHA256: hex.EncodeToString(s[:])}
}

// maxIncluded is the maximum number of files that the text of targets includes().
const maxIncluded = 32

// withIncluded returns a text followed by those of the files that it includes, and that
// these include, and the names of the files as they are written; false if they are not
// certain, too many or too large.
func (run *runner) withIncluded(fsys effects.FS, text []byte, cwd string, after *effects.Disturbance) (all []byte, files []string, certain bool) {
	all = text
	for i := 0; ; i++ {
		names, ok := run.included(string(text))
		for _, name := range names {
			if !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
		if !ok {
			return nil, files, false
		}
		if i == len(files) {
			return all, files, true
		}
		file := InFolder(cwd, files[i])
		if len(files) > maxIncluded || MayChange(fsys, after, file) {
			return nil, files, false
		}
		var err error
		text, err = fsys.ReadFile(file, maxTargets)
		state := strconv.Itoa(len(text))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			text, state = nil, "none"
		case err != nil:
			return nil, files, false
		}
		// Names and lengths keep two sets of files with the same bytes apart.
		all = slices.Concat(all, []byte("\x00"+files[i]+"\x00"+state+"\x00"), text)
		if len(all) > maxTargets {
			return nil, files, false
		}
	}
}

// includedByMake returns the files that a makefile includes; false if a name is only
// known to make. A line of a recipe that looks like an include counts as one, since it
// depends on more than the line whether it is.
func includedByMake(text string) (names []string, certain bool) {
	uncertain := false
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "include", "-include", "sinclude":
		case "load", "-load":
			uncertain = true
			continue
		default:
			continue
		}
		for _, word := range words[1:] {
			if strings.HasPrefix(word, "#") {
				break
			}
			if strings.ContainsAny(word, "$*?[~\\#%") {
				uncertain = true
				continue
			}
			names = append(names, word)
		}
	}
	return names, !uncertain
}

// noneMatching returns the included of a program whose texts are certain to include
// nothing only where an expression does not match.
func noneMatching(expression string) func(string) ([]string, bool) {
	includes := lazy.Regexp(expression)
	return func(text string) ([]string, bool) { return nil, !includes().MatchString(text) }
}
