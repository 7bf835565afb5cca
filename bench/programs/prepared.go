package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// A preparation is a way in which somebody may have prepared a repository, or the settings
// around it, so that git does more than it says. It is shell text that runs in the project,
// where $CANARY is a program that must not run, $OUT a folder of the person's outside of the
// project with a file x, and $ETC that of the system's settings.
type preparation struct {
	name, text string
	xdg        bool // git runs with XDG_CONFIG_HOME=~/xdg
	// tree is text for a project that is a linked working tree, whose folder in the repository
	// is $TREE; it runs when the repository has been moved away.
	tree string
}

// linkTree makes a linked working tree of the project, and moves its repository.
const linkTree = `mkdir $MAIN && mv .git $MAIN/.git && mkdir -p $TREE/logs $TREE/refs && echo ../.. > $TREE/commondir && echo $PWD/.git > $TREE/gitdir &&
	cp -a $MAIN/.git/HEAD $MAIN/.git/index $TREE && echo "gitdir: $TREE" > .git; cp -a $MAIN/.git/logs/HEAD $TREE/logs`

// treeParts are the files and folders that a linked working tree has for itself, with those that
// are not there in an ordinary one.
var treeParts = strings.Fields(`HEAD index commondir gitdir locked logs logs/HEAD refs refs/bisect refs/heads refs/heads/main config config.worktree COMMIT_EDITMSG ORIG_HEAD FETCH_HEAD MERGE_HEAD MERGE_MSG
	MERGE_MODE SQUASH_MSG CHERRY_PICK_HEAD REVERT_HEAD BISECT_LOG rebase-merge rebase-apply sequencer modules modules/x info info/attributes info/exclude info/sparse-checkout hooks hooks/pre-commit
	hooks/post-checkout hooks/post-index-change objects objects/info/alternates packed-refs shallow sharedindex.x index.lock HEAD.lock unknown`)

// hooks are those of githooks(5).
var hooks = strings.Fields(`applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout
	post-merge pre-push pre-receive update proc-receive post-receive post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate
	fsmonitor-watchman p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit post-index-change`)

// configs are the files of settings that git reads, with a preparation's form of each.
var configs = []struct {
	name string
	xdg  bool
}{{".git/config", false}, {".git/config.worktree", false}, {"$HOME/.gitconfig", false}, {"$HOME/.config/git/config", false}, {"$HOME/xdg/git/config", true}, {"$ETC/gitconfig", false}}

// parts are the files and folders of .git that a command may read or write, with those that
// are not there in an ordinary repository.
var parts = strings.Fields(`HEAD index config description packed-refs COMMIT_EDITMSG ORIG_HEAD FETCH_HEAD hooks info info/exclude info/attributes info/refs info/grafts
	info/sparse-checkout objects objects/pack objects/info objects/info/alternates objects/info/http-alternates objects/info/packs objects/info/commit-graph
	refs refs/heads refs/heads/main refs/heads/new refs/heads/new/x refs/tags refs/stash refs/replace logs logs/HEAD logs/refs logs/refs/heads logs/refs/heads/main logs/refs/heads/new
	logs/refs/stash branches branches/origin remotes remotes/origin worktrees worktrees/x modules modules/x rr-cache commondir config.worktree gitdir shallow sharedindex.x MERGE_HEAD MERGE_MODE
	MERGE_MSG MERGE_RR SQUASH_MSG CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD AUTO_MERGE BISECT_LOG rebase-merge rebase-apply sequencer NOTES_MERGE_PARTIAL gc.log gc.pid lfs
	index.lock HEAD.lock config.lock packed-refs.lock refs/heads/new.lock refs/heads/main.lock fsmonitor--daemon fsmonitor--daemon.ipc unknown objects/maintenance.lock .gitignore`)

