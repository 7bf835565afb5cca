package paths

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/wordset"
)

// folderListing is the content of a folder.
type folderListing struct {
	stamp               Stamp
	secrets             []string
	skipped             []string
	ignores             []string
	subs                []string
	truncated, possible bool
	repository          bool
}

// list reads a folder. It uses only immutable fields, so it needs no lock.
func (x *Index) list(f *folder) folderListing {
	var l folderListing
	// Before the names, so that a change in between makes the stamp outdated.
	if stamp, ok := x.OldStamp(f.path); ok {
		l.stamp = stamp
	}
	names, err := x.Names(f.path, maxEntries)
	if err != nil {
		// The caller cannot read it either, but possibly for another reason than the
		// daemon.
		l.truncated = !errors.Is(err, fs.ErrNotExist)
		return l
	}
	for _, n := range names {
		name := n.Name()
		l.repository = l.repository || lexpath.Fold(name) == ".git"
		if !n.IsDir() {
			switch likelihoodOf(f.path[f.base:], name) {
			case certain:
				l.secrets = append(l.secrets, strings.Clone(name))
			case possible:
				l.possible = true
			case none:
			}
			if n.Type()&fs.ModeSymlink != 0 && slices.Contains(IgnoreNames, name) {
				l.ignores = append(l.ignores, strings.Clone(name))
			}
			continue
		}
		switch {
		case versionFolders.Has(lexpath.Fold(name)):
		case skippedFolders.Has(lexpath.Fold(name)):
			l.skipped = append(l.skipped, strings.Clone(name))
		case f.depth+1 >= maxDepth:
			l.truncated = true
		default:
			l.subs = append(l.subs, name)
		}
	}
	slices.Sort(l.secrets)
	slices.Sort(l.skipped)
	slices.Sort(l.ignores)
	slices.Sort(l.subs)
	return l
}

// put stores a folder's content, and returns the subfolders that have to be read. The
// lock is held.
func (p *projectIndex) put(f *folder, l folderListing) []*folder {
	if f.gone {
		return nil
	}
	f.stamp, f.secrets, f.skipped, f.ignores, f.repository = l.stamp, l.secrets, l.skipped, l.ignores, l.repository
	f.truncated, f.possible = l.truncated, l.possible
	var kept, added []*folder
	for _, sub := range f.subs {
		if _, found := slices.BinarySearch(l.subs, path.Base(sub.path)); found {
			kept = append(kept, sub)
		} else {
			p.folders -= sub.removeTree()
		}
	}
	f.subs = kept
	for _, name := range l.subs {
		if slices.ContainsFunc(kept, func(sub *folder) bool { return path.Base(sub.path) == name }) {
			continue
		}
		if p.folders >= maxFolders {
			f.truncated = true
			break
		}
		p.folders++
		sub := &folder{path: Joined(f.path, name), base: f.base, depth: f.depth + 1}
		added = append(added, sub)
	}
	f.subs = append(f.subs, added...)
	return added
}

// removeTree marks a folder and all below it as gone, and returns their number.
func (f *folder) removeTree() int {
	f.gone = true
	n := 1
	for _, sub := range f.subs {
		n += sub.removeTree()
	}
	return n
}

// skippedFolders are not read: packages of registries, version control and build
// output. A search does enter them, and most contain keys for tests and public
// certificates; but what everybody can download is no secret, and with a question for
// each of these every search in such a project would ask. A tool or command that
// names such a file itself still asks.
var skippedFolders = wordset.Of(
	".git", ".hg", ".svn", ".jj",
	"node_modules", "bower_components", "jspm_packages", ".pnpm-store", ".yarn", ".npm",
	"vendor", "third_party", "third-party", "external", "pods", "carthage",
	".venv", "venv", "virtualenv", "site-packages", "dist-packages", "__pycache__", "__pypackages__", ".eggs", ".tox", ".nox",
	".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints",
	"target", ".gradle", ".m2", ".cargo", ".rustup", ".bundle", ".dart_tool", "deriveddata", "elm-stuff", "_build", "deps",
	".terraform", ".terragrunt-cache", ".next", ".nuxt", ".svelte-kit", ".angular", ".turbo", ".parcel-cache", ".cache",
)

// versionFolders are those of skippedFolders that hold no working tree.
var versionFolders = wordset.Of(".git", ".hg", ".svn", ".jj")

// likelihood is how likely a name is that of a secret, in a folder that is searched as
// a whole.
type likelihood uint8

const (
	none likelihood = iota
	possible
	certain
)

// likelihoodOf judges a file by its name and those of its folders, from the project's root
// on. It is used for searches only, which touch many files that nobody had in mind.
// So it excludes names of secrets that are none in most projects: keys in test data,
// and certificates. A call that names such a file still asks.
func likelihoodOf(dir, name string) likelihood {
	f := lexpath.Fold(name)
	p := lexpath.Fold(dir) + "/" + f
	if !Guarded().Match(p, "").Has(effects.Secret) {
		return none
	}
	switch {
	case maybeSecretNames.Has(f):
		return possible
	case !keyKinds().Match("/"+f, "").Has(effects.Secret):
		return certain
	case isCertificate(f):
		return none
	}
	for part := range strings.SplitSeq(lexpath.Fold(dir), "/") {
		if testFolders.Has(part) {
			return none
		}
	}
	return certain
}

// maybeSecretNames are names of configuration files that most projects commit, and that hold
// a secret in a few.
var maybeSecretNames = wordset.Of(".npmrc", ".envrc", ".env.test", ".env.ci", ".env.defaults")

// keyKinds returns the names of keys and certificates.
var keyKinds = sync.OnceValue(func() *guardIndex {
	return newGuardIndex([]guardGroup{{[]effects.Tag{effects.Secret}, []string{
		"*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.jks", "*.keystore", "*.pkcs12", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
		"ssh_host_*_key",
	}}})
})

var testFolders = wordset.Of(
	"testdata", "test-data", "test_data", "fixtures", "fixture", "__fixtures__", "test-fixtures", "test_fixtures",
	"test", "tests", "__tests__", "spec", "specs", "e2e", "mock", "mocks", "__mocks__", "examples", "example", "samples", "sample", "testing",
)

// isCertificate reports whether a folded name is that of a public certificate, as in
// ca-bundle.pem.
func isCertificate(f string) bool {
	stem, ok := strings.CutSuffix(f, ".pem")
	if !ok || strings.Contains(stem, "key") || strings.Contains(stem, "priv") {
		return false
	}
	for _, word := range []string{"cert", "chain", "bundle", "public", "crt"} {
		if strings.Contains(stem, word) {
			return true
		}
	}
	return stem == "ca" || stem == "root" || strings.HasPrefix(stem, "ca-") || strings.HasPrefix(stem, "ca_")
}
