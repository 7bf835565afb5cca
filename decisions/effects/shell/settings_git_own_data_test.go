package shell

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/fsfake"
)

const (
	ownGit    = effectstest.Cwd + "/.git/"
	ownCommit = "0123456789012345678901234567890123456789\n"
)

// plainRepository is a project in which git add, git commit -m and git checkout -b change only
// git's own data.
func plainRepository() *fsfake.FS {
	files := effectstest.Files()
	files.Remove(effectstest.Cwd + "/bare/HEAD")
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = https://git.example/x\n",
		"refs/heads/main": ownCommit, "logs/HEAD": "x\n", "logs/refs/heads/main": "x\n", "hooks/pre-commit.sample": "x\n", "info/exclude": "x\n", "packed-refs": "",
		"objects/01/23456789012345678901234567890123456789": "x", "objects/pack/pack-0.pack": "x", "objects/info/packs": "x", "description": "x\n", "COMMIT_EDITMSG": "x\n",
	} {
		files.File(ownGit+name, text)
	}
	return files
}

// changesOwnData reports whether all that the last run of git in a text changes is its own data.
func changesOwnData(t *testing.T, files *fsfake.FS, text string) bool {
	t.Helper()
	b := shellBuilder(effectstest.Table(t), files)
	Text(b, text, effectstest.Cwd, "command")
	own := false
	for _, e := range b.Effects {
		if e.Run != nil && e.Run.Program == "git" {
			if own = e.Run.OwnData; e.Run.Readonly {
				t.Errorf("%s: read-only", text)
			}
		}
	}
	return own
}

