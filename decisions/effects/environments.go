package effects

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/internal/wordset"
)

// venvs notes an environment that the call activates.
func (b *builder) venvs(bin string) {
	if len(b.activated) >= maxVenvs {
		bin = ""
	}
	if !slices.Contains(b.activated, bin) {
		b.activated = append(b.activated, bin)
	}
}

// inVenvs adds, to the run of a program that is found by its name, the run of
// the program of that name that an environment may put before it. Whether it
// really is active then is not followed, so both must be allowed.
func (b *builder) inVenvs(words []word, at setting) {
	name := words[0].text
	if b.away || strings.Contains(name, "/") || shellBuiltins[name] || len(b.activated) == 0 && len(b.c.Activated) == 0 {
		return
	}
	for i, bin := range slices.Concat(b.activated, b.c.Activated) {
		if i >= len(b.activated) && slices.Contains(b.activated, bin) {
			continue
		}
		if bin == "" {
			b.unknown(at.from, "a program that one of many environments may put before "+Display(name))
			continue
		}
		file := path.Join(bin, name)
		_, err := b.res.lstat(file)
		if !b.stale(file) && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if e := b.operand(KindRead, file, "/", at.from); e.File != nil && !b.stale(file) && b.table.systemFolder(path.Dir(e.File.Path)) {
			continue // the environment's python is the system's
		}
		own := slices.Clone(words)
		own[0] = word{text: file, shown: file}
		b.run(own, at)
	}
	for _, bin := range slices.Concat(b.activated, b.c.Activated) {
		b.helpersIn(bin, name, at)
	}
}

// helpersIn asks where an environment has a program that others look for by its
// name: which of them do is not known.
func (b *builder) helpersIn(bin, name string, at setting) {
	if bin == "" || b.helped {
		return
	}
	for _, helper := range helpers {
		if helper == "node" && !ofNode[name] || helper == name {
			continue
		}
		file := path.Join(bin, helper)
		if _, err := b.res.lstat(file); !b.stale(file) && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if e := b.operand(KindRead, file, "/", at.from); e.File != nil && !b.stale(file) && b.table.systemFolder(path.Dir(e.File.Path)) {
			continue
		}
		b.helped = true
		b.unknown(at.from, "an environment that puts its own "+helper+" before the system's, which "+Display(name)+" may run")
		return
	}
}

// helpers are programs that other programs run by their names, and that no
// package of Python brings.
var helpers = strings.Fields(`node bash bzip2 cat env gcc git go gpg grep gzip less man nroff pager rustc sed sh ssh tr uname xz zstd`)

// ofNode are the programs that are scripts for node.
var ofNode = wordset.Fields(`corepack eslint jest mocha npm npx pnpm prettier pyright tsc vitest yarn`)

// shellBuiltins are the commands that shells never look for in PATH.
var shellBuiltins = wordset.Fields(`
	: . [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo enable eval exec
	exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read readarray
	readonly return set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait`)

const maxVenvs = 8 // environments that one call may activate