// preparations returns all of them, each by itself: those that are written here, hooks, each
// setting that this git knows in each file, and each part of .git as a link or something else.
func preparations() ([]preparation, error) {
	all := slices.Clone(prepared)
	add := func(name, format string, args ...any) {
		all = append(all, preparation{name: name, text: fmt.Sprintf(format, args...)})
	}
	for _, part := range treeParts {
		above := `mkdir -p $(dirname ` + part + `) 2>/dev/null; `
		for _, kind := range [][2]string{
			{"link to a copy", `if [ -e %[1]s ]; then mv %[1]s $OUT/moved; else echo x > $OUT/moved; fi; ln -s $OUT/moved %[1]s`}, {"link to a file", `rm -rf %[1]s; ln -s $OUT/x %[1]s`},
			{"another name", `[ -d %[1]s ] || { [ -e %[1]s ] || cp HEAD %[1]s; ln %[1]s $OUT/named; }`}, {"folder", `[ -d %[1]s ] || { rm -rf %[1]s; mkdir -p %[1]s/x; }`},
			{"fifo", `rm -rf %[1]s; mkfifo %[1]s`}, {"a path", `[ -d %[1]s ] || printf '%%s\n' $OUT/x > %[1]s`}, {"a program", `[ -d %[1]s ] || cp $CANARY %[1]s`},
		} {
			all = append(all, preparation{name: kind[0] + " " + part + " of the tree", tree: "cd $TREE; " + above + fmt.Sprintf(kind[1], part)})
		}
	}
	for _, hook := range hooks {
		add("hook "+hook, "mkdir -p .git/hooks; cp $CANARY .git/hooks/%s", hook)
	}
	for _, part := range parts {
		at := ".git/" + part
		above := "mkdir -p $(dirname " + at + ") 2>/dev/null; "
		add("link to a copy "+part, above+`if [ -e %[1]s ]; then mv %[1]s $OUT/moved; else echo x > $OUT/moved; fi; ln -s $OUT/moved %[1]s`, at)
		add("link to nothing "+part, above+`rm -rf %[1]s; ln -s $OUT/none %[1]s`, at)
		add("link to a file "+part, above+`rm -rf %[1]s; ln -s $OUT/x %[1]s`, at)
		add("another name "+part, above+`[ -d %[1]s ] || { [ -e %[1]s ] || cp .git/HEAD %[1]s; ln %[1]s $OUT/named; }`, at)
		add("folder "+part, above+`[ -d %[1]s ] || { rm -rf %[1]s; mkdir -p %[1]s/x; }`, at)
		add("fifo "+part, above+`rm -rf %[1]s; mkfifo %[1]s`, at)
		add("file "+part, above+`[ -e %[1]s ] || printf 'ref: refs/heads/main\n' > %[1]s`, at)
		add("path "+part, above+`[ -e %[1]s ] || printf '%%s\n' $OUT/x > %[1]s`, at)
	}
	names, err := exec.Command("git", "help", "--config-for-completion").Output()
	if err != nil {
		return nil, fmt.Errorf("asking git for its settings: %w", err)
	}
	for key := range strings.FieldsSeq(string(names) + " " + moreSettings) {
		key = strings.NewReplacer("<name>", "evil", "<driver>", "evil", "<url>", "evil", "*", "evil", "<", "", ">", "").Replace(key)
		if !strings.Contains(key, ".") || strings.HasSuffix(key, ".") {
			continue
		}
		for _, c := range configs {
			for _, value := range []string{"$CANARY", "true", "$OUT/x", "!$CANARY", ".hooks", "always", "+refs/*:refs/*", "1", "../outside/x"} {
				all = append(all, preparation{name: "setting " + key + "=" + value + " in " + c.name, xdg: c.xdg, text: attributed + fmt.Sprintf(
					`mkdir -p .hooks $(dirname "%[1]s"); for h in post-checkout post-index-change reference-transaction pre-commit; do cp $CANARY .hooks/$h; done; git config -f "%[1]s" %[2]s "%[3]s"`, c.name, key, value)})
			}
		}
	}
	return all, nil
}

// attributed gives all files a filter and a way to show them that settings may make evil.
const attributed = `printf '* filter=evil diff=evil merge=evil\n' > .gitattributes; `