// TestOwnDataRepository: what git add FILE, git commit -m TEXT and git checkout -b NAME change is
// only git's own data, only where .git holds nothing but what git puts there, and the settings say nothing
// else. bench/programs runs the real git in such repositories.
func TestOwnDataRepository(t *testing.T) {
	const home = "/home/ana/"
	file := func(name, text string) func(*fsfake.FS) { return func(f *fsfake.FS) { f.File(name, text) } }
	link := func(name string) func(*fsfake.FS) {
		return func(f *fsfake.FS) {
			f.Remove(ownGit + name)
			f.Link(ownGit+name, "/home/ana/.bashrc")
		}
	}
	linked := func(name string) func(*fsfake.FS) { return func(f *fsfake.FS) { f.Linked(ownGit+name, "x\n") } }
	lfs := "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\trequired = true\n"
	tests := map[string]struct {
		set           func(*fsfake.FS)
		adds, creates bool
	}{
		"plain":       {nil, true, true},
		"at a commit": {file(ownGit+"HEAD", ownCommit), true, true},
		"a packed branch": {func(f *fsfake.FS) {
			f.Remove(ownGit + "refs/heads/main")
			f.File(ownGit+"packed-refs", "x refs/heads/main\n")
		}, true, true},
		"no commit":            {func(f *fsfake.FS) { f.Remove(ownGit + "refs/heads/main") }, true, false},
		"no hooks":             {func(f *fsfake.FS) { f.Remove(ownGit + "hooks/pre-commit.sample") }, true, true},
		"the person's name":    {file(home+".gitconfig", "[user]\n\tname = \"Ana\"\n[alias]\n\tl = !git log\n[core]\n\teditor = vim\n"), true, true},
		"other logs":           {linked("logs/refs/heads/a/b"), true, true},
		"a named index":        {linked("index"), false, false}, // not understood
		"another branch":       {file(ownGit+"refs/heads/x", ownCommit), true, false},
		"a branch of a branch": {file(ownGit+"refs/heads/main", "ref: refs/notes/x\n"), false, false},
		"a branch of text":     {file(ownGit+"refs/heads/main", "x\n"), false, false},
		"HEAD on notes":        {file(ownGit+"HEAD", "ref: refs/notes/x\n"), false, false},
		"HEAD on a path":       {file(ownGit+"HEAD", "ref: refs/heads/../../config\n"), false, false},
		"a folder of hooks":    {func(f *fsfake.FS) { f.Dir(ownGit + "hooks/x.sample") }, false, false},
		"hooks of the person":  {file(home+".gitconfig", "[core]\n\thooksPath = /home/ana/hooks\n"), false, false},
		"an included file":     {file(home+".config/git/config", "[include]\n\tpath = /home/ana/x\n"), false, false},
		"a trace":              {file("/etc/gitconfig", "[trace2]\n\teventTarget = /tmp/x\n"), false, false},
		"branches are set up":  {file(home+".gitconfig", "[branch]\n\tautoSetupMerge = always\n"), false, false},
		"branches are fetched": {file(ownGit+"config", "[remote \"origin\"]\n\turl = x\n\tfetch = +refs/heads/*:refs/heads/*\n"), true, false},
		"all is fetched":       {file(ownGit+"config", "[remote \"origin\"]\n\turl = x\n\tfetch = +refs/*:refs/*\n"), true, false},
		"fetched as usual":     {file(ownGit+"config", "[remote \"origin\"]\n\turl = x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"), true, true},
		"a named log":          {linked("logs/HEAD"), true, false},
		"a named new log":      {linked("logs/refs/heads/x"), true, false},
		"a named object":       {linked("objects/01/23456789012345678901234567890123456789"), false, false},
		"a named pack":         {linked("objects/pack/pack-0.pack"), false, false},
		"filters, unused":      {file(home+".gitconfig", lfs), true, true},
		"filters, used": {func(f *fsfake.FS) {
			file(home+".gitconfig", lfs)(f)
			f.File(effectstest.Cwd+"/.gitattributes", "*.bin filter=lfs\n")
		}, false, true},
		"filters, by info": {func(f *fsfake.FS) {
			file(home+".gitconfig", lfs)(f)
			f.File(ownGit+"info/attributes", "*.bin FILTER=lfs\n")
		}, false, true},
		"filters, by the home": {func(f *fsfake.FS) {
			file(home+".gitconfig", lfs)(f)
			f.File(home+".config/git/attributes", "* filter=lfs\n")
		}, false, true},
		"filters, by system": {func(f *fsfake.FS) { file(home+".gitconfig", lfs)(f); f.File("/etc/gitattributes", "* filter=lfs\n") }, false, true},
		"other attributes": {func(f *fsfake.FS) {
			file(home+".gitconfig", lfs)(f)
			f.File(effectstest.Cwd+"/.gitattributes", "* text=auto\n")
		}, true, true},
		"a named message":        {linked("COMMIT_EDITMSG"), true, true},
		"a signature":            {file(home+".gitconfig", "[commit]\n\tgpgSign = true\n"), true, true},
		"merges are kept":        {file(home+".gitconfig", "[rerere]\n\tenabled = true\n"), true, true},
		"another diff":           {file(home+".gitconfig", "[diff]\n\texternal = delta\n"), true, true},
		"the summary of modules": {file(home+".gitconfig", "[status]\n\tsubmoduleSummary = true\n"), true, true},
		"no tidying up":          {file(home+".gitconfig", "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"), true, true},
		"much to tidy up": {func(f *fsfake.FS) {
			for i := range 21 {
				f.File(fmt.Sprintf("%sobjects/17/%038d", ownGit, i), "x")
			}
		}, true, true},
		"many packs": {func(f *fsfake.FS) {
			for i := range 81 {
				f.File(fmt.Sprintf("%sobjects/pack/pack-%d.pack", ownGit, i), "x")
			}
		}, true, true},
		"too many names": {func(f *fsfake.FS) {
			for i := range 1 << 14 {
				f.File(fmt.Sprintf("%srefs/tags/%d", ownGit, i), ownCommit)
			}
		}, false, false},
	}
	// Where a commit differs from git add.
	commits := map[string]bool{
		"a named log": false, "a named message": false, "a signature": false, "merges are kept": false, "another diff": false, "the summary of modules": false,
		"much to tidy up": false, "many packs": false, "filters, used": false,
	}
	never := map[string]func(*fsfake.FS){}
	for _, name := range strings.Fields(`commondir config.worktree shallow MERGE_HEAD MERGE_RR CHERRY_PICK_HEAD rebase-merge/x worktrees/x/config.worktree worktrees/x/MERGE_HEAD worktrees/x/info/attributes worktrees/x/hooks/pre-commit modules/x/HEAD rr-cache/x sharedindex.x info/grafts
		info/sparse-checkout objects/info/alternates objects/zz/x objects/01/x objects/x objects/pack/tmp_pack objects/pack/multi-pack-index objects/pack/pack-0.promisor branches/origin hooks/post-checkout hooks/reference-transaction
		hooks/post-index-change index.lock gc.log unknown`) {
		never[name] = file(ownGit+name, "x\n")
	}
	for _, name := range strings.Fields("HEAD index config packed-refs COMMIT_EDITMSG hooks/x.sample info/exclude refs/heads/y refs/tags/y logs/HEAD logs/refs/heads/y objects/02 objects/02/0 objects/pack/pack-1.pack refs/heads/x") {
		never["link "+name] = link(name)
	}
	for _, line := range strings.Fields("core.hooksPath=.husky core.fsmonitor=true core.worktree=/ core.bare=true core.sharedRepository=all core.splitIndex=true extensions.worktreeConfig=true extensions.refStorage=reftable gc.auto=1 include.path=x branch.autoSetupMerge=inherit trace2.eventTarget=x index.version=4 feature.manyFiles=true filter.x=y core.repositoryformatversion=1 core.attributesFile=x core.excludesFile=x") {
		key, value, _ := strings.Cut(line, "=")
		section, key, _ := strings.Cut(key, ".")
		never["setting "+line] = file(ownGit+"config", "["+section+"]\n\t"+key+" = "+value+"\n")
	}
	for name, set := range never {
		tests[name] = struct {
			set           func(*fsfake.FS)
			adds, creates bool
		}{set, false, false}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := plainRepository()
			if tt.set != nil {
				tt.set(files)
			}
			commit, ok := commits[name]
			if !ok {
				commit = tt.adds
			}
			for text, want := range map[string]bool{"git add a.txt src/main.go": tt.adds, "git commit -m x": commit, "git checkout -b x": tt.creates, "git switch -c x": tt.creates} {
				if got := changesOwnData(t, files, text); got != want {
					t.Errorf("%s: only its own data: %v, want %v", text, got, want)
				}
			}
		})
	}
}

