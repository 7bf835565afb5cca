package git

import (
	"slices"

	"github.com/permd/permd/internal/wordset"
)

// The sub-commands of git that print the content of files, from the history, the index
// or the working tree.
var (
	printing = wordset.Fields("show diff blame annotate cat-file grep archive difftool format-patch merge-file checkout-index unpack-file range-diff")
	// These print it, or tell something of it, only with options that are not known to be quiet.
	patching = wordset.Fields("log reflog whatchanged shortlog diff-tree diff-index diff-files stash")
	// These print the files that are named, which a pattern may do in ways of git's own
	// (HEAD:NAME); a diff shows all changes anyway.
	byName = wordset.Fields("show cat-file blame annotate archive checkout-index unpack-file")
	// summaryOptions are the options with which diff and show print no patch, by their canonical
	// names. --check is none: it prints lines.
	summaryOptions = []string{
		"--stat", "--numstat", "--shortstat", "--dirstat", "--compact-summary", "--summary", "--name-only", "--name-status", "--raw",
		"--no-patch", "--quiet",
	}
	// quietOptions are the options of these sub-commands, by their canonical names, with which they
	// print no more of what is in files than without: no lines, and nothing that depends on whether
	// a text given is in a file. -G, -S and -I tell that letter by letter, --find-object of
	// a whole file, --anchored by the number of lines that --stat counts. -c, -m and --cc, of a diff,
	// ask for patches.
	quietOptions = wordset.Fields(`
		--no-pager --paginate --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-replace-objects
		--no-lazy-fetch --version -C
		--no-patch --raw --stat --stat-width --stat-count --compact-summary --numstat --shortstat --dirstat --cumulative --summary --name-only
		--name-status -z --color --no-color --color-moved --no-color-moved --abbrev
		--indent-heuristic --no-indent-heuristic --minimal --patience --histogram --diff-algorithm
		--no-renames --break-rewrites --find-renames --find-copies --find-copies-harder --irreversible-delete -l --diff-filter
		--pickaxe-all --pickaxe-regex -R --relative -O --output --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change
		--ignore-all-space --ignore-blank-lines --inter-hunk-context --exit-code --quiet --no-ext-diff --no-textconv
		--ignore-submodules --src-prefix --dst-prefix --no-prefix --line-prefix --merge-base --cached --staged
		--follow --decorate --no-decorate --decorate-refs --source --mailmap --use-mailmap --log-size --max-count --skip --since --after
		--until --before --author --committer --grep --all-match --invert-grep --regexp-ignore-case --extended-regexp --fixed-strings
		--perl-regexp --merges --no-merges --min-parents --max-parents --first-parent --all --branches --tags --remotes --glob --exclude
		--reflog --walk-reflogs --cherry-mark --cherry-pick --left-only --right-only --cherry --left-right --boundary
		--simplify-by-decoration --simplify-merges --full-history --ancestry-path --date-order --topo-order --author-date-order --reverse
		--not --abbrev-commit --no-abbrev-commit --oneline --encoding --notes --no-notes --relative-date --date --parents --children
		--graph --show-linear-break --count -t -q --pretty --format --show-signature
		--numbered --email --group
		--include-untracked --keep-index --message --index
		--expire --expire-unreachable --rewrite --updateref --dry-run --stale-fix`)
)

// showsContent reports whether an option may make git print what is in files, or tell something of it.
func (r *Run) showsContent() bool {
	return slices.ContainsFunc(r.Flags, func(f string) bool { return !quietOptions.Has(f) })
}

// copies adds the reads of all tracked files for options with which git looks in each of them for
// what another file has, and says where it is from.
func (r *Run) copies() {
	twice := func(name string) bool {
		first := slices.Index(r.Flags, name)
		return first >= 0 && slices.Contains(r.Flags[first+1:], name)
	}
	harder := r.has([]string{"--find-copies-harder"}) || twice("--find-copies")
	if r.Sub == "blame" || r.Sub == "annotate" {
		harder = twice("-C")
	}
	if harder {
		top, i := r.fromRoot("."), len(r.Args)-1
		r.printsFolder(i, top)
		r.search(i, top)
	}
}
