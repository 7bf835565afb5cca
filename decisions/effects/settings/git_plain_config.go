package settings

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/permd/permd/internal/wordset"
)

// Settings that say nothing to a command that stages a file or makes a branch but how names,
// ends of lines and times are compared, what is shown, and who commits: git-config(1). A * is
// any one name.
var (
	plainSettings = wordset.Fields(`core.filemode core.logallrefupdates core.ignorecase core.precomposeunicode core.protecthfs core.protectntfs core.symlinks core.autocrlf core.eol
		core.safecrlf core.longpaths core.quotepath core.abbrev core.whitespace core.compression core.preloadindex core.checkstat core.trustctime
		remote.*.url remote.*.pushurl remote.*.fetch remote.*.push remote.*.tagopt remote.*.prune remote.*.gh-resolved remote.pushdefault
		branch.*.remote branch.*.merge branch.*.pushremote branch.*.rebase branch.*.description branch.*.vscode-merge-base branch.*.gh-merge-base
		branch.*.github-pr-owner-number branch.*.github-pr-base-branch branch.sort user.name user.email user.useconfigonly
		init.defaultbranch pull.rebase pull.ff push.default push.autosetupremote push.followtags fetch.prune fetch.prunetags fetch.parallel
		merge.ff merge.conflictstyle rebase.autostash rebase.autosquash rebase.updaterefs commit.verbose commit.cleanup commit.gpgsign tag.sort tag.gpgsign lfs.repositoryformatversion`)
	// Those that say nothing more in a person's own files, which no project writes.
	plainOwnSettings = wordset.Fields(`core.editor core.pager core.excludesfile core.commentchar core.commentstring core.sshcommand core.askpass user.signingkey gpg.format gpg.program gpg.*.program
		gpg.*.allowedsignersfile rerere.enabled rerere.autoupdate help.autocorrect init.templatedir commit.template filter.*.clean filter.*.smudge filter.*.process filter.*.required`)
	// What a commit says it changes is shown, too.
	plainDiff        = wordset.Fields("diff.algorithm diff.colormoved diff.context diff.renames diff.renamelimit diff.mnemonicprefix diff.noprefix diff.tool diff.indentheuristic")
	plainOwnSections = wordset.Fields(`author committer color column credential url http https protocol safe push pull fetch merge mergetool diff difftool rebase sequence
		log show blame format pretty status interactive advice gui guitool delta github gitlab hub ghq sendemail versionsort web browser tag am apply notes stash clean clone`)
)

var ownDataCommands = []string{"add", "commit", "checkout", "switch"}

// plainSetting reports whether a setting is known to say nothing that matters, in a
// repository or in one of the person's own files.
func plainSetting(e *entry, change *GitChange, own bool) bool {
	section, last := e.path[0], e.path[len(e.path)-1]
	name := section + "." + last
	if len(e.path) > 2 {
		name = section + ".*." + last
	}
	switch {
	case name == "core.repositoryformatversion":
		return e.value == "0"
	case name == "core.bare", name == "core.fsmonitor":
		return e.value == "false"
	case name == "remote.*.fetch": // a new branch of one that is fetched is set up to follow it, in the settings
		_, to, _ := strings.Cut(e.value, ":")
		return change.Branch == "" || to == "" || strings.HasPrefix(to, "refs/remotes/") || strings.HasPrefix(to, "refs/tags/")
	case name == "branch.autosetupmerge": // always and inherit write settings
		return e.value == "true" || e.value == "false" || e.value == "simple"
	case change.Commits && (section == "diff" || section == "rerere" || section == "notes" || section == "gpg"):
		return plainDiff.Has(name)
	case change.Commits && name == "commit.gpgsign":
		return e.value == "false"
	case change.Commits && name == "status.submodulesummary":
		return false
	case name == "gc.auto":
		return e.value == "0"
	case name == "maintenance.auto":
		return e.value == "false"
	case section == "alias": // git passes over aliases of what it has, and newer versions not always
		return own && !slices.ContainsFunc(ownDataCommands, func(name string) bool { return strings.EqualFold(name, e.path[1]) })
	case section == "pager": // add and checkout would have one
		return own && (last == "log" || last == "diff" || last == "show" || last == "branch" || last == "blame" || last == "status" || last == "reflog")
	}
	return plainSettings.Has(name) || own && (plainOwnSettings.Has(name) || plainOwnSections.Has(section))
}

// PlainOwn returns the first setting of one of the person's own files, or of the system, by
// which such a command may do more; "" if there is none. It reports also whether there may be
// filters, which attributes choose (see Filtered).
func (a *Surroundings) PlainOwn(s *Format, change *GitChange, file string) (setting string, filters bool) {
	data, err := a.FS.ReadFile(file, maxObeyed)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	if err != nil {
		return notUnderstood, false
	}
	list, err := ownTexts.read(s, data)
	if err != nil {
		return notUnderstood, false
	}
	for i := range list {
		e := &list[i]
		if !plainSetting(e, change, true) || e.name() == "core.excludesfile" && !a.noSecret(e.value) {
			return e.name(), filters
		}
		filters = filters || e.path[0] == "filter"
	}
	return "", filters
}
