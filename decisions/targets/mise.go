package targets

import (
	"path"
	"strings"
	"sync"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/settings"
	"github.com/permd/permd/internal/lazy"
)

// plainMise is what a plain mise.toml says: nothing that names files of tasks or variables.
var plainMise = sync.OnceValue(func() *settings.Format {
	return format("mise", `
		min_version: word
		tools.*: word
		tools.*.version: word
		env.*
		tasks.*
		tasks.*.run
		tasks.*.description
		tasks.*.depends
		tasks.*.alias
		tasks.*.sources
		tasks.*.outputs
		tasks.*.env.*
		tasks.*.quiet
		tasks.*.hide
	`)
})

var (
	// miseMore matches further files and folders with settings or tasks of mise.
	miseMore = lazy.Regexp(`(?i)^\.?(?:mise|rtx)(?:rc)?(?:[._-].*)?$`)
	// miseVersions matches files that say which programs of which folders mise puts first.
	miseVersions = lazy.Regexp(`(?i)^\.(?:tool-versions|.*-version|nvmrc|sdkmanrc)$`)
	// miseNotPlain matches templates, which may read files, and mise in another folder.
	miseNotPlain = lazy.Regexp(`\{\{|\{%|\{#|(?:^|[^A-Za-z0-9_.-])mise[^\n]*[ \t"']-|MISE_`)
)

// bindMise binds a run of tasks of mise to its file, if there are no others in the project.
func bindMise(rd *reading, file string) *effects.Script {
	text, _ := rd.read(file)
	all := text
	for dir := rd.cwd(); rd.why == ""; dir = path.Dir(dir) {
		root := false
		for _, name := range rd.names(dir) {
			at := path.Join(dir, name)
			switch {
			case at == file:
			case strings.EqualFold(name, ".git"):
				root = true
			case name == "mise.lock", miseVersions().MatchString(name):
				more, there := rd.read(at)
				all = appendFile(all, at, more, there)
			case miseMore().MatchString(name):
				rd.failed(at, "has further settings or tasks of mise")
			case strings.EqualFold(name, ".config"):
				for _, below := range rd.names(at) {
					if miseMore().MatchString(below) {
						rd.failed(path.Join(at, below), "has further settings or tasks of mise")
					}
				}
			}
		}
		if root || dir == "/" {
			break
		}
	}
	if !plainMise().Plain(text) || miseNotPlain().Match(text) {
		rd.fail("mise.toml is not plain")
	}
	return rd.wholeFile(file, all)
}
