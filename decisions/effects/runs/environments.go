package runs

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/wordset"
)

// AddVenv records an environment that the call activates.
func (b *Builder) AddVenv(bin string) {
	if len(b.Activated) >= maxVenvs {
		bin = ""
	}
	if !slices.Contains(b.Activated, bin) {
		b.Activated = append(b.Activated, bin)
	}
}

// inVenvs adds, to the run of a program that is found by its name, the run of the
// program of that name in an environment that comes first in PATH. It is not known
// whether the environment is active by then, so both must be allowed.
func (b *Builder) inVenvs(words []effects.Word, at Setting) {
	name := words[0].Text
	if b.Remote || strings.Contains(name, "/") || shellBuiltins.Has(name) || len(b.Activated) == 0 && len(b.Call.Activated) == 0 {
		return
	}
	for i, bin := range slices.Concat(b.Activated, b.Call.Activated) {
		if i >= len(b.Activated) && slices.Contains(b.Activated, bin) {
			continue
		}
		if bin == "" {
			b.Unknown(at.From, "a program that one of many environments may put before "+display.Display(name))
			continue
		}
		file := path.Join(bin, name)
		_, err := b.Paths.Lstat(file)
		if !b.Stale(file) && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if e := b.Operand(effects.KindRead, file, "/", at.From); e.File != nil && !b.Stale(file) && b.Table.SystemFolder(path.Dir(e.File.Path)) {
			continue // the environment's python is the system's
		}
		own := slices.Clone(words)
		own[0] = effects.Word{Text: file, Shown: file}
		b.Run(own, at)
	}
	for _, bin := range slices.Concat(b.Activated, b.Call.Activated) {
		b.helpersIn(bin, name, at)
	}
}

// helpersIn asks if an environment has a program that other programs look up by its
// name: it is not known which of them do.
func (b *Builder) helpersIn(bin, name string, at Setting) {
	if bin == "" || b.usesEnvironment {
		return
	}
	for _, helper := range helpers {
		if helper == "node" && !nodeScripts.Has(name) || helper == name {
			continue
		}
		file := path.Join(bin, helper)
		if _, err := b.Paths.Lstat(file); !b.Stale(file) && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if e := b.Operand(effects.KindRead, file, "/", at.From); e.File != nil && !b.Stale(file) && b.Table.SystemFolder(path.Dir(e.File.Path)) {
			continue
		}
		b.usesEnvironment = true
		b.Unknown(at.From, "an environment that puts its own "+helper+" before the system's, which "+display.Display(name)+" may run")
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

const maxVenvs = 8 // environments that one call may activate