// TestOwnDataLinked: in a linked working tree, too, where the tree and its repository name each
// other, and all that the repository has of it is what git puts there.
func TestOwnDataLinked(t *testing.T) {
	const main, tree = "/home/ana/main/.git/", "/home/ana/main/.git/worktrees/t/"
	file := func(name, text string) func(*fsfake.FS) { return func(f *fsfake.FS) { f.File(name, text) } }
	for name, tt := range map[string]struct {
		set  func(*fsfake.FS)
		want bool
	}{
		"plain":                          {nil, true},
		"with another tree":              {file(main+"worktrees/u/HEAD", "ref: refs/heads/u\n"), true},
		"a locked tree":                  {file(tree+"locked", "x\n"), true},
		"at a commit":                    {file(tree+"HEAD", ownCommit), true},
		"the repository is on notes":     {file(main+"HEAD", "ref: refs/notes/x\n"), true},
		"the tree is on notes":           {file(tree+"HEAD", "ref: refs/notes/x\n"), false},
		"a tree that another one is":     {file(tree+"gitdir", "/home/ana/other/.git\n"), false},
		"a tree that a folder of it is":  {file(tree+"gitdir", effectstest.Cwd+"/src/.git\n"), false},
		"another way to the repository":  {file(tree+"commondir", "/home/ana/main/.git\n"), false},
		"no repository":                  {func(f *fsfake.FS) { f.Remove(tree + "commondir") }, false},
		"a repository in the tree":       {file(effectstest.Cwd+"/.git", "gitdir: "+effectstest.Cwd+"/g/.git/worktrees/t\n"), false},
		"settings of the tree":           {file(tree+"config.worktree", "[core]\n\tfsmonitor = x\n"), false},
		"settings of the tree as others": {file(tree+"config", "[core]\n\tfsmonitor = x\n"), false},
		"settings of the repository":     {file(main+"config", "[core]\n\thooksPath = x\n"), false},
		"a bare repository":              {file(main+"config", "[core]\n\tbare = true\n"), false},
		"hooks of the repository":        {file(main+"hooks/pre-commit", "x"), false},
		"hooks of the tree":              {file(tree+"hooks/pre-commit", "x"), false},
		"a merge":                        {file(tree+"MERGE_HEAD", ownCommit), false},
		"a merge of another tree":        {file(main+"worktrees/u/MERGE_HEAD", ownCommit), false},
		"a rebase":                       {file(tree+"rebase-merge/head-name", "x"), false},
		"the index is a link": {func(f *fsfake.FS) {
			f.Remove(tree + "index")
			f.Link(tree+"index", "/home/ana/.bashrc")
		}, false},
		"the index has another name": {func(f *fsfake.FS) { f.Linked(tree+"index", "x\n") }, false},
		"the tree's folder is a link": {func(f *fsfake.FS) {
			f.Remove(effectstest.Cwd + "/.git")
			f.File(effectstest.Cwd+"/.git", "gitdir: /home/ana/main/.git/worktrees/l\n")
			f.Link(main+"worktrees/l", tree)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			files := plainRepository()
			for _, name := range []string{"HEAD", "config", "refs/heads/main", "logs/HEAD", "logs/refs/heads/main", "objects/01/23456789012345678901234567890123456789"} {
				text, err := files.ReadFile(ownGit+name, 1<<10)
				if err != nil {
					t.Fatal(err)
				}
				files.File(main+name, string(text))
			}
			files.Remove(ownGit[:len(ownGit)-1])
			files.File(effectstest.Cwd+"/.git", "gitdir: "+tree[:len(tree)-1]+"\n")
			for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "commondir": "../..\n", "gitdir": effectstest.Cwd + "/.git\n", "logs/HEAD": "x\n", "index": ""} {
				files.File(tree+name, text)
			}
			if tt.set != nil {
				tt.set(files)
			}
			for _, text := range []string{"git add a.txt src/main.go", "git commit -m x", "git checkout -b x"} {
				if got := changesOwnData(t, files, text); got != tt.want {
					t.Errorf("%s: only its own data: %v, want %v", text, got, tt.want)
				}
			}
		})
	}
}

