package targets

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/wordset"
)

// Installers run code of what they install: build scripts, hooks, and later the programs. Where
// their words name a folder, an archive or a manifest, any write to the project can change that
// code, so an answer holds once.

// localCode is such a run.
var localCode = runner{bind: func(rd *reading, _ string) *effects.Script {
	rd.fail("what its words install may lie in the project")
	return nil
}}

var (
	// installers are the programs of which each run may install what an operand names.
	installers = wordset.Fields("easy_install rpm dpkg pacman rpm-ostree")
	// packageManagers install with the sub-commands of installWords, those of Node with fewer, and
	// other programs only with one that says so by its name.
	packageManagers = wordset.Fields("pip uv pipx poetry pdm hatch rye pixi conda mamba micromamba cargo gem brew port apt apt-get aptitude dnf yum zypper apk snap flatpak dotnet nuget helm luarocks cpan cpanm opam cabal stack nix nix-env guix deno mise asdf vcpkg conan")
	installWords    = wordset.Fields("add i in tool download wheel sync upgrade update develop create env -i -U")
	nodeManagers    = wordset.Fields("npm pnpm yarn bun")
	nodeWords       = wordset.Fields("add i in")
	// letters are programs of which sourceOptions of one letter have that meaning.
	letters = wordset.Fields("pip uv pipx poetry pdm hatch rye pixi conda mamba micromamba helm")
	// runWords run what their options install, with operands that are the program's own.
	runWords = wordset.Fields("run x exec dlx uvx npx pnpx bunx")
	// sourceOptions have a folder or a manifest as their value, whatever it is named; packageOptions
	// have packages, which may be folders.
	sourceOptions = wordset.Fields(`
		-e --editable -r --requirement --requirements --with-requirements --with-editable -c --constraint --constraints -b --build-constraint --build-constraints --override --overrides
		-f --find-links --file --path --from-path --local --add-source
	`)
	packageOptions = wordset.Fields("--with --from --spec --package -p")
	// ownRepositories are programs that take a name with a slash for one that they know.
	ownRepositories = wordset.Fields("brew gh mise asdf")
	// manifestEnds are endings of archives and manifests in lower case. Names of packages have dots, too.
	manifestEnds = wordset.Fields(".whl .egg .zip .tar .tgz .gz .bz2 .xz .zst .tbz .tlz .lz .lzma .deb .rpm .apk .pkg .gem .crate .nupkg .vsix .jar .phar .txt .in .toml .cfg .yml .yaml .json .lock .rb .snap .flatpak .flatpakref .rock .rockspec .conda")
)

// installsLocal reports whether a run installs what may lie in the project by its words.
func installsLocal(r *effects.Run) bool {
	program, words := unversioned(path.Base(r.Program)), r.Args
	switch program {
	case "go": // it compiles, as go build does, and runs nothing
		return false
	case "python":
		if words = pipWords(r); words == nil {
			return false
		}
		program = "pip"
	}
	installs, runs := installers.Has(program), runWords.Has(program)
	manager, node, letter := packageManagers.Has(program), nodeManagers.Has(program), letters.Has(program)
	first := 0 // index of the word after a sub-command that runs something
	for i, w := range words {
		before := ""
		if i > 0 {
			before = words[i-1]
		}
		name, value, joined := strings.Cut(w, "=")
		source := func(option string) bool {
			return len(option) == 2 && letter && sourceOptions.Has(option) || len(option) > 2 && sourceOptions.Has(option)
		}
		switch {
		case runs && (w == "--" || i == first && program != "npm" && !strings.HasPrefix(w, "-")):
			return false // only npm reads its own options after the program's name, too
		case runs: // what follows the program's name is its own, and may have such options
			if source(before) || packageOptions.Has(before) && namesLocal(program, w) || joined && (source(name) || packageOptions.Has(name) && namesLocal(program, value)) {
				return true
			}
		case !installs:
			verb := strings.TrimLeft(w, "-")
			runs, first = (manager || node) && runWords.Has(w), i+1
			installs = strings.HasPrefix(verb, "install") || strings.HasPrefix(verb, "reinstall") || manager && installWords.Has(w) || node && nodeWords.Has(w)
		case w == "--":
		case strings.HasPrefix(w, "-"):
			if joined && !valueOptions.Has(name) && (source(name) || namesLocal(program, value)) || len(w) > 2 && source(w[:2]) {
				return true // also -rFILE
			}
		case !valueOptions.Has(before) && (source(before) || namesLocal(program, w)):
			return true
		}
	}
	return false
}

// namesLocal reports whether a word may name a file or a folder, and no package of a registry.
func namesLocal(program, word string) bool {
	switch {
	case word == "", strings.HasPrefix(word, "https://"), strings.HasPrefix(word, "http://"), strings.HasPrefix(word, "git+https://"), strings.HasPrefix(word, "ssh://"), strings.HasPrefix(word, "git+ssh://"), strings.HasPrefix(word, "oci://"):
		return false
	case strings.IndexByte("./~", word[0]) >= 0, strings.Contains(word, ":/"), strings.HasPrefix(word, "file:"), strings.HasPrefix(word, "link:"), strings.HasPrefix(word, "portal:"), strings.Contains(word, `\`), strings.Contains(word, "file:"):
		return true
	}
	name, _, _ := strings.Cut(strings.ToLower(word), "[")
	name, _, _ = strings.Cut(name, ";")
	if manifestEnds.Has(path.Ext(strings.TrimSpace(name))) {
		return true
	}
	return strings.HasSuffix(name, "/") || strings.Contains(name, "/") && name[0] != '@' && !ownRepositories.Has(program)
}
