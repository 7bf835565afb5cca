package decisions

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
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
}

var (
	packageJSON = runner{
		files: []string{"package.json"}, inParents: true,
		redirectingOptions: []string{"--workspace", "--workspaces", "--include-workspace-root", "--recursive", "--filter", "--filter-prod", "--workspace-root", "--script-shell"},
	}
	makefiles = runner{
		files:              []string{"GNUmakefile", "makefile", "Makefile"},
		redirectingOptions: []string{"--file", "--eval", "--include-dir", "--environment-overrides"},
	}
	runners = map[string]runner{
		"npm": packageJSON, "pnpm": packageJSON, "yarn": packageJSON, "bun": packageJSON,
		"make": makefiles, "gmake": makefiles,
		"just": {
			files: []string{"justfile", "Justfile", ".justfile"}, inParents: true,
			redirectingOptions: []string{"--justfile", "--working-directory", "--command", "--shell", "--set", "--dotenv-path"},
		},
		"rake":     {files: []string{"rakefile", "Rakefile"}, redirectingOptions: []string{"--rakefile", "--require", "--rakelibdir", "--libdir"}},
		"task":     {files: []string{"Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml"}, redirectingOptions: []string{"--taskfile", "-t", "--dir", "-d", "--global", "-g"}},
		"composer": {files: []string{"composer.json"}},
	}
)

// RunsTargets reports whether a program runs commands defined in a file of the project,
// so that an answer about it applies only to their present text.
func RunsTargets(program string) bool {
	_, ok := runners[program]
	return ok
}

// targetOf returns the text that a run of such a program executes, as the file with the
// hash of the text; nil if that is not known. Memory binds the person's answer to it:
// otherwise whoever may edit the file could run anything. A read-only run executes no
// text and is bound to none.
func targetOf(fsys effects.FS, r *effects.Run) *effects.Script {
	if r == nil || fsys == nil || !path.IsAbs(r.Cwd) {
		return nil
	}
	run, ok := runners[r.Program]
	if !ok {
		return nil
	}
	switch {
	case r.Readonly:
		return sum("", nil)
	case !r.Known && slices.ContainsFunc(r.Args, func(a string) bool { return strings.HasPrefix(a, "-") || strings.Contains(a, "=") }):
		return nil // the meaning of its options is not known
	case slices.ContainsFunc(r.Flags, func(f string) bool { return slices.Contains(run.redirectingOptions, f) }):
		return nil
	case slices.Contains(r.Args, effects.DynamicWord) || slices.ContainsFunc(r.Args, changesShell):
		return nil
	case strings.HasPrefix(r.Subcommand, "workspace"):
		return nil
	}
	for dir := path.Clean(r.Cwd); ; dir = path.Dir(dir) {
		for _, name := range run.files {
			file := path.Join(dir, name)
			switch _, err := fsys.Lstat(file); {
			case err == nil:
				return hashOf(fsys, file)
			case !errors.Is(err, fs.ErrNotExist):
				return nil // there may be one
			}
		}
		// A project's files are not searched beyond its repository.
		if _, err := fsys.Lstat(path.Join(dir, ".git")); !errors.Is(err, fs.ErrNotExist) || dir == "/" || !run.inParents {
			return nil
		}
	}
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
// its scripts, so that a changed dependency does not change it.
func hashOf(fsys effects.FS, file string) *effects.Script {
	text, err := fsys.ReadFile(file, maxTargets)
	if err != nil {
		return nil
	}
	if path.Ext(file) == ".json" {
		o, ok := jsonObject(text)
		if !ok {
			return nil // the program may read it in another way
		}
		text = nil
		if scripts, ok := o.Get("scripts"); ok {
			compact := scripts.Clone()
			if compact.Compact() != nil {
				return nil
			}
			text = compact
		}
	}
	return sum(file, text)
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