// moreSettings are those that git help leaves out.
const moreSettings = `filter.evil.clean filter.evil.smudge filter.evil.process diff.evil.textconv diff.evil.command merge.evil.driver trace2.normalTarget trace2.perfTarget trace2.eventTarget
	include.path includeIf.gitdir:/.path extensions.worktreeConfig extensions.partialClone extensions.refStorage extensions.objectFormat extensions.preciousObjects core.repositoryFormatVersion
	core.worktree core.bare remote.origin.promisor remote.origin.partialclonefilter branch.main.remote branch.new.merge trailer.evil.command trailer.evil.cmd alias.add alias.checkout alias.switch
	pager.add pager.checkout pager.switch submodule.evil.update core.virtualFilesystem core.useBuiltinFSMonitor attr.tree gc.recentObjectsHook`

// prepared are preparations of more than one part.
var prepared = []preparation{
	{name: "plain"},
	{name: "one more tree", tree: `git worktree add -q $OUT/tree -b more`},
	{name: "a tree that is gone", tree: `git worktree add -q $OUT/tree -b more; rm -rf $OUT/tree`},
	{name: "a locked tree", tree: `echo x > $TREE/locked`},
	{name: "another tree's repository", tree: `echo $OUT/.git > $TREE/gitdir`},
	{name: "a repository of somebody else", tree: `git init -q $OUT/repo; git -C $OUT/repo config core.fsmonitor $CANARY; printf 'gitdir: %s/repo/.git\n' $OUT > .git`},
	{name: "a repository that claims the tree", tree: `git init -q $OUT/repo; mkdir -p $OUT/repo/.git/worktrees/x; cp -r $TREE/. $OUT/repo/.git/worktrees/x; cp $CANARY $OUT/repo/.git/hooks/post-index-change; echo "gitdir: $OUT/repo/.git/worktrees/x" > .git`},
	{name: "settings of the tree", tree: `git config extensions.worktreeConfig true; git config --worktree core.fsmonitor $CANARY`},
	{name: "settings of the tree, without the extension", tree: `git config -f $TREE/config.worktree core.fsmonitor $CANARY; git config -f $TREE/config core.fsmonitor $CANARY`},
	{name: "hooks of the tree", tree: `mkdir $TREE/hooks; for h in post-checkout post-index-change reference-transaction pre-commit; do cp $CANARY $TREE/hooks/$h; done`},
	{name: "hooks of the repository", tree: `for h in post-checkout post-index-change reference-transaction pre-commit; do cp $CANARY $MAIN/.git/hooks/$h; done`},
	{name: "attributes of the tree", tree: `mkdir -p $TREE/info; printf '* filter=evil\n' > $TREE/info/attributes; git config -f ~/.gitconfig filter.evil.clean $CANARY`},
	{name: "attributes of the repository", tree: `printf '* filter=evil\n' > $MAIN/.git/info/attributes; git config -f ~/.gitconfig filter.evil.clean $CANARY`},
	{name: "a filter by attributes of the tree's index", tree: attributed + `git add .gitattributes; rm .gitattributes; git config -f ~/.gitconfig filter.evil.clean $CANARY`},
	{name: "another repository by commondir", tree: `git init -q $OUT/repo; git -C $OUT/repo config core.fsmonitor $CANARY; echo $OUT/repo/.git > $TREE/commondir`},
	{name: "commondir by a way around", tree: `mkdir -p $OUT/repo/.git; ln -s $MAIN/.git $OUT/link; echo $OUT/link > $TREE/commondir`},
	{name: "a tree by a link", tree: `mv $TREE $OUT/admin; ln -s $OUT/admin $TREE`},
	{name: "trees by a link", tree: `mv $MAIN/.git/worktrees $OUT/trees; ln -s $OUT/trees $MAIN/.git/worktrees`},
	{name: "a repository by a link", tree: `mv $MAIN $OUT/main; ln -s $OUT/main $MAIN`},
	{name: "a bare repository", tree: `git -C $MAIN config core.bare true`},
	{name: "at a commit, in the tree", tree: `git checkout -q --detach`},
	{name: "a merge of another tree", tree: `git worktree add -q $OUT/tree -b more; echo x > $MAIN/.git/worktrees/tree/MERGE_MSG; git rev-parse HEAD > $MAIN/.git/worktrees/tree/MERGE_HEAD`},
	{name: "staged in the tree", tree: `git add new.txt src/new.go`},
	{name: "another tree of the same branch", tree: `git worktree add -q -f $OUT/tree main`},
	{name: "at a commit", text: `git checkout -q --detach`},
	{name: "no commit", text: `git checkout -q --orphan none`},
	{name: "packed references", text: `git pack-refs --all`},
	{name: "packed objects", text: `git gc -q`},
	{name: "staged", text: `git add new.txt src/new.go`},
	{name: "staged, packed", text: `git gc -q; git add new.txt src/new.go`},
	{name: "staged, no commit", text: `git checkout -q --orphan none; git add new.txt`},
	{name: "staged, with attributes below", text: `printf '* filter=evil\n' > src/.gitattributes; git config -f ~/.gitconfig filter.evil.clean $CANARY; git add new.txt; touch src/*`},
	{name: "staged, all touched", text: `git add new.txt; touch a.txt b.txt src/* main.go`},
	{name: "staged, much to tidy up", text: `git add new.txt; mkdir -p .git/objects/17; for i in $(seq 40); do printf x > .git/objects/17/$(printf %038d $i); done; cp $CANARY .git/hooks/pre-auto-gc.sample`},
	{name: "staged, many packs", text: `git add new.txt; for i in $(seq 60); do echo $i | git hash-object -w --stdin | git pack-objects -q .git/objects/pack/pack; done; git prune-packed`},
	{name: "staged, rerere", text: `git add new.txt; git config -f ~/.gitconfig rerere.enabled true`},
	{name: "staged, signed", text: `git add new.txt; git config -f ~/.gitconfig commit.gpgSign true; git config -f ~/.gitconfig gpg.program $CANARY`},
	{name: "staged, shown by others", text: `git add new.txt; ` + attributed + `git config -f ~/.gitconfig diff.external $CANARY; git config -f ~/.gitconfig diff.evil.textconv $CANARY; git config -f ~/.gitconfig diff.evil.command $CANARY`},
	{name: "staged, tracked outside", text: `git update-index --add --cacheinfo 100644,$(git rev-parse HEAD:a.txt),out/x; ln -s $OUT out`},
	{name: "staged, a secret is tracked", text: `git add -f .env; echo more >> .env`},
	{name: "unmerged entries", text: `for i in 1 2 3; do printf '100644 %s %d\ta.txt\n' $(git rev-parse HEAD:a.txt) $i; done | git update-index --index-info`},
	{name: "flags of entries", text: `git add -N new.txt; git update-index --assume-unchanged a.txt; git update-index --skip-worktree b.txt`},
	{name: "encodings", text: `printf '* text working-tree-encoding=UTF-16 ident eol=crlf\n' > .gitattributes; git config core.autocrlf true`},
	{name: "a tracked workflow", text: `mkdir -p .github/workflows; echo x > .github/workflows/ci.yml; git add -f .github; git commit -q -m w`},
	{name: "a tracked workflow, encoded", text: `mkdir -p .github/workflows; echo +AGEAYg-x > .github/workflows/ci.yml; git add -f .github; git commit -q -m w; touch .github/workflows/ci.yml; printf '* working-tree-encoding=UTF-7\n' > .gitattributes`},
	{name: "a tracked workflow, changed", text: `mkdir -p .github/workflows; echo x > .github/workflows/ci.yml; git add -f .github; git commit -q -m w; echo y > .github/workflows/ci.yml`},
	{name: "a tracked workflow, gone", text: `mkdir -p .github/workflows; echo x > .github/workflows/ci.yml; git add -f .github; git commit -q -m w; rm -r .github`},
	{name: "a tracked workflow with returns", text: `mkdir -p .github/workflows; printf 'x\r\n' > .github/workflows/ci.yml; git add -f .github; git commit -q -m w; touch .github/workflows/ci.yml; git config core.autocrlf input`},
	{name: "secrets are taken back", text: `printf '.env\n!.en[v/x]\n' > .gitignore; mkdir -p src/deep; echo x > src/deep/.env`},
	{name: "secrets are taken back by the index", text: `printf '!.env\n' > src/.gitignore; echo x > src/.env; git add src/.gitignore; git update-index --skip-worktree src/.gitignore; rm src/.gitignore`},
	{name: "secrets are taken back by a mark", text: `printf '\357\273\277!.env\n' > src/.gitignore; echo x > src/.env`},
	{name: "secrets are taken back elsewhere", text: `echo '!.env' > .git/info/exclude; mkdir -p ~/.config/git; git config -f ~/.gitconfig core.excludesFile '~/.config/git/ignore'; echo '!.env' > ~/.config/git/ignore; echo x > src/.env`},
	{name: "ignored names in src are elsewhere", text: `ln -s $OUT/x src/.gitignore`},
	{name: "ignored names in src are tracked as a link", text: `ln -s $OUT/x src/.gitignore; git add -f src/.gitignore; git commit -q -m x`},
	{name: "a tracked secret is there", text: `git add -f .env; git commit -q -m e; touch .env`},
	{name: "a repository below src", text: `git init -q src/deep/r; git -C src/deep/r commit -q --allow-empty -m x; git -C src/deep/r config core.fsmonitor $CANARY`},
	{name: "a repository by a file below src", text: `git init -q $OUT/r; git -C $OUT/r commit -q --allow-empty -m x; mkdir src/r; echo "gitdir: $OUT/r/.git" > src/r/.git`},
	{name: "a repository around tracked files", text: `git init -q sub; git -C sub config core.fsmonitor $CANARY; git update-index --add --cacheinfo 100644,$(git rev-parse HEAD:a.txt),sub/c.txt`},
	{name: "case is ignored", text: `git config core.ignoreCase true; echo x > SRC; echo '!.ENV' >> .gitignore`},
	{name: "a sub-folder is a link", text: `mv sub $OUT/sub; ln -s $OUT/sub sub`},
	{name: "a tracked file is a fifo", text: `rm b.txt; mkfifo b.txt`},
	{name: "a tracked file is a folder", text: `rm b.txt; mkdir b.txt; echo x > b.txt/x`},
	{name: "attributes of a folder", text: `printf '* filter=evil\n' > sub/.gitattributes; git config -f ~/.gitconfig filter.evil.clean $CANARY`},
	{name: "attributes of a tracked folder", text: `printf '* filter=evil\n' > src/.gitattributes; git add src/.gitattributes; rm src/.gitattributes; touch src/*; git config -f ~/.gitconfig filter.evil.clean $CANARY`},
	{name: "no hooks, no logs", text: `rm -rf .git/hooks .git/logs .git/info .git/branches`},
	{name: "another clone", text: `git clone -q --local . ../clone && rm -rf .git && mv ../clone/.git . && git remote remove origin`},
	{name: "shared clone", text: `git clone -q --shared . ../clone && mv .git ../gone && mv ../gone ../clone/gone && mv ../clone/.git . && rm -rf .git/objects/info/alternates; echo ../../../clone/gone/objects > .git/objects/info/alternates`},
	{name: "hooks by a link", text: `mkdir .hooks; for h in post-checkout post-index-change reference-transaction; do cp $CANARY .hooks/$h; done; rm -rf .git/hooks; ln -s ../.hooks .git/hooks`},
	{name: "sample hooks", text: `cp $CANARY .git/hooks/post-checkout.sample`},
	{name: "HEAD on notes", text: `printf 'ref: refs/notes/x\n' > .git/HEAD`},
	{name: "HEAD on a path", text: `printf 'ref: refs/heads/../../config\n' > .git/HEAD`},
	{name: "HEAD on a path outside", text: `printf 'ref: refs/heads/../../../../outside/x\n' > .git/HEAD`},
	{name: "HEAD on a tag", text: `printf 'ref: refs/tags/v1\n' > .git/HEAD`},
	{name: "HEAD on a remote branch", text: `git update-ref refs/remotes/origin/main HEAD; printf 'ref: refs/remotes/origin/main\n' > .git/HEAD`},
	{name: "HEAD is a link", text: `rm .git/HEAD; ln -s refs/heads/main .git/HEAD`},
	{name: "HEAD with blanks", text: `printf 'ref:   refs/heads/main \n\nx\n' > .git/HEAD`},
	{name: "a branch of a branch", text: `mv .git/refs/heads/main .git/refs/heads/other; printf 'ref: refs/heads/other\n' > .git/refs/heads/main`},
	{name: "new is another branch", text: `printf 'ref: refs/heads/other\n' > .git/refs/heads/new`},
	{name: "new is a path", text: `printf 'ref: ../outside/y\n' > .git/refs/heads/new`},
	{name: "new is broken", text: `printf 'x\n' > .git/refs/heads/new`},
	{name: "new is a log", text: `mkdir -p .git/logs/refs/heads; ln -s $OUT/x .git/logs/refs/heads/new`},
	{name: "new is a folder's link", text: `ln -s $OUT .git/refs/heads/new`},
	{name: "objects of the new file are a link", text: `h=$(git hash-object new.txt); mkdir -p .git/objects/$(echo $h | cut -c1-2); ln -s $OUT/x .git/objects/$(echo $h | sed 's|..|&/|')`},
	{name: "objects of the new file are a hard link", text: `h=$(git hash-object new.txt); mkdir -p .git/objects/$(echo $h | cut -c1-2); ln $OUT/x .git/objects/$(echo $h | sed 's|..|&/|')`},
	{name: "the folder of the new object is a link", text: `h=$(git hash-object new.txt | cut -c1-2); rm -rf .git/objects/$h; ln -s $OUT .git/objects/$h`},
	{name: "all folders of objects are links", text: `for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do for j in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do [ -e .git/objects/$i$j ] || { mkdir -p $OUT/$i$j; ln -s $OUT/$i$j .git/objects/$i$j; }; done; done`},
	{name: "an index of packs", text: `git gc -q; git multi-pack-index write`},
	{name: "a pack is a link", text: `git gc -q; for f in .git/objects/pack/*.pack; do mv $f $OUT/p; ln -s $OUT/p $f; done`},
	{name: "a filter of the repository", text: attributed + `git config filter.evil.clean $CANARY; git config filter.evil.smudge $CANARY`},
	{name: "a filter of the person", text: attributed + `git config -f ~/.gitconfig filter.evil.clean $CANARY; git config -f ~/.gitconfig filter.evil.process $CANARY`},
	{name: "a filter by info/attributes", text: `printf '* filter=evil\n' > .git/info/attributes; git config -f ~/.gitconfig filter.evil.clean $CANARY`},
	{name: "a filter by a macro", text: `printf '[attr]m filter=evil\n* m\n' > .gitattributes; git config -f ~/.gitconfig filter.evil.clean $CANARY`},
	{name: "a filter by attributes of the index", text: attributed + `git add .gitattributes; rm .gitattributes; git config -f ~/.gitconfig filter.evil.clean $CANARY`},
	{name: "a filter by attributes of the index, below", text: `printf '* filter=evil\n' > src/.gitattributes; git add src/.gitattributes; rm src/.gitattributes; git config -f ~/.gitconfig filter.evil.clean $CANARY`},
	{name: "a filter by attributes below", text: `printf '* filter=evil\n' > src/.gitattributes; git config -f ~/.gitconfig filter.evil.clean $CANARY`},
	{name: "a filter by attributes that are a link", text: `printf '* filter=evil\n' > $OUT/a; ln -s $OUT/a .gitattributes; git config -f ~/.gitconfig filter.evil.clean $CANARY`},
	{name: "a filter by attributes of the home", text: `mkdir -p ~/.config/git; printf '* filter=evil\n' > ~/.config/git/attributes; git config -f ~/.gitconfig filter.evil.clean $CANARY`},
	{name: "a filter by attributes of another home", xdg: true, text: `mkdir -p ~/xdg/git; printf '* filter=evil\n' > ~/xdg/git/attributes; git config -f ~/.gitconfig filter.evil.clean $CANARY`},
	{name: "a filter by attributes of a setting", text: `printf '* filter=evil\n' > ~/attr; git config -f ~/.gitconfig core.attributesFile ~/attr; git config -f ~/.gitconfig filter.evil.clean $CANARY`},
	{name: "a filter without attributes", text: `git config -f ~/.gitconfig filter.evil.clean $CANARY`},
	{name: "a filter by quoted attributes", text: `printf '"\\141*" "text" filter=evil\n*.txt !text -diff filter=evil\r\n' > .gitattributes; git config -f ~/.gitconfig filter.evil.clean $CANARY`},
	{name: "settings that include", text: `printf '[core]\n\tfsmonitor = %s\n' $CANARY > inc; printf '[include]\n\tpath = ../inc\n' >> .git/config`},
	{name: "the person's settings include", text: `printf '[core]\n\thooksPath = %s/hooks\n' $OUT > inc; printf '[includeIf "gitdir:~/"]\n\tpath = project/inc\n' >> ~/.gitconfig; mkdir $OUT/hooks; cp $CANARY $OUT/hooks/post-checkout`},
	{name: "hooks of the person", text: `mkdir ~/hooks; for h in post-checkout post-index-change reference-transaction; do cp $CANARY ~/hooks/$h; done; git config -f ~/.gitconfig core.hooksPath ~/hooks`},
	{name: "settings on one line", text: `printf '[core] hooksPath = .hooks\n' >> .git/config; mkdir .hooks; cp $CANARY .hooks/post-index-change`},
	{name: "settings with continued lines", text: `printf '[user]\n\tname = x\\\n\n[core]\n\tfsmon\\\nitor = x\n' >> .git/config`},
	{name: "settings in old words", text: `printf '[filter.evil]\n\tclean = %s\n' $CANARY >> .git/config; ` + attributed},
	{name: "settings with a mark", text: `printf '\357\273\277[core]\n\tfsmonitor = %s\n' $CANARY > .git/config`},
	{name: "settings with returns", text: `printf '[core]\r\n\tfsmonitor = %s\r\n' $CANARY > .git/config`},
	{name: "a split index", text: `git update-index --split-index`},
	{name: "an untracked cache", text: `git update-index --untracked-cache --force-untracked-cache`},
	{name: "an index of version 4", text: `git update-index --index-version 4`},
	{name: "a sparse index", text: `git sparse-checkout init --cone --sparse-index; git sparse-checkout set src`},
	{name: "an index with fsmonitor", text: `git config core.fsmonitor true; git update-index --fsmonitor; git config --unset core.fsmonitor`},
	{name: "a submodule", text: `git init -q sub2 && git -C sub2 commit -q --allow-empty -m x && git add sub2 2>/dev/null; git -C sub2 config core.fsmonitor $CANARY`},
	{name: "a submodule at src", text: `git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),src; git init -q src; git -C src config core.fsmonitor $CANARY`},
	{name: "a repository in src", text: `git init -q src; git -C src config core.fsmonitor $CANARY; git -C src config filter.evil.clean $CANARY; ` + attributed},
	{name: "a bare repository in src", text: `git init -q --bare src; git -C src config core.bare false; git -C src config core.worktree ..; git -C src config core.fsmonitor $CANARY`},
	{name: "a bare repository in the project", text: `cp -r .git/HEAD .git/refs .git/objects .; git config core.x y; printf '[core]\n\tfsmonitor = %s\n\tbare = false\n\tworktree = .\n' $CANARY > config`},
	{name: "no repository but a bare one", text: `mv .git/HEAD .git/refs .git/objects .; printf '[core]\n\tfsmonitor = %s\n\tbare = false\n\tworktree = .\n' $CANARY > config`},
	{name: "no repository but one above", text: `rm .git/HEAD; git init -q ..; git -C .. config core.fsmonitor $CANARY; mkdir -p ../.git/hooks; cp $CANARY ../.git/hooks/post-index-change`},
	{name: "a broken repository", text: `rm -rf .git/objects`},
	{name: "the repository is a link", text: `mv .git $OUT/git; ln -s $OUT/git .git`},
	{name: "the repository is elsewhere", text: `mv .git $OUT/git; printf 'gitdir: %s/git\n' $OUT > .git`},
	{name: "the working tree is elsewhere", text: `git config core.worktree $OUT; git config core.bare false`},
	{name: "a linked working tree", text: `git worktree add -q ../other -b other; mv .git ../main.git; mv ../other/.git ../g; cp ../g .git`},
	{name: "working trees", text: `git worktree add -q $OUT/tree -b other`},
	{name: "a merge", text: `git checkout -q -b side; echo s > a.txt; git commit -qam s; git checkout -q main; echo m > a.txt; git commit -qam m; git merge -q side; git config rerere.enabled true`},
	{name: "a rebase", text: `git checkout -q -b side; echo s > a.txt; git commit -qam s; git checkout -q main; echo m > a.txt; git commit -qam m; git rebase -q side`},
	{name: "a bisection", text: `git bisect start`},
	{name: "a stash", text: `echo s >> a.txt; git stash -q`},
	{name: "many objects", text: `for i in $(seq 80); do echo $i > f; git hash-object -w f; done >/dev/null; mkdir -p .git/objects/17; for i in $(seq 40); do printf x > .git/objects/17/$(printf %038d $i); done; git config gc.auto 1`},
	{name: "replaced objects", text: `git replace HEAD HEAD~1`},
	{name: "shallow", text: `git rev-parse HEAD > .git/shallow`},
	{name: "missing objects", text: `git config remote.origin.promisor true; git config remote.origin.url "ext::$CANARY"; git config protocol.ext.allow always; rm -rf .git/objects/$(git rev-parse HEAD | cut -c1-2)`},
	{name: "missing objects without a promise", text: `git config remote.origin.url "ext::$CANARY"; rm -rf .git/objects/$(git rev-parse HEAD | cut -c1-2)`},
	{name: "a promised pack", text: `git gc -q; for p in .git/objects/pack/*.pack; do touch ${p%.pack}.promisor; done; git config remote.origin.url "ext::$CANARY"; git config remote.origin.promisor true`},
	{name: "tracked secrets", text: `git add -f .env 2>/dev/null; echo more >> .env`},
	{name: "src is a link", text: `mv src $OUT/src; ln -s $OUT/src src`},
	{name: "the new file is a link to a secret", text: `rm new.txt; ln -s .env new.txt`},
	{name: "the new file is a secret's other name", text: `rm new.txt; ln .env new.txt`},
	{name: "the new file is a folder", text: `rm new.txt; mkdir new.txt; cp .env new.txt/.env`},
	{name: "the new file is a fifo", text: `rm new.txt; mkfifo new.txt`},
	{name: "the new file is ignored", text: `echo new.txt >> .gitignore`},
	{name: "the new file is a folder of the index", text: `git update-index --add --cacheinfo 100644,$(git rev-parse HEAD:a.txt),new.txt/x`},
	{name: "ignored names are elsewhere", text: `rm -f .gitignore; ln -s $OUT/x .gitignore; git config -f ~/.gitconfig core.excludesFile ~/.ssh/id_rsa`},
	{name: "modules are elsewhere", text: `ln -s ~/.ssh/id_rsa .gitmodules`},
	{name: "branches are set up", text: `git config branch.autoSetupMerge always`},
	{name: "branches are fetched", text: `git config remote.origin.fetch '+refs/heads/*:refs/heads/*'`},
	{name: "all is fetched", text: `git config remote.origin.fetch '+refs/*:refs/*'`},
	{name: "branches are fetched by the person", text: `git config -f ~/.gitconfig remote.x.url x; git config -f ~/.gitconfig remote.x.fetch 'refs/heads/main:refs/heads/main'`},
	{name: "branches are fetched by the old files", text: `mkdir -p .git/remotes; printf 'URL: x\nPull: refs/heads/*:refs/heads/*\n' > .git/remotes/x`},
	{name: "branches inherit", text: `git config -f ~/.gitconfig branch.autoSetupMerge inherit`},
	{name: "sparse", text: `git config core.sparseCheckout true; echo /src > .git/info/sparse-checkout`},
	{name: "shared", text: `git config core.sharedRepository all`},
}
