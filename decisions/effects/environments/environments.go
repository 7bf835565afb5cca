// Package environments finds the programs that an activated environment, such as a virtual
// environment of Python, puts before the system's.
package environments

import (
	"errors"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/collect"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/wordset"
)

const maxActivated = 8 // environments that one call may activate

// Environments are those that a call activates.
type Environments struct {
	// Activated holds their folders of programs, "" for one of many.
	Activated []string
	// helps is set if the call looks up a program in an environment, which other
	// programs may run.
	helps bool
}

// Activate records an environment that the call activates.
func (e *Environments) Activate(bin string) {
	if len(e.Activated) >= maxActivated {
		bin = ""
	}
	if !slices.Contains(e.Activated, bin) {
		e.Activated = append(e.Activated, bin)
	}
}

// Programs returns the files that may be run instead of the program of that name, because
// an environment comes first in PATH. It is not known whether the environment is active by
// then, so both must be allowed. It asks if that may be any file, or if the program may run
// others that an environment has: it is not known which of them do.
func (e *Environments) Programs(c *collect.Collector, name, from string) iter.Seq[string] {
	if c.Remote || strings.Contains(name, "/") || shellBuiltins.Has(name) || len(e.Activated) == 0 && len(c.Call.Activated) == 0 {
		return func(func(string) bool) {}
	}
	return func(yield func(string) bool) {
		for i, bin := range slices.Concat(e.Activated, c.Call.Activated) {
			if i >= len(e.Activated) && slices.Contains(e.Activated, bin) {
				continue
			}
			if bin == "" {
				c.Unknown(from, "a program that one of many environments may put before "+display.Display(name))
				continue
			}
			if file := path.Join(bin, name); has(c, file, from) && !yield(file) {
				return
			}
		}
		for _, bin := range slices.Concat(e.Activated, c.Call.Activated) {
			e.helpersIn(c, bin, name, from)
		}
	}
}

// has reports whether an environment has a program of its own at a path: not the system's,
// as python may be.
func has(c *collect.Collector, file, from string) bool {
	_, err := c.Paths.Lstat(file)
	stale := c.Stale(file)
	if !stale && errors.Is(err, fs.ErrNotExist) {
		return false
	}
	e := c.Operand(effects.KindRead, file, "/", from)
	return stale || e.File == nil || !c.Table.SystemFolder(path.Dir(e.File.Path))
}

// helpersIn asks if an environment has a program that other programs look up by its name.
func (e *Environments) helpersIn(c *collect.Collector, bin, name, from string) {
	if bin == "" || e.helps {
		return
	}
	for _, helper := range helpers {
		if helper == "node" && !nodeScripts.Has(name) || helper == name || !has(c, path.Join(bin, helper), from) {
			continue
		}
		e.helps = true
		c.Unknown(from, "an environment that puts its own "+helper+" before the system's, which "+display.Display(name)+" may run")
		return
	}
}

// helpers are programs that other programs run by name, and that no Python package
// installs.
var helpers = strings.Fields(`node bash bzip2 cat env gcc git go gpg grep gzip less man nroff pager rustc sed sh ssh tr uname xz zstd`)

// nodeScripts are the programs that are scripts for node.
var nodeScripts = wordset.Fields(`corepack eslint jest mocha npm npx pnpm prettier pyright tsc vitest yarn`)

// shellBuiltins are the commands that shells never look up in PATH.
var shellBuiltins = wordset.Fields(`
	: . [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo enable eval exec
	exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read readarray
	readonly return set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait`)