// TestOwnDataWords: only files that are named one by one, a commit with a message and no other
// word, and a new branch where HEAD is.
func TestOwnDataWords(t *testing.T) {
	words := map[string]bool{}
	for line := range strings.Lines(`git add a.txt
git add a.txt b.txt
git add -v -- a.txt src/main.go
cd src && git add main.go
git -C src add main.go
git add ./a.txt
git add a.txt && git checkout -b x
git checkout -b x && git add a.txt
git checkout -b feature/a-1.2_b
git switch --create x
git commit -m x
git commit -q -m x -m y
git add a.txt && git commit -m x
git add -u
git add docs
git add -A docs/
git add -v --update -- docs src
git -C src add .
git add a.txt docs && git commit -m x
`) {
		words[strings.TrimSpace(line)] = true
	}
	for line := range strings.Lines(`git add
git add .
git add -A
git add -A -u docs
git add -A -n docs
git add -f docs
git add docs//
git add src/..
git add docs -u
git add out
git add other
git add missing/
git add :/docs
cd src && git add ..
git add missing.txt
git add 'a*'
git add *.txt
git add :/a.txt
git add ':(glob)a.txt'
git add '[a].txt'
git add out/passwd
git add /etc/passwd
git add ../x
git add .env
git add .git/config
git add .claude/settings.json
git add .github/workflows/a.yml
git add .vscode/tasks.json
git add CLAUDE.md
git add a.txt/b
git add src/../a.txt
git add other/x
git add -f a.txt
git add -p
git add -N a.txt
git add --renormalize a.txt
git add --chmod=+x a.txt
git add --pathspec-from-file=a.txt
git add $x
git add linked
git add link
git commit
git commit -am x
git commit -a -m x
git commit --amend -m x
git commit -n -m x
git commit -S -m x
git commit -e -m x
git commit -m x a.txt
git commit -m x -- a.txt
git commit -m ''
git commit -F a.txt
git commit -m x --trailer a=b
git commit -m x --author=x
git commit --fixup=HEAD
git commit -C HEAD
git commit -t a.txt -m x
echo x > a.txt; git commit -m x
git checkout x
git checkout -b x y
git checkout -b x --
git checkout -B x
git checkout -q -b x
git checkout -f -b x
git checkout --orphan x
git checkout -b x -b y
git checkout -b refs/heads/x
git checkout -b x.lock
git checkout -b HEAD
git checkout -b @{-1}
git checkout -b a..b
git checkout -b .a
git switch x
git switch -C x
git switch -c x main
git -c core.hooksPath=x checkout -b x
git --work-tree=/ add a.txt
git -C other add x
git -C .git checkout -b x
echo x > .git/hooks/post-checkout; git checkout -b x
cp x .git/config; git add a.txt
cp -r x .git; git add a.txt
ln -sf /etc a.txt; git add a.txt
touch a.txt; git add a.txt
git init; git add a.txt
printf x | xargs git add a.txt
ssh host git add a.txt
`) {
		words[strings.TrimSpace(line)] = false
	}
	words["git commit -m \"$(cat <<'EOF'\na\n\nb\nEOF\n)\""] = true
	files := plainRepository()
	files.Linked(effectstest.Cwd+"/linked", "x").Link(effectstest.Cwd+"/link", "a.txt").File(effectstest.Cwd+"/other/.git/HEAD", "x\n").File(effectstest.Cwd+"/other/x", "x\n")
	for _, name := range []string{".claude/settings.json", ".github/workflows/a.yml", ".vscode/tasks.json", "CLAUDE.md"} {
		files.File(effectstest.Cwd+"/"+name, "{}\n")
	}
	// All objects may be in the folder by whose size git decides whether to tidy up.
	many := make([]string, 21)
	for i := range many {
		many[i] = fmt.Sprintf("many%d.txt", i)
		files.File(effectstest.Cwd+"/"+many[i], "x\n")
	}
	words["git add "+strings.Join(many, " ")] = true
	words["git add "+strings.Join(many[1:], " ")+" && git commit -m x"] = true
	words["git add "+strings.Join(many, " ")+" && git commit -m x"] = false
	words["git add "+strings.Join(many, " ")+" && git checkout -b k && git commit -m x"] = false
	words["git add "+strings.Join(many[1:], " ")+" && git commit -m x && git commit -m y"] = false
	for text, want := range words {
		if got := changesOwnData(t, files, text); got != want {
			t.Errorf("%s: only its own data: %v, want %v", text, got, want)
		}
	}
}
